"""Work on a thread of its own, which can be given up."""

from __future__ import annotations

import threading

import pytest

from kseeds.runtime.threads import GivenUp, Workers, elsewhere, stop_flag


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
