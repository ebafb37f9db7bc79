"""Nearest centres by matrix products, where there is no structure to be used.

|x − c|² = |x|² + |c|² − 2·x·c for all pairs is one matrix product. It loses digits, so it only
rules centres out; what it cannot rule out is computed anew, difference by difference. With u
the unit roundoff, products and norms about a common middle err by less than
ε·(|x|² + |c|²), ε = 4(d + 8)u·2.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray, Metric
from kseeds.nearest.gemm_kernels import improve_block, squared_gaps_to
from kseeds.runtime.blas import one_blas_thread
from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.threads import Workers, blocks_of

_ENTRIES = 1 << 18
"""Table entries at a time: few enough for the cache."""
_ROWS = 1024
_TASK_ROWS = 8192
_CENTERS = 8192
"""Centres at a time: a table of 64 rows stays small."""


class Products:
    """Exact nearest centres for all rows, batch after batch; Euclidean.

    Parameters
    ----------
    points : ndarray
        The rows.
    metric : Metric
        Their metric.
    middle : ndarray, shape (d,)
        What to move the rows by, so that their norms are small.

    Attributes
    ----------
    opened : int
        How many pairs of the last batch were computed difference by difference.
    """

    exact_evaluations = 0

    def __init__(self, points: FloatArray, metric: Metric, middle: npt.NDArray[np.float64]) -> None:
        self._points, self._metric = points, metric
        dtype, d = points.dtype, points.shape[1]
        self._middle = middle.astype(dtype)[None, :]
        eps = float(np.finfo(dtype).eps)
        self._epsilon = 4.0 * (d + 8) * eps
        self._stretch = 1.0 + 4.0 * d * eps
        self._loss = 4.0 * eps

    def _moved(self, points: FloatArray) -> FloatArray:
        return points - self._middle if self._middle.any() else points

    def improve(
        self,
        centers: FloatArray,
        offset: int,
        squared: FloatArray,
        labels: npt.NDArray[np.int32],
        workers: Workers,
    ) -> tuple[int, int]:
        """Overwrite ``squared`` and ``labels`` where one of ``centers`` is strictly nearer.

        Returns the distances computed and 0 nodes visited.
        """
        self.exact_evaluations = 0
        for first, last in blocks_of(len(centers), _CENTERS):
            self._improve(centers[first:last], offset + first, squared, labels, workers)
        return len(centers) * len(self._points), 0

    def _improve(
        self,
        centers: FloatArray,
        offset: int,
        squared: FloatArray,
        labels: npt.NDArray[np.int32],
        workers: Workers,
    ) -> None:
        m = len(centers)
        width = -(-m // COLUMNS) * COLUMNS
        moved = self._moved(centers)
        reach = float(norms_about(centers, self._middle).max())
        turned = np.zeros((moved.shape[1], width), dtype=centers.dtype)
        turned[:, :m] = -2.0 * moved.T
        shifts = np.full(width, np.inf, dtype=centers.dtype)
        shifts[:m] = np.einsum("ij,ij->i", moved, moved) * (1.0 - self._epsilon)
        groups = shifts.reshape(-1, COLUMNS)
        nowhere = np.zeros((1, moved.shape[1]), dtype=centers.dtype)

        size = max(64, min(_ROWS, _ENTRIES // width))

        def task(start: int, stop: int) -> int:
            table = np.empty((size, width), dtype=centers.dtype)
            return sum(block(lo, min(lo + size, stop), table) for lo in range(start, stop, size))

        def block(start: int, stop: int, table: FloatArray) -> int:
            rows = self._moved(self._points[start:stop])
            lengths = norms_about(rows, nowhere)
            low = lengths * lengths * (1.0 - self._epsilon)
            entries = np.matmul(rows, turned, out=table[: stop - start])
            grouped = entries.reshape(-1, len(groups), COLUMNS)
            computed: int = improve_block(
                self._points, centers, start, grouped, groups, low,
                self._loss * (lengths + reach), offset, self._metric.relative, self._stretch,
                squared, labels,
            )  # fmt: skip
            return computed

        with one_blas_thread():
            self.exact_evaluations += sum(workers.over_blocks(task, len(self._points), _TASK_ROWS))


def norms_about(rows: FloatArray, middle: FloatArray) -> npt.NDArray[np.float64]:
    """Return the distances of the rows to ``middle``, a single row."""
    squared = np.empty(len(rows))
    squared_gaps_to(np.ascontiguousarray(rows), middle, squared)
    return np.sqrt(squared)
