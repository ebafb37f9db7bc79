"""Progress without rich: a line that is rewritten, and that ends with the last step."""

from __future__ import annotations

import sys

import pytest

from kseeds.runtime.progress import progress_for


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still unless a test moves it."""
    now = [0.0]
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    monkeypatch.setattr("kseeds.runtime.progress.time.perf_counter", lambda: now[0])
    return now


def test_the_last_step_is_shown(clock, capsys):
    line = progress_for(True)
    for done in range(1, 11):
        clock[0] += 0.3 if done < 10 else 0.01
        line.update(done, 10, "seeds")
    line.close()
    shown = capsys.readouterr().err
    assert shown.rstrip("\n ").endswith("0 s left")
    assert shown.split("\r")[-1].startswith("kseeds: 10/10 seeds")
    assert shown.endswith("\n")
    assert shown.count("10/10") == 1


def test_a_failure_shows_how_far_the_work_came(clock, capsys):
    line = progress_for(True)
    clock[0] = 1.0
    line.update(3, 10, "seeds")
    line.update(4, 10, "seeds")
    line.close()
    assert capsys.readouterr().err.split("\r")[-1].startswith("kseeds: 4/10 seeds")


def test_nothing_is_shown_for_quick_work(clock, capsys):
    line = progress_for(True)
    clock[0] = 0.05
    line.update(10, 10, "seeds")
    line.close()
    assert capsys.readouterr().err == ""


def test_nothing_is_shown_twice(clock, capsys):
    line = progress_for(True)
    clock[0] = 1.0
    line.update(10, 10, "seeds")
    line.close()
    assert capsys.readouterr().err.count("10/10") == 1
