"""Brute force on projections of all rows, without a tree: for hundreds of dimensions.

Projections along r directions, Pᵀ(x − mean), computed in the precision of the data, are at most
√r·(d + 8)·2u·|x − mean| farther apart for each of the two than what they are projections of, with
u the unit roundoff. So a centre whose projection is farther than that cannot be nearer.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray, Metric
from kseeds.nearest.projected_scan_kernels import (
    Projected,
    scan_rows,
    squared_distances_to,
    workspace,
)
from kseeds.nearest.projection import Components
from kseeds.nearest.state import Counts, Nearest
from kseeds.runtime.aligned import Reused
from kseeds.runtime.blas import one_blas_thread
from kseeds.runtime.block_sizes import LANES
from kseeds.runtime.threads import Workers, rows_for

_TASK_ROWS = 4096


class ProjectedScan:
    """See `kseeds.nearest.base.Strategy`; Euclidean.

    Parameters
    ----------
    points : ndarray
        The rows.
    metric : Metric
        Their metric.
    workers : Workers
        Threads to project with.
    components : Components
        The mean, and the directions to project on.
    """

    def __init__(
        self, points: FloatArray, metric: Metric, workers: Workers, components: Components
    ) -> None:
        self._points, self._metric = points, metric
        dtype, (n, d) = points.dtype, points.shape
        self._mean = components.mean.astype(dtype)[None, :]
        self._directions = np.ascontiguousarray(components.directions, dtype=dtype)
        self._error = np.sqrt(components.count) * (d + 8) * float(np.finfo(dtype).eps)
        self._projected = np.empty((n, components.count), dtype=dtype)
        self._norms = np.empty(n)

        def task(start: int, stop: int) -> None:
            rows = points[start:stop]
            self._projected[start:stop] = self._projection_of(rows)
            self._norms[start:stop] = _norms_about(rows, self._mean)

        with one_blas_thread():
            workers.over_blocks(task, n, _TASK_ROWS)

    def _projection_of(self, points: FloatArray) -> FloatArray:
        about = points - self._mean if self._mean.any() else points
        projected: FloatArray = about @ self._directions
        return projected

    def update(self, nearest: Nearest, centers: FloatArray, first: int, workers: Workers) -> Counts:
        """See `kseeds.nearest.base.Strategy`."""
        m, r = len(centers), self._projected.shape[1]
        columns = np.full((r, -(-m // LANES) * LANES), np.inf, dtype=centers.dtype)
        columns[:, :m] = self._projection_of(centers).T
        radius = float(_norms_about(centers, self._mean).max())
        slack = self._error * (self._norms + radius)
        projected = Projected(self._projected, columns, slack, self._metric.relative)
        spaces = Reused(lambda: workspace(projected))

        def task(start: int, stop: int) -> int:
            with spaces.one() as space:
                computed: int = scan_rows(
                    self._points, centers, projected, start, stop, first, nearest.squared,
                    nearest.labels, space,
                )  # fmt: skip
            return computed

        # As if nothing could be ruled out: an interrupt waits for a task.
        rows = rows_for(m * (0.1 + 0.025 * r + 0.2 * centers.shape[1]), most=_TASK_ROWS)
        computed = sum(workers.over_blocks(task, len(self._points), rows))
        return Counts(computed, 0, computed)


def _norms_about(rows: FloatArray, mean: FloatArray) -> npt.NDArray[np.float64]:
    """Return the distances of the rows to ``mean``, a single row."""
    squared = np.empty(len(rows))
    squared_distances_to(np.ascontiguousarray(rows), mean, squared)
    return np.sqrt(squared)
