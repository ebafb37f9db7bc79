"""The one way to time: methods take turns, and the best turn of each counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

Task = Callable[[int], Any]
"""A method; it is told the number of the turn, to be used as random state."""

_REST = 0.1
"""Seconds after which the threads of the libraries timed before have gone to sleep."""


def timed(task: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Return the seconds a call takes, once nobody else's threads are spinning, and its answer."""
    time.sleep(_REST)
    start = time.perf_counter()
    answer = task(*arguments)
    return time.perf_counter() - start, answer


def interleaved(tasks: Mapping[str, Task], turns: int = 3, long: float = 5.0) -> Timings:
    """Let the methods take turns, so that noise hits all alike.

    A method that takes longer than ``long`` seconds has two turns only: the first may compile.
    """
    found: dict[str, list[tuple[float, Any]]] = {name: [] for name in tasks}
    for turn in range(turns):
        for name, task in tasks.items():
            if turn < 2 or min(seconds for seconds, _ in found[name]) <= long:
                found[name].append(timed(task, turn))
    return Timings(found)


class Timings:
    """Seconds and answers, in order, of every turn of every method."""

    def __init__(self, turns: dict[str, list[tuple[float, Any]]]) -> None:
        self.answers = {name: [answer for _, answer in found] for name, found in turns.items()}
        self.best = {name: min(seconds for seconds, _ in found) for name, found in turns.items()}


class Pace:
    """Foresees which methods would take more than ``limit`` seconds with more seeds."""

    def __init__(self, limit: float) -> None:
        self._limit, self._seconds_a_seed = limit, dict[str, float]()

    def learn(self, best: dict[str, float], k: int) -> None:
        """Remember the best times with ``k`` seeds."""
        self._seconds_a_seed.update({name: seconds / k for name, seconds in best.items()})

    def keep(self, tasks: dict[str, Task], k: int) -> dict[str, Task]:
        """Return the methods that are quick enough for ``k`` seeds."""
        pace = self._seconds_a_seed
        return {name: task for name, task in tasks.items() if pace.get(name, 0) * k <= self._limit}
