"""The nearest centre of every row: one interface, several exact strategies.

Comparing every row with a batch of new centres is the step under k-means||, under the labels of a
seeding and under `assign`. All strategies leave the same labels, ties to the lowest number, and the
same distances.
"""

from __future__ import annotations

from kseeds.distances.metrics import FloatArray
from kseeds.nearest import costs
from kseeds.nearest.base import Strategy
from kseeds.nearest.choice import BUILDERS, Job, choose, possible
from kseeds.nearest.state import NOTHING, Counts, Nearest

_FEW = 16
"""Centres too few to judge by: one of them is the nearest whatever the structure."""


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
        self._best: Strategy = BUILDERS[self.strategy](job)
        self._brute: Strategy | None = self._best if self.strategy == "brute" else None
        self._is_useful = True

    def update(self, nearest: Nearest, centers: FloatArray, first: int) -> Counts:
        """Compare every row with ``centers``, numbered from ``first``.

        Every row has been compared with the centres before these, and perhaps with some of these.
        """
        counts = NOTHING
        if len(centers):
            strategy = self._strategy_for(len(centers))
            counts = strategy.update(nearest, centers, first, self._job.workers)
            if strategy is self._best:
                self._judge(counts, len(centers))
        # Not before the work is done: whoever is interrupted may try again, since comparing with
        # a centre twice changes nothing.
        nearest.n_compared, nearest.compared_by_row = first + len(centers), None
        return counts

    def _strategy_for(self, n_centers: int) -> Strategy:
        """Return brute force for a batch that is not worth more."""
        if self._is_forced or self.strategy not in costs.BATCH_PAYS:
            return self._best
        batch = n_centers * costs.pair(self._job.points, self._job.metric)
        if self._is_useful and batch >= costs.BATCH_PAYS[self.strategy]:
            return self._best
        if self._brute is None:
            self._brute = BUILDERS["brute"](self._job)
        return self._brute

    def _judge(self, counts: Counts, n_centers: int) -> None:
        """Give up a strategy that could rule out too little: the data has no structure."""
        share = counts.exact / (n_centers * len(self._job.points))
        if n_centers > _FEW and share > costs.USELESS.get(self.strategy, 1.0):
            self._is_useful = False
