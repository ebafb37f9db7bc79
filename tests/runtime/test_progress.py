"""Progress: reported in order, as a bar or as a line that ends with the last step."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest

from kseeds import kmeans_parallel, kmeans_plusplus
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


def test_progress_is_reported_in_order():
    seen = []
    X = np.arange(300.0)[:, None]
    for algorithm in ("naive", "paper", "lazy"):
        seen.clear()
        kmeans_plusplus(X, 90, algorithm=algorithm, progress=lambda a, b: seen.append((a, b)))
        assert seen == sorted(seen)
        assert seen[-1] == (90, 90)
        assert len(seen) > 2


def test_progress_without_rich_is_a_line(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    ticks = itertools.count(0.0, 0.5)  # every look at the clock finds half a second gone
    monkeypatch.setattr("kseeds.runtime.progress.time.perf_counter", lambda: next(ticks))
    kmeans_plusplus(np.arange(40.0)[:, None], 20, random_state=0, algorithm="naive", progress=True)
    shown = capsys.readouterr().err
    assert "kseeds: 19/20 seeds, " in shown
    assert "s left" in shown
    assert shown.endswith("\n")


def test_progress_bar_goes_to_stderr(capsys):
    kmeans_parallel(np.arange(30.0)[:, None], 3, random_state=0, progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "6/6" in shown.err
    assert "rounds" in shown.err
