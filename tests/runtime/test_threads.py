"""Threads: they change no answer, and work on a thread of its own can be given up."""

from __future__ import annotations

import _thread
import os
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from kseeds import greedy_kmeans_plusplus, kmeans_parallel, kmeans_plusplus
from kseeds import laws as table
from kseeds.runtime import threads as runtime_threads
from kseeds.runtime.threads import (
    BLOCK_ROWS,
    GivenUp,
    Workers,
    _Job,
    blocks_of,
    elsewhere,
    stop_flag,
)


def until_stopped(stopped: threading.Event) -> None:
    """Work like a compiler: for long, with a look at the flag now and then."""
    flag = stop_flag()
    assert flag is not None
    assert flag.wait(30), "nobody gave up"
    stopped.set()
    raise GivenUp


def test_results_and_errors_come_back():
    here = threading.get_ident()
    assert elsewhere(threading.get_ident, threading.Event()) != here
    with pytest.raises(ZeroDivisionError):
        elsewhere(lambda: 1 // 0, threading.Event())


def test_who_is_told_to_stop_leaves_and_passes_it_on():
    stop, stopped = threading.Event(), threading.Event()
    threading.Timer(0.1, stop.set).start()
    with pytest.raises(GivenUp):
        elsewhere(lambda: until_stopped(stopped), stop)
    assert stopped.wait(10)


@pytest.mark.parametrize("failing", [0, 1, 2])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failing_block_gives_up_the_others_and_its_error_is_the_one_raised(failing, error):
    stopped = [threading.Event() for _ in range(3)]
    all_at_work = threading.Barrier(3)

    def task(lo: int, hi: int) -> None:
        all_at_work.wait(10)
        flag = stop_flag()
        if lo == failing:
            raise error("this one")
        if flag is None:  # the calling thread, which Python interrupts by itself
            stopped[lo].set()
        else:
            elsewhere(lambda: until_stopped(stopped[lo]), flag)

    with Workers(3) as workers, pytest.raises(error, match="this one"):
        workers.over_blocks(task, 3, block_rows=1)
    assert all(done.wait(10) for number, done in enumerate(stopped) if number != failing)


def test_a_job_that_has_not_begun_is_called_off_and_one_that_has_is_waited_for():
    ran = []
    late = _Job(lambda: ran.append("late"))
    assert late.end() is None
    late.run()
    assert not ran
    begun, may_end = threading.Event(), threading.Event()

    def work():
        begun.set()
        may_end.wait(10)
        raise ValueError("at its end")

    job = _Job(work)
    threading.Thread(target=job.run).start()
    assert begun.wait(10)
    threading.Timer(0.1, may_end.set).start()
    assert str(job.end()) == str(job.end()) == "at its end"  # an interrupted caller asks again
    assert may_end.is_set()


def test_nobody_waits_for_a_thread_that_does_not_get_started(monkeypatch):
    monkeypatch.setattr("kseeds.runtime.threads._thread.start_new_thread", lambda *_: None)
    with Workers(3) as workers:
        assert workers.over_blocks(lambda lo, hi: lo, 5, block_rows=1) == [0, 1, 2, 3, 4]


def who_works(n_threads: int = 2) -> set[int]:
    """Return the threads of a piece of work that waits until all of them have begun."""
    all_at_work = threading.Barrier(n_threads)

    def task(lo: int, hi: int) -> int:
        all_at_work.wait(10)
        return threading.get_native_id()  # the other number is given to the next thread again

    with Workers(n_threads) as workers:
        return set(workers.over_blocks(task, n_threads, block_rows=1))


def until(is_true: Callable[[], bool]) -> bool:
    """Wait until something is true, for a while."""
    end = time.monotonic() + 10
    while not (found := is_true()) and time.monotonic() < end:
        time.sleep(0.01)
    return found


def test_threads_stay_for_the_next_call_and_then_leave(monkeypatch):
    assert who_works() == who_works(), "a second call has started a thread of its own"
    assert until(lambda: not runtime_threads._IDLE)
    time.sleep(0.1)  # it has left, but may not have ended
    monkeypatch.setattr(runtime_threads, "_IDLE_SECONDS", 0.01)
    before = count_of_threads()
    with Workers(2) as workers:
        workers.over_blocks(lambda lo, hi: time.sleep(0.02), 2, block_rows=1)
        time.sleep(0.1)  # a thread that a call has does not leave, however long it waits
        assert count_of_threads() == before + 1
        workers._helpers.clear()  # as if interrupted before it could let it go
    assert until(lambda: count_of_threads() == before)


def count_of_threads() -> int:
    return _thread._count()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forking here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_starts_threads_of_its_own():
    assert who_works()
    assert runtime_threads._IDLE
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if len(who_works()) == 2 else 1
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


@pytest.fixture
def threads(monkeypatch):
    """Collect, for every piece of work that was split among threads, which threads took part.

    A first block waits for a second thread to take one: a machine that is busy may otherwise leave
    everything to the calling thread, and nothing would have been tested.
    """
    collected = []
    over_blocks = Workers.over_blocks

    def recorded(workers, task, n_rows, block_rows=BLOCK_ROWS):
        if workers.n_threads == 1 or len(blocks_of(n_rows, block_rows)) == 1:
            return over_blocks(workers, task, n_rows, block_rows)
        here, several = set(), threading.Event()
        collected.append(here)

        def watched(start, stop):
            here.add(threading.current_thread().name)
            if len(here) > 1:
                several.set()
            several.wait(10)
            return task(start, stop)

        return over_blocks(workers, watched, n_rows, block_rows)

    monkeypatch.setattr(Workers, "over_blocks", recorded)
    return collected


@pytest.mark.parametrize(
    ("function", "algorithm", "options"),
    [
        (function, algorithm, options)
        for function, law in (
            (kmeans_plusplus, table.PLUSPLUS),
            (greedy_kmeans_plusplus, table.GREEDY),
            (kmeans_parallel, table.PARALLEL),
        )
        for algorithm in law.algorithms
        # Plain kernels use one thread, and so small a job may get them; the others are asked for.
        for options in {
            "lazy": [{"kernels": "compiled"}],
            "fast": [{"strategy": one} for one in law.options_of(algorithm).get("strategy", ())],
        }.get(algorithm, [{}])
    ],
)  # fmt: skip
def test_threads_change_no_seed_and_take_part(function, algorithm, options, threads):
    columns = 32 if algorithm == "lazy" else 8  # lazy k-means++ leaves small work to one thread
    X = np.random.default_rng(0).normal(size=(2 * BLOCK_ROWS + 19_000, columns)).astype(np.float32)
    keywords = {"random_state": 3, "algorithm": algorithm, **options}
    if function is kmeans_parallel:
        keywords["rounds"] = 2
    one = function(X, 6, n_threads=1, **keywords)
    one_potential = one.potential
    assert not threads
    three = function(X, 6, n_threads=3, **keywords)
    assert threads
    assert one.indices.tolist() == three.indices.tolist()
    assert one.work == three.work
    assert one_potential == three.potential
    np.testing.assert_array_equal(one.labels, three.labels)
    np.testing.assert_array_equal(one.distances, three.distances)
    assert all(len(names) > 1 for names in threads)
