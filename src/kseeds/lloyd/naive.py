"""Lloyd's iteration in plain NumPy: the oracle.

Every iteration computes the distance of every row to every centre. Nothing is skipped, so nothing
can be skipped wrongly.
"""

from __future__ import annotations

import numpy as np

from kseeds.distances.metrics import Metric
from kseeds.distances.reference import squared_distances
from kseeds.distances.sparse_rows import Points
from kseeds.lloyd.base import Anew
from kseeds.nearest.state import Counts, Nearest


class Naive(Anew):
    """See `kseeds.lloyd.base.Assigner`.

    References
    ----------
    S. P. Lloyd, "Least squares quantization in PCM", IEEE Transactions on Information Theory 28
    (1982).
    """

    name = "naive"

    def __init__(self, points: Points, metric: Metric) -> None:
        super().__init__(len(points))
        self._points, self._metric = points, metric

    def find(self, centers: Points) -> tuple[Nearest, Counts]:
        """Return the nearest centre of every row, one centre after the other."""
        nearest = Nearest.empty(self._points)
        for number, center in enumerate(centers):
            squared = squared_distances(self._points, center, self._metric.kind)
            nearer = squared < nearest.squared
            np.copyto(nearest.squared, squared, where=nearer)
            np.copyto(nearest.labels, number, where=nearer)
        pairs = len(self._points) * len(centers)
        return nearest, Counts(pairs, 0, pairs)
