"""Nearest centres by matrix products, where there is no structure to be used.

|x − c|² = |x|² + |c|² − 2·x·c for all pairs is one matrix product. It loses digits, so it only
rules centres out; what it cannot rule out is computed anew, difference by difference. With u
the unit roundoff, products and norms about a common mean err by less than
ε·(|x|² + |c|²), ε = 4(d + 8)u·2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray, Metric
from kseeds.nearest.gemm_kernels import Products, settle_block, squared_distances_to, workspace
from kseeds.nearest.state import Counts, Nearest
from kseeds.runtime.aligned import Reused, aligned
from kseeds.runtime.blas import one_blas_thread
from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.threads import Workers, blocks_of

_ENTRIES = 1 << 17
"""Entries of a table: few enough for the cache."""
_ROWS = 1024
_TASK_ROWS = 8192
_CENTERS = 4096
"""Centres at a time: a table of 64 rows stays small."""


class Gemm:
    """See `kseeds.nearest.base.Strategy`; Euclidean.

    Parameters
    ----------
    points : ndarray
        The rows.
    metric : Metric
        Their metric.
    mean : ndarray, shape (d,)
        What to move the rows by, so that their norms are small.
    """

    def __init__(self, points: FloatArray, metric: Metric, mean: npt.NDArray[np.float64]) -> None:
        self._points, self._metric = points, metric
        dtype, d = points.dtype, points.shape[1]
        self._mean = mean.astype(dtype)[None, :]
        self._is_centred = not self._mean.any()
        eps = float(np.finfo(dtype).eps)
        self._epsilon = 4.0 * (d + 8) * eps
        self._stretch = 1.0 + 4.0 * d * eps
        self._loss = 4.0 * eps

    def update(self, nearest: Nearest, centers: FloatArray, first: int, workers: Workers) -> Counts:
        """See `kseeds.nearest.base.Strategy`."""
        exact = 0
        with one_blas_thread():
            for low, high in blocks_of(len(centers), _CENTERS):
                exact += self._update(nearest, centers[low:high], first + low, workers)
        return Counts(len(centers) * len(self._points), 0, exact)

    def _update(self, nearest: Nearest, centers: FloatArray, first: int, workers: Workers) -> int:
        d, dtype = centers.shape[1], centers.dtype
        moved = centers if self._is_centred else centers - self._mean
        radius = float(norms_about(centers, self._mean).max())
        factors = np.multiply(moved, -2.0)
        shifts = np.einsum("ij,ij->i", moved, moved) * (1.0 - self._epsilon)
        shifts = shifts.astype(dtype)
        width = max(COLUMNS, min(_ROWS, _ENTRIES // len(centers) // COLUMNS * COLUMNS))
        origin = np.zeros((1, d), dtype=dtype)

        def new_space() -> tuple[FloatArray, FloatArray, Any]:
            rows = np.zeros((width, d), dtype=dtype)
            return aligned(len(centers) * width, dtype), rows, workspace(dtype)

        spaces = Reused(new_space)

        def task(start: int, stop: int) -> int:
            with spaces.one() as space:
                return sum(
                    block(low, min(low + width, stop), *space) for low in range(start, stop, width)
                )

        def block(start: int, stop: int, entries: FloatArray, rows: FloatArray, space: Any) -> int:
            count = stop - start
            whole = -(-count // COLUMNS) * COLUMNS  # columns beyond the rows are never looked at
            if self._is_centred and whole == count:
                rows = self._points[start:stop]
            else:
                np.subtract(self._points[start:stop], self._mean, out=rows[:count])
                rows = rows[:whole]
            norms = norms_about(rows[:count], origin)
            low = norms * norms * (1.0 - self._epsilon)
            table = entries[: len(centers) * whole].reshape(len(centers), whole)
            np.matmul(factors, rows.T, out=table)
            products = Products(
                table, shifts, low, self._loss * (norms + radius), self._metric.relative,
                self._stretch,
            )  # fmt: skip
            exact: int = settle_block(
                self._points, centers, products, start, count, first, nearest.squared,
                nearest.labels, space,
            )  # fmt: skip
            return exact

        return sum(workers.over_blocks(task, len(self._points), _TASK_ROWS))


def norms_about(rows: FloatArray, mean: FloatArray) -> npt.NDArray[np.float64]:
    """Return the distances of the rows to ``mean``, a single row."""
    squared = np.empty(len(rows))
    squared_distances_to(np.ascontiguousarray(rows), mean, squared)
    return np.sqrt(squared)
