"""Which algorithm of Lloyd's iteration to take for a job."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kseeds.distances.metrics import FloatArray, Metric
from kseeds.lloyd.base import Assigner
from kseeds.runtime.threads import Workers


@dataclass(frozen=True)
class Job:
    """Rows that are to be clustered."""

    points: FloatArray
    metric: Metric
    workers: Workers
    n_clusters: int


def _naive(job: Job) -> Assigner:
    from kseeds.lloyd.naive import Naive

    return Naive(job.points, job.metric)


def _gemm(job: Job) -> Assigner:
    from kseeds.lloyd.anew import ByStrategy

    return ByStrategy(job.points, job.metric, job.workers, job.n_clusters)


BUILDERS: dict[str, Callable[[Job], Assigner]] = {
    "naive": _naive,
    "gemm": _gemm,
}
"""The algorithms by name. A new one is a file, and a line here."""
ALGORITHMS = tuple(BUILDERS)


def choose(job: Job) -> str:
    """Return the algorithm that is done first."""
    return "gemm"
