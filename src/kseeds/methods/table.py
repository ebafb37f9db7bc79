"""Which algorithms there are for each law, and which one "auto" takes."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from kseeds.inputs.problem import Problem

PLUSPLUS = {
    "lazy": "kseeds.methods.plusplus.lazy",
    "naive": "kseeds.methods.plusplus.naive",
    "paper": "kseeds.methods.plusplus.paper",
}
PARALLEL = {"naive": "kseeds.methods.parallel.naive", "paper": "kseeds.methods.parallel.paper"}

_SMALL = 20_000_000
"""Coordinates that NumPy sweeps while the compiler is still being loaded."""


def method(table: dict[str, str], algorithm: str) -> Any:
    """Import the module of an algorithm."""
    return import_module(table[algorithm])


def options_of(module: Any) -> dict[str, tuple[Any, ...]]:
    """Return the keywords that only this algorithm has, with their possible values."""
    options: dict[str, tuple[Any, ...]] = getattr(module, "OPTIONS", {})
    return options


def choose_parallel(problem: Problem, centers_met: float) -> str:
    """Return the fastest algorithm for a job in which every row meets so many centres.

    The plain algorithm needs no compiler, so a small job is over before one is imported.
    Both draw the same seeds.
    """
    if problem.metric.function is not None:
        return "naive"
    return "naive" if problem.points.size * centers_met <= _SMALL else "paper"
