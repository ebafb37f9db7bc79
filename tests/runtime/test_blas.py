"""The limit on the threads of BLAS: held while anyone needs it, gone afterwards."""

from __future__ import annotations

import multiprocessing
import os
import random
import threading
from contextlib import ExitStack

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from kseeds.runtime import blas
from kseeds.runtime.blas import one_blas_thread

LIBRARIES = {info["filepath"] for info in ThreadpoolController().info()}
"""Those of NumPy and SciPy. Other tests load more, some of which count for each thread."""


def blas_threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    controller = ThreadpoolController().select(user_api="blas")
    return {info["num_threads"] for info in controller.info() if info["filepath"] in LIBRARIES}


def set_blas_threads(number):
    controller = ThreadpoolController().select(user_api="blas")
    controller.limit(limits=number, user_api="blas")
    with controller.limit(limits=None):
        pass  # newer threadpoolctl lets one thread set limits until it leaves such a block


@pytest.fixture
def free():
    """Let BLAS have two threads, whatever the machine, in every library there is by now."""
    blas._controllers.cache_clear()  # one may have been loaded since it was first asked
    before = max(blas_threads())
    set_blas_threads(2)
    yield {2}
    set_blas_threads(before)


def in_a_thread(task):
    worker = threading.Thread(target=task)
    worker.start()
    worker.join(30)
    assert not worker.is_alive()


def test_the_limit_outlives_whoever_came_first(free):
    """A comes first and leaves first: B is still inside, and is the one to restore."""
    inside, a_left, seen = threading.Event(), threading.Event(), []

    def b():
        with one_blas_thread():
            inside.set()
            assert a_left.wait(30)
            seen.append(blas_threads())
        seen.append(blas_threads())

    worker = threading.Thread(target=b)
    with one_blas_thread():
        worker.start()
        assert inside.wait(30)
    a_left.set()
    worker.join(30)
    assert seen == [{1}, free]
    assert blas_threads() == free


def test_the_limit_outlives_threads(free):
    """Whoever set the limit is dead when it is lifted."""
    held = ExitStack()
    in_a_thread(lambda: held.enter_context(one_blas_thread()))
    assert blas_threads() == {1}
    in_a_thread(held.close)
    assert blas_threads() == free


def test_the_limit_holds_for_many_threads_in_random_order(free):
    """Sixteen threads enter, nest and leave at random: 1 inside, restored when all are out."""
    wrong, start = [], threading.Barrier(16)

    def visit(seed):
        rng = random.Random(seed)
        start.wait(30)
        for _ in range(40):
            with ExitStack() as stack:
                for _ in range(rng.randint(1, 3)):
                    stack.enter_context(one_blas_thread())
                    if rng.random() < 0.5:
                        threading.Event().wait(rng.random() * 1e-3)
                if blas_threads() != {1}:
                    wrong.append(seed)

    workers = [threading.Thread(target=visit, args=(seed,)) for seed in range(16)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert wrong == []
    assert blas_threads() == free


def test_an_error_inside_lifts_the_limit(free):
    with pytest.raises(KeyboardInterrupt), one_blas_thread():
        raise KeyboardInterrupt
    assert blas_threads() == free


def test_an_interrupt_while_the_limit_is_lifted_does_not_keep_it(free, monkeypatch):
    restore, tries = blas._restore, []

    def interrupted(libraries, found):
        tries.append(found)
        if len(tries) == 1:
            raise KeyboardInterrupt
        restore(libraries, found)

    monkeypatch.setattr(blas, "_restore", interrupted)
    with pytest.raises(KeyboardInterrupt), one_blas_thread():
        assert blas_threads() == {1}
    assert blas_threads() == free


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("inside", [False, True])
def test_a_fork_while_others_are_inside_does_not_hang(free, inside):
    """The child has none of the others, nor their lock; the forking thread may be inside."""
    entered, leave = threading.Event(), threading.Event()

    def stay():
        with one_blas_thread():
            entered.set()
            leave.wait(60)

    def child(send):
        with one_blas_thread():
            within = blas_threads()
        send.send((blas_threads(), within))

    worker = threading.Thread(target=stay)
    worker.start()
    assert entered.wait(30)
    receive, send = multiprocessing.Pipe(duplex=False)
    with one_blas_thread() if inside else ExitStack():
        process = multiprocessing.get_context("fork").Process(target=child, args=(send,))
        process.start()
    try:
        assert receive.poll(30), "the child hangs"
        assert receive.recv() == (free, {1})
    finally:
        process.kill()
        process.join()
        leave.set()
        worker.join(30)
    assert blas_threads() == free


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_that_leaves_what_its_parent_entered_lifts_the_limit(free):
    parent = os.getpid()
    try:
        with one_blas_thread():
            pid = os.fork()  # the child leaves the block, like its parent
        if os.getpid() != parent:
            os._exit(0 if blas_threads() == free else 1)
    finally:
        if os.getpid() != parent:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
