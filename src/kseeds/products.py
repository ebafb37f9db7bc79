"""Nearest centres by matrix products, in the coordinates of the rows or of sketches of them.

|s − c|² = |s|² + |c|² − 2·s·c for all pairs is one matrix product. It loses digits, and a sketch
loses more, so the product only rules centres out; what it cannot rule out is computed anew,
difference by difference. With u the unit roundoff and r coordinates, products and norms err
by less than ε·(|s|² + |c|²), ε = 4(r + 8)u·2. A sketch Pᵀ(x − middle), computed in the precision of
the data, errs by less than √r·(d + 8)·2u·|x − middle|.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.blas import one_blas_thread
from kseeds.kernels.products import improve_block, squared_gaps_to
from kseeds.layout import COLUMNS
from kseeds.metrics import FloatArray, Metric
from kseeds.sketch import Axes
from kseeds.threads import Workers

_ENTRIES = 1 << 18
"""Table entries at a time: few enough for the cache."""
_ROWS = 1024
_TASK_ROWS = 8192


class Products:
    """Exact nearest centres for all rows, batch after batch; Euclidean.

    Parameters
    ----------
    points : ndarray
        The rows.
    metric : Metric
        Their metric.
    workers : Workers
        Threads to use.
    axes : Axes
        Where the middle is, and along which axes to sketch the rows; no axes for the rows as
        they are.

    Attributes
    ----------
    opened : int
        How many pairs of the last batch were computed difference by difference.
    """

    opened = 0

    def __init__(self, points: FloatArray, metric: Metric, workers: Workers, axes: Axes) -> None:
        self._points, self._metric = points, metric
        dtype, d = points.dtype, points.shape[1]
        self._middle = axes.middle.astype(dtype)[None, :]
        self._axes = None if axes.count == 0 else np.ascontiguousarray(axes.axes, dtype=dtype)
        r = axes.count or d
        eps = float(np.finfo(dtype).eps)
        self._epsilon = 4.0 * (r + 8) * eps
        self._stretch = 1.0 + 4.0 * r * eps
        self._loss = 4.0 * eps if self._axes is None else np.sqrt(r) * (d + 8) * eps
        self._sketches: FloatArray | None = None
        self._norms = np.empty(0)
        if self._axes is not None:
            self._sketches = np.empty((len(points), r), dtype=dtype)
            self._norms = np.empty(len(points))
            with one_blas_thread():
                workers.over_blocks(self._sketch_rows, len(points), _TASK_ROWS)

    def _sketch_rows(self, start: int, stop: int) -> None:
        assert self._sketches is not None
        self._sketches[start:stop] = self._sketch(self._points[start:stop])
        self._norms[start:stop] = _distances(self._points[start:stop], self._middle)

    def _sketch(self, points: FloatArray) -> FloatArray:
        moved = points - self._middle if self._middle.any() else points
        return moved if self._axes is None else moved @ self._axes

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
        m = len(centers)
        width = -(-m // COLUMNS) * COLUMNS
        sketches = self._sketch(centers)
        reach = float(_distances(centers, self._middle).max())
        turned = np.zeros((sketches.shape[1], width), dtype=centers.dtype)
        turned[:, :m] = -2.0 * sketches.T
        shifts = np.full(width, np.inf, dtype=centers.dtype)
        shifts[:m] = np.einsum("ij,ij->i", sketches, sketches) * (1.0 - self._epsilon)
        groups = shifts.reshape(-1, COLUMNS)
        nowhere = np.zeros((1, sketches.shape[1]), dtype=centers.dtype)

        size = max(64, min(_ROWS, _ENTRIES // width))

        def task(start: int, stop: int) -> int:
            table = np.empty((size, width), dtype=centers.dtype)
            return sum(block(lo, min(lo + size, stop), table) for lo in range(start, stop, size))

        def block(start: int, stop: int, table: FloatArray) -> int:
            if self._sketches is None:
                rows = self._sketch(self._points[start:stop])
                lengths = norms = _distances(rows, nowhere)
            else:
                rows, norms = self._sketches[start:stop], self._norms[start:stop]
                lengths = _distances(rows, nowhere)
            low = lengths * lengths * (1.0 - self._epsilon)
            entries = np.matmul(rows, turned, out=table[: stop - start])
            grouped = entries.reshape(-1, len(groups), COLUMNS)
            computed: int = improve_block(
                self._points, centers, start, grouped, groups, low,
                self._loss * (norms + reach), offset, self._metric.relative, self._stretch,
                squared, labels,
            )  # fmt: skip
            return computed

        with one_blas_thread():
            self.opened = sum(workers.over_blocks(task, len(self._points), _TASK_ROWS))
        return (m * len(self._points) if self._axes is None else self.opened), 0


def _distances(rows: FloatArray, middle: FloatArray) -> npt.NDArray[np.float64]:
    squared = np.empty(len(rows))
    squared_gaps_to(np.ascontiguousarray(rows), middle, squared)
    return np.sqrt(squared)
