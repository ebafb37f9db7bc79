"""kseeds: the starting centres of k-means, exact and fast.

Importing this package imports NumPy at most; what a call needs is imported by the call.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kseeds.version import __version__

if TYPE_CHECKING:
    from kseeds.api import greedy_kmeans_plusplus, kmeans_parallel, kmeans_plusplus
    from kseeds.assignment import assign
    from kseeds.clustering import kmeans
    from kseeds.errors import FewerDistinctPointsWarning
    from kseeds.results import (
        Assignment,
        Clustering,
        DistributedClustering,
        DistributedSeeding,
        Seeding,
        Work,
    )
    from kseeds.structures import ClockQueue, VPTree
    from kseeds.warming import Warmed, warmup

__all__ = [
    "Assignment",
    "ClockQueue",
    "Clustering",
    "DistributedClustering",
    "DistributedSeeding",
    "FewerDistinctPointsWarning",
    "Seeding",
    "VPTree",
    "Warmed",
    "Work",
    "__version__",
    "assign",
    "greedy_kmeans_plusplus",
    "kmeans",
    "kmeans_parallel",
    "kmeans_plusplus",
    "warmup",
]

_HOMES = {
    "Assignment": "kseeds.results",
    "ClockQueue": "kseeds.structures",
    "Clustering": "kseeds.results",
    "DistributedClustering": "kseeds.results",
    "DistributedSeeding": "kseeds.results",
    "FewerDistinctPointsWarning": "kseeds.errors",
    "Seeding": "kseeds.results",
    "VPTree": "kseeds.structures",
    "Warmed": "kseeds.warming",
    "Work": "kseeds.results",
    "assign": "kseeds.assignment",
    "greedy_kmeans_plusplus": "kseeds.api",
    "kmeans": "kseeds.clustering",
    "kmeans_parallel": "kseeds.api",
    "kmeans_plusplus": "kseeds.api",
    "warmup": "kseeds.warming",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kseeds' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
