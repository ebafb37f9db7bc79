"""The results: of seedings, assignments and k-means, in memory or not, and the counted `Work`."""

from __future__ import annotations

from kseeds.results.clustering import Assignment, Clustering, DistributedClustering
from kseeds.results.seeding import DistributedSeeding, Finished, Origin, Seeding
from kseeds.results.work import Work

__all__ = [
    "Assignment",
    "Clustering",
    "DistributedClustering",
    "DistributedSeeding",
    "Finished",
    "Origin",
    "Seeding",
    "Work",
]
