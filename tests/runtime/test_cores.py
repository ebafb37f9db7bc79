"""Helping threads are kept off the core of the thread they help, and off no other."""

from __future__ import annotations

import os
import threading

import pytest

from kseeds.runtime import cores
from kseeds.runtime.threads import Workers, rows_to_share

PINS = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="the system does not let threads choose cores"
)


@pytest.fixture
def on_one_core():
    """Have the calling thread run on a core of its own; return it and all it may use."""
    allowed = os.sched_getaffinity(0)
    core = min(allowed)
    os.sched_setaffinity(0, {core})
    try:
        yield core, allowed
    finally:
        os.sched_setaffinity(0, allowed)


@PINS
def test_a_thread_with_one_core_leaves_it_to_its_helpers(on_one_core):
    core, _ = on_one_core
    assert cores.other_cores() == {core}


@PINS
def test_other_cores_are_all_but_one():
    allowed = os.sched_getaffinity(0)
    others = cores.other_cores()
    assert others <= allowed
    assert len(others) == max(1, len(allowed) - 1)


@PINS
def test_a_helper_runs_on_the_cores_it_is_given_and_its_caller_where_it_did(monkeypatch):
    allowed = os.sched_getaffinity(0)
    for core in allowed:
        monkeypatch.setattr("kseeds.runtime.threads.other_cores", lambda core=core: {core})
        here, both = threading.get_ident(), threading.Barrier(2)

        def task(start, stop, here=here, both=both):
            both.wait(10)  # so that each thread has one
            return threading.get_ident() == here, os.sched_getaffinity(0)

        with Workers(2) as workers:
            for turn in range(2):  # a thread that has just started has no number yet
                found = dict(workers.over_blocks(task, 2, 1))
                assert found[True] == allowed
                assert turn == 0 or found[False] == {core}


@PINS
def test_whoever_may_not_choose_cores_works_all_the_same(monkeypatch):
    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    with Workers(2) as workers:
        assert workers.over_blocks(lambda lo, hi: hi - lo, 7, 2) == [2, 2, 2, 1]


def test_where_nobody_tells_of_cores_none_is_chosen(monkeypatch):
    monkeypatch.setattr(cores, "_current_core", lambda: None)
    assert cores.other_cores() == set()
    cores.keep_to(threading.get_native_id(), set())  # and this does nothing


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("nanoseconds", [1.0, 100.0, 1e5])
@pytest.mark.parametrize("n_rows", [1, 64, 1000, 100_000, 3_000_001])
def test_shares_are_whole_tiles_of_tens_of_milliseconds_at_most(n_rows, nanoseconds, n_threads):
    rows = rows_to_share(n_rows, nanoseconds, n_threads)
    assert rows % 64 == 0 or rows >= n_rows
    assert rows == 64 or rows * nanoseconds <= 4e7 + 64 * nanoseconds
    if n_rows * nanoseconds <= 1e5:
        assert rows >= n_rows
    elif n_rows >= 1000 and n_rows * nanoseconds >= 1e6:
        assert -(-n_rows // rows) >= n_threads or rows == 64
