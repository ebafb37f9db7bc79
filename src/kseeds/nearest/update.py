"""The nearest centre of every row: one interface, several exact strategies.

Comparing every row with a batch of new centres is the step under k-means||, under the labels of a
seeding and under `assign`. All strategies leave the same labels, ties to the lowest number, and the
same distances.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from kseeds.distances.metrics import Family
from kseeds.distances.sparse_rows import Points, is_sparse
from kseeds.nearest import costs
from kseeds.nearest.base import Strategy
from kseeds.nearest.choice import (
    ANY_METRIC,
    BUILDERS,
    Job,
    choose,
    note_loss,
    possible,
    without_structure,
)
from kseeds.nearest.state import NOTHING, Counts, Nearest
from kseeds.runtime import compile_policy
from kseeds.runtime.aligned import read_only

_FEW = 16
"""Centres too few to judge by: one of them is the nearest whatever the structure."""


def noted(job: Job, strategy: str) -> AbstractContextManager[None]:
    """Have it noted which kernels are used, or what plain NumPy takes in their place."""
    dtype = job.points.dtype
    if strategy != "plain":
        return compile_policy.using(strategy, dtype)
    if is_sparse(job.points):
        return compile_policy.in_place_of(["inverted"], dtype)
    is_euclidean = job.metric.family is Family.EUCLIDEAN
    sets = [one for one in BUILDERS if is_euclidean or one in ANY_METRIC]
    return compile_policy.in_place_of(sets[1:], dtype)


class NearestUpdater:
    """Compares every row with batches of centres, one batch after the other.

    Parameters
    ----------
    job : Job
        The rows, and with how many centres they will be compared: decides what is worth building.
    strategy : str, optional
        One of `kseeds.nearest.choice.STRATEGIES`; chosen by default. One that the metric does not
        allow gives way to one that it does.
    """

    def __init__(self, job: Job, strategy: str | None = None) -> None:
        self._job, self._is_forced = job, strategy is not None
        self.strategy = possible(job, strategy or choose(job))
        self._strategies: dict[str, Strategy] = {}
        self._is_useful = True

    def update(self, nearest: Nearest, centers: Points, first: int) -> Counts:
        """Compare every row with ``centers``, numbered from ``first``.

        Every row has been compared with the centres before these, and perhaps with some of these.
        """
        counts = NOTHING
        if len(centers):
            if not is_sparse(centers):
                centers = read_only(centers)
            name = self._strategy_for(len(centers))
            with noted(self._job, name):
                counts = self.built(name).update(nearest, centers, first, self._job.workers)
            if name == self.strategy:
                self._judge(counts, len(centers))
                if not (self._is_forced or name in ("plain", "inverted")):
                    note_loss(self._job, name, len(centers))
        # Not before the work is done: whoever is interrupted may try again, since comparing with
        # a centre twice changes nothing.
        nearest.n_compared, nearest.compared_by_row = first + len(centers), None
        return counts

    def built(self, strategy: str) -> Strategy:
        """Return a strategy, built when it is first asked for."""
        if strategy not in self._strategies:
            self._strategies[strategy] = BUILDERS[strategy](self._job)
        return self._strategies[strategy]

    def let_go(self) -> None:
        """Free what was built; it is built again if it is needed again."""
        self._strategies.clear()

    def _strategy_for(self, n_centers: int) -> str:
        """Return what needs no structure for a batch that is not worth more."""
        if self._is_forced or self.strategy not in costs.BATCH_PAYS:
            return self.strategy
        batch = n_centers * costs.pair(self._job.points, self._job.metric)
        if self._is_useful and batch >= costs.BATCH_PAYS[self.strategy]:
            return self.strategy
        return without_structure(self._job, n_centers)

    def _judge(self, counts: Counts, n_centers: int) -> None:
        """Give up a strategy that could rule out too little: the data has no structure."""
        n = len(self._job.points)
        # Most strategies measure the nearest of a row exactly, however well they rule out.
        share = max(0, counts.exact - n) / (n_centers * n)
        if n_centers > _FEW and share > costs.USELESS.get(self.strategy, 1.0):
            self._is_useful = False
