"""kseeds: the starting centres of k-means, exact and fast.

Importing this package imports NumPy at most; what a call needs is imported by the call.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kseeds.api import kmeans_parallel, kmeans_plusplus
    from kseeds.assignment import Assignment, assign
    from kseeds.clock_queue import ClockQueue
    from kseeds.errors import FewerDistinctPointsWarning
    from kseeds.result import ClusterSeeding, Seeding, Work
    from kseeds.vantage_tree import VPTree

__version__ = "0.1.0"

__all__ = [
    "Assignment",
    "ClockQueue",
    "ClusterSeeding",
    "FewerDistinctPointsWarning",
    "Seeding",
    "VPTree",
    "Work",
    "assign",
    "kmeans_parallel",
    "kmeans_plusplus",
]

_HOMES = {
    "Assignment": "kseeds.assignment",
    "ClockQueue": "kseeds.clock_queue",
    "ClusterSeeding": "kseeds.result",
    "FewerDistinctPointsWarning": "kseeds.errors",
    "Seeding": "kseeds.result",
    "VPTree": "kseeds.vantage_tree",
    "Work": "kseeds.result",
    "assign": "kseeds.assignment",
    "kmeans_parallel": "kseeds.api",
    "kmeans_plusplus": "kseeds.api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kseeds' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
