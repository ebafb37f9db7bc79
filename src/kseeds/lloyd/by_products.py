"""Lloyd's iteration by matrix products in plain NumPy, for jobs too short for kernels.

Iterations need labels and no distances. A product tells the nearest centre of nearly every row;
only where another comes within the error of products are distances computed, as
`kseeds.nearest.plain` does.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import Family, FloatArray
from kseeds.distances.sparse_rows import is_sparse
from kseeds.lloyd.base import Anew, Labels, Sums
from kseeds.nearest.choice import Job
from kseeds.nearest.plain import compare, error_of_products
from kseeds.nearest.projection import center_of
from kseeds.nearest.state import Counts, Nearest
from kseeds.nearest.update import noted
from kseeds.runtime.aligned import Reused
from kseeds.runtime.blas import one_blas_thread
from kseeds.runtime.threads import Workers
from kseeds.simd.lane_order import lane_sum

_ENTRIES = 1 << 15
"""Entries of a table, which stays in a cache."""
_SHARED = 1 << 21
"""Entries of all tables from which on threads share them."""
_VALUES = 1 << 22
"""Coordinates up to which a copy of the rows is made."""


def is_possible(job: Job) -> bool:
    """Tell whether a job can be done so: Euclidean distances of not too much data."""
    if is_sparse(job.points) or job.metric.kind is not Family.EUCLIDEAN:
        return False
    return bool(job.points.size <= _VALUES)


class ByProducts(Anew):
    """See `kseeds.lloyd.base.Assigner`.

    Parameters
    ----------
    job : Job
        The rows, which `is_possible`.
    """

    name = "gemm"

    def __init__(self, job: Job) -> None:
        super().__init__(len(job.points))
        self._job, self._points = job, job.points
        n, d = job.points.shape
        self._mean = center_of(job.points).astype(job.points.dtype)
        # Columns, and one of ones for the norms of centres: NumPy is slow on short rows.
        self._columns = np.ones((d + 1, n), dtype=job.points.dtype)
        np.subtract(job.points.T, self._mean[:, None], out=self._columns[:d])
        self._norms = np.einsum("ij,ij->j", self._columns[:d], self._columns[:d])

    def assign(self, centers: FloatArray, sums: Sums) -> int:
        """See `kseeds.lloyd.base.Assigner`."""
        labels, self._nearest = self._labels_of(centers), None
        pairs = len(self._points) * len(centers)
        self.counts = Counts.total([self.counts, Counts(pairs, 0, pairs)])
        return self._move(labels, sums)

    def _labels_of(self, centers: FloatArray) -> Labels:
        """Return the number of the nearest centre of every row."""
        (k, d), dtype = centers.shape, centers.dtype
        factors = np.empty((k, d + 1), dtype=dtype)
        moved = np.subtract(centers, self._mean, out=factors[:, :d])
        factors[:, d] = np.einsum("ij,ij->i", moved, moved)
        largest = float(factors[:, d].max())
        moved *= -2.0
        numbers = np.arange(k, dtype=dtype)
        labels = np.empty(len(self._points), dtype=np.int32)
        size = max(64, _ENTRIES // k)
        spaces = Reused(lambda: np.empty((2, k * size), dtype=dtype))

        def task(start: int, stop: int) -> None:
            part = slice(start, stop)
            with spaces.one() as space:
                table, within = space[:, : k * (stop - start)].reshape(2, k, stop - start)
                np.matmul(factors, self._columns[:, part], out=table)
                limits = table.min(axis=0)
                limits += 2.0 * error_of_products(d, dtype, self._norms[part], largest)
                np.less_equal(table, limits, out=within)
                labels[part] = numbers @ within  # whole numbers, and right where one is within
                if within.sum() == stop - start:
                    return
                doubtful = start + np.flatnonzero(within.sum(axis=0) > 1.0)
            labels[doubtful] = self._compared(doubtful, centers)

        # Threads would take turns more often than they work, unless there is much to do.
        workers = self._job.workers if len(labels) * k > _SHARED else Workers(1)
        with noted(self._job, "plain"), one_blas_thread():
            workers.over_blocks(task, len(labels), size)
        return labels

    def _compared(self, rows: npt.NDArray[np.int64], centers: FloatArray) -> Labels:
        """Return the labels of rows from their distances."""
        best = np.full(len(rows), np.inf, dtype=centers.dtype)
        none = np.full(len(rows), -1, dtype=np.int32)
        return compare(self._points[rows], centers, 0, Family.EUCLIDEAN, best, none)[1]

    def find(self, centers: FloatArray) -> tuple[Nearest, Counts]:
        """Return the nearest centre of every row; ``centers`` are those of the labels."""
        squared = lane_sum(np.square(self._points - centers[self._labels]))
        return Nearest(squared, self._labels, len(centers)), Counts(len(squared), 0, len(squared))
