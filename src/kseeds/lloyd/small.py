"""Lloyd's iteration for small jobs, of which most of the time would go into getting ready."""

from __future__ import annotations

import numpy as np

from kseeds.distances.metrics import Family, FloatArray, Metric
from kseeds.distances.reference import squared_by_columns
from kseeds.distances.sparse_rows import Points, is_sparse
from kseeds.lloyd.base import Anew
from kseeds.nearest.state import Counts, Nearest
from kseeds.runtime.block_sizes import LANES

_ENTRIES = 1 << 15
"""Pairs of rows and centres up to which a job is small."""


def is_small(points: Points, metric: Metric, n_clusters: int) -> bool:
    """Tell whether all squared distances are best computed at once."""
    if is_sparse(points):
        return False
    few = len(points) * n_clusters <= _ENTRIES and points.shape[1] < LANES
    return few and metric.family is Family.EUCLIDEAN


class Small(Anew):
    """See `kseeds.lloyd.base.Assigner`; Euclidean, for fewer than 16 columns."""

    name = "gemm"

    def __init__(self, points: FloatArray) -> None:
        super().__init__(len(points))
        self._columns = np.ascontiguousarray(points.T)

    def find(self, centers: FloatArray) -> tuple[Nearest, Counts]:
        """Return the nearest centre of every row, from a table of all squared distances."""
        table = squared_by_columns(self._columns, centers)
        labels = table.argmin(axis=0)
        squared = table[labels, np.arange(table.shape[1])]
        counts = Counts(table.size, 0, table.size)
        return Nearest(squared, labels.astype(np.int32), len(centers)), counts
