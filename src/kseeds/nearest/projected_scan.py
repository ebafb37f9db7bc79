"""Nearest centres by sketches of all rows, without a tree: for hundreds of dimensions.

Sketches along r axes, Pᵀ(x − middle), computed in the precision of the data, are at most
√r·(d + 8)·2u·|x − middle| farther apart for each of the two than what they are sketches of,
with u the unit roundoff. So a centre whose sketch is farther than that cannot be nearer.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray, Metric
from kseeds.nearest.gemm import norms_about
from kseeds.nearest.projected_scan_kernels import improve_rows
from kseeds.nearest.projection import Axes
from kseeds.runtime.blas import one_blas_thread
from kseeds.runtime.block_sizes import LANES
from kseeds.runtime.threads import Workers, rows_for

_TASK_ROWS = 4096


class FlatSketch:
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
        Where the middle is, and along which axes to sketch.

    Attributes
    ----------
    opened : int
        How many pairs of the last batch were computed on whole rows.
    """

    exact_evaluations = 0

    def __init__(self, points: FloatArray, metric: Metric, workers: Workers, axes: Axes) -> None:
        self._points, self._metric = points, metric
        dtype, (n, d) = points.dtype, points.shape
        self._middle = axes.middle.astype(dtype)[None, :]
        self._axes = np.ascontiguousarray(axes.axes, dtype=dtype)
        self._loss = np.sqrt(axes.count) * (d + 8) * float(np.finfo(dtype).eps)
        self._sketches = np.empty((n, axes.count), dtype=dtype)
        self._norms = np.empty(n)

        def task(start: int, stop: int) -> None:
            rows = points[start:stop]
            self._sketches[start:stop] = self._sketch(rows)
            self._norms[start:stop] = norms_about(rows, self._middle)

        with one_blas_thread():
            workers.over_blocks(task, n, _TASK_ROWS)

    def _sketch(self, points: FloatArray) -> FloatArray:
        sketches: FloatArray = (
            points - self._middle if self._middle.any() else points
        ) @ self._axes
        return sketches

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
        m, r = len(centers), self._sketches.shape[1]
        columns = np.full((r, -(-m // LANES) * LANES), np.inf, dtype=centers.dtype)
        columns[:, :m] = self._sketch(centers).T
        reach = float(norms_about(centers, self._middle).max())
        slack = self._loss * (self._norms + reach)

        def task(start: int, stop: int) -> int:
            computed: int = improve_rows(
                self._points, centers, self._sketches, columns, slack, start, stop,
                offset, self._metric.relative, squared, labels,
            )  # fmt: skip
            return computed

        # As if nothing could be ruled out: an interrupt waits for a task.
        rows = rows_for(m * (0.1 + 0.025 * r + 0.2 * centers.shape[1]), most=_TASK_ROWS)
        self.exact_evaluations = sum(workers.over_blocks(task, len(self._points), rows))
        return self.exact_evaluations, 0
