"""Lloyd's iteration by a strategy of `kseeds.nearest`, built over the rows once."""

from __future__ import annotations

from kseeds.distances.sparse_rows import Points
from kseeds.lloyd.base import Anew
from kseeds.nearest.choice import Job
from kseeds.nearest.state import Counts, Nearest
from kseeds.nearest.update import NearestUpdater


class ByStrategy(Anew):
    """See `kseeds.lloyd.base.Assigner`; all rows are compared with all centres every time.

    Parameters
    ----------
    job : Job
        The rows, and with how many centres they will be compared in all.
    strategy : str, optional
        One of `kseeds.nearest.choice.STRATEGIES`; chosen by default.
    """

    name = "gemm"

    def __init__(self, job: Job, strategy: str | None = None) -> None:
        super().__init__(len(job.points))
        self._points = job.points
        self._updater = NearestUpdater(job, strategy)

    def find(self, centers: Points) -> tuple[Nearest, Counts]:
        """Return the nearest centre of every row."""
        nearest = Nearest.empty(self._points)
        counts = self._updater.update(nearest, centers, 0)
        return nearest, counts
