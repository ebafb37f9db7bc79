"""Nearest centres by products of bytes of projections: for hundreds of dimensions.

A row x about the mean has the coordinates Pᵀx along r orthonormal directions, and what they leave
out of it has a norm ρ. With y = (Pᵀx, ρ), and z the same of a centre c,

    |x − c|² ≥ |y − z|² = |x|² + |c|² − 2·y·z,

since |y| = |x|, so `kseeds.nearest.quantized` has a lower bound of it from y and z in steps. These
are as computed, in single precision, and the true y is ŷ + δ. What steps leave out of y is what
they leave out of ŷ, and δ, so that |δ| only has to be added to its norm.

How large |δ| is: let u be the unit roundoff of single precision. A coordinate of ŷ is summed up in
blocks of b columns, one after the other, of n blocks. With the roundings of x and P it errs by
γ(b + n + 2)|x| (Higham, Accuracy and Stability of Numerical Algorithms, 2002, chapter 3), and all
r of them by s = √r·γ(b + n + 2)|x|. ρ² is the difference of two squared norms that err by
γ(b + 2)|x|² and 2s|x| + s², and so ρ errs by their sum divided by ρ, or the root of their sum.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray, Metric
from kseeds.nearest.projection import Components
from kseeds.nearest.quantized import MOST_NORM, InSteps, Quantized, in_steps
from kseeds.nearest.quantized_kernels import workspace
from kseeds.nearest.quantized_scan_kernels import keep_projections
from kseeds.nearest.steps_kernels import Factors, Steps, new_steps
from kseeds.runtime.aligned import Reused, read_only
from kseeds.runtime.blas import one_blas_thread
from kseeds.runtime.block_sizes import column_order
from kseeds.runtime.threads import Workers, blocks_of
from kseeds.simd.products import ABREAST

_TASK_ROWS = 4096
_TOGETHER = 64
"""Columns whose products BLAS adds up, in whatever order."""
_LEAST_NORM = 1e-30
"""Squared norm from which on nothing that matters underflows."""
_SINGLE = np.dtype(np.float32)

Float64Array = npt.NDArray[np.float64]


def _gamma(roundings: int) -> float:
    """Return the relative error of so many roundings in a row, and a little more."""
    return 1.01 * roundings * 0.5 * float(np.finfo(_SINGLE).eps)


class _Projected(NamedTuple):
    """Projections and what is left of each row, squared norms, and by how much these err."""

    along: npt.NDArray[np.float32]
    norms: Float64Array
    missed: Float64Array


class QuantizedScan(Quantized):
    """See `kseeds.nearest.base.Strategy`; Euclidean.

    Where projections in steps rule out too little, the other rows are left to products of bytes of
    all columns.

    Parameters
    ----------
    points : ndarray
        The rows, of at least 16 columns.
    metric : Metric
        Their metric.
    workers : Workers
        Threads to project with.
    components : Components
        The mean, and the directions to project on.
    """

    name, gives_way_to = "quantized_scan", "quantized"

    def __init__(
        self, points: FloatArray, metric: Metric, workers: Workers, components: Components
    ) -> None:
        super().__init__(points, metric, components.mean, keeps=True)
        self._instead = Quantized(points, metric, components.mean)
        self._directions = np.ascontiguousarray(components.directions, dtype=_SINGLE)
        count = components.count + 1
        self._columns = column_order(count)
        self._zero = np.zeros(count, dtype=points.dtype)
        self._projections = new_steps(points, True, count)
        self._project_all(workers)

    def _project_all(self, workers: Workers) -> None:
        """Keep the projections of all rows in steps."""
        like = np.empty((0, len(self._zero)), dtype=_SINGLE)
        spaces = Reused(lambda: workspace(like, ABREAST)[0])
        nothing = in_steps(self._zero[None, :], self._zero, self._columns)
        factors = self._factors(nothing, self._zero, False)  # for their mean, which is 0

        def task(start: int, stop: int) -> None:
            found = self._projected(self._points[start:stop])
            with spaces.one() as tile:
                keep_projections(
                    read_only(found.along), start, found.norms, found.missed, factors,
                    self._projections, tile,
                )  # fmt: skip

        with one_blas_thread():
            workers.over_blocks(task, len(self._points), _TASK_ROWS)

    def _projected(self, rows: FloatArray) -> _Projected:
        """Return rows as their projections; infinite where single precision does not do."""
        r, d = self._directions.shape[1], self._directions.shape[0]
        with np.errstate(all="ignore"):
            given = rows - self._mean if self._mean.any() else rows
            about = given.astype(_SINGLE, copy=False)
            along = np.empty((len(rows), r + 1), dtype=_SINGLE)
            blocks = blocks_of(d, _TOGETHER)
            sums = about[:, : blocks[0][1]] @ self._directions[: blocks[0][1]]
            for low, high in blocks[1:]:
                sums += about[:, low:high] @ self._directions[low:high]
            along[:, :r] = sums
            norms = np.zeros(len(rows))
            for low, high in blocks:
                norms += np.vecdot(about[:, low:high], about[:, low:high])
            of_sums = math.sqrt(r) * _gamma(_TOGETHER + len(blocks) + 2)
            error = norms * (_gamma(_TOGETHER + 2) + 2.0 * of_sums + of_sums**2)
            wide = sums.astype(np.float64)
            left = np.sqrt(np.maximum(norms - np.vecdot(wide, wide), 0.0))
            along[:, r] = left
            of_left = np.fmin(np.sqrt(error), error / left)
            missed = (of_sums + _gamma(3)) * np.sqrt(norms) + of_left
        # All of a row at the mean is 0, and exact; others so near to it may underflow.
        small = np.flatnonzero(norms < _LEAST_NORM)
        unsafe = [small[given[small].any(axis=1)], np.flatnonzero(~(norms < MOST_NORM))]
        along[np.concatenate(unsafe)] = np.inf
        missed[small] = 0.0
        return _Projected(along, norms, missed)

    def _steps_for(self, factors: Factors) -> Steps:
        """Return the projections of all rows, whatever the centres."""
        return self._projections

    def _stepped(self, centers: FloatArray) -> tuple[InSteps, FloatArray, bool]:
        """Return the projections of centres in steps, which are about the mean already."""
        with one_blas_thread():
            found = self._projected(centers)
        is_safe = np.isfinite(found.along[:, -1:])
        along = np.where(is_safe, found.along, 0.0).astype(centers.dtype)
        stepped = in_steps(along, self._zero, self._columns)
        errors = np.square(np.sqrt(stepped.errors) + found.missed)
        norms = np.where(is_safe[:, 0], found.norms, np.inf)
        return stepped._replace(norms=norms, errors=errors), self._zero, False
