"""Lloyd's iteration by the strategies of `kseeds.nearest`, each built over the rows once."""

from __future__ import annotations

from kseeds.distances.metrics import FloatArray, Metric
from kseeds.lloyd.base import Anew
from kseeds.nearest.choice import Job
from kseeds.nearest.state import Counts, Nearest
from kseeds.nearest.update import NearestUpdater
from kseeds.runtime.threads import Workers

_ITERATIONS = 10
"""Iterations that a structure over the rows must repay itself in."""


class ByStrategy(Anew):
    """See `kseeds.lloyd.base.Assigner`; all rows are compared with all centres every time.

    Parameters
    ----------
    points : ndarray
        The rows.
    metric : Metric
        Their metric.
    workers : Workers
        Threads to use.
    n_clusters : int
        How many centres there are.
    strategy : str, optional
        One of `kseeds.nearest.choice.STRATEGIES`; chosen by default.
    """

    def __init__(
        self,
        points: FloatArray,
        metric: Metric,
        workers: Workers,
        n_clusters: int,
        strategy: str | None = None,
    ) -> None:
        super().__init__(len(points))
        self._points = points
        job = Job(points, metric, workers, _ITERATIONS * n_clusters, _ITERATIONS)
        self._updater = NearestUpdater(job, strategy)

    def find(self, centers: FloatArray) -> tuple[Nearest, Counts]:
        """Return the nearest centre of every row."""
        nearest = Nearest.empty(self._points)
        counts = self._updater.update(nearest, centers, 0)
        return nearest, counts
