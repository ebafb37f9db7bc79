"""Sketches: a few coordinates whose distances never exceed those of the points.

The first q coordinates are those along the principal axes of a sample, the last is the norm
of the rest. For points x and c with remainders r_x and r_c,

    |x − c|² = |Px − Pc|² + |r_x − r_c|²  ≥  |Px − Pc|² + (|r_x| − |r_c|)²,

and at most |Px − Pc|² + (|r_x| + |r_c|)².
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray
from kseeds.nearest.projection_kernels import sketch_rows
from kseeds.runtime.blas import one_blas_thread
from kseeds.runtime.threads import Workers

_SAMPLE = 1024
_MOST = 64
"""Principal axes looked for."""


@dataclass(frozen=True)
class Axes:
    """Orthonormal axes through the middle of the points, the most telling first.

    Attributes
    ----------
    middle : ndarray, shape (d,)
        The mean of a sample; zero, which saves subtracting it, where that is about as good.
    axes : ndarray, shape (d, count)
        The axes as columns.
    shares : ndarray, shape (count,)
        The share of the variance of the sample that lies along each.
    """

    middle: npt.NDArray[np.float64]
    axes: npt.NDArray[np.float64]
    shares: npt.NDArray[np.float64]

    @property
    def count(self) -> int:
        """How many axes there are."""
        return len(self.shares)

    def first(self, count: int) -> Axes:
        """Return the same with the first ``count`` axes only."""
        return Axes(self.middle, self.axes[:, :count], self.shares[:count])

    def unexplained(self, count: int) -> float:
        """Return the share of the variance that the first ``count`` axes leave out."""
        return 1.0 - float(self.shares[:count].sum())


def principal_axes(points: FloatArray, count: int = _MOST) -> Axes:
    """Return up to ``count`` principal axes of a sample, approximately.

    Any orthonormal axes make valid sketches; good ones make tight ones. In many dimensions
    they come from random combinations of the sample (Halko, Martinsson, Tropp 2011).
    """
    sample = points[:: max(1, len(points) // _SAMPLE)].astype(np.float64)
    middle = sample.mean(axis=0)
    sample -= middle
    total = float(np.einsum("ij,ij->", sample, sample))
    if len(sample) * float(middle @ middle) <= 2.0 * total:
        middle[:] = 0.0
    d = sample.shape[1]
    if count == 0:
        return Axes(middle, np.empty((d, 0)), np.empty(0))
    with one_blas_thread():
        basis = np.eye(d)
        if d > 2 * count:
            basis = np.random.default_rng(0).normal(size=(d, count + 8))
            for _ in range(2):
                basis, _ = np.linalg.qr(sample.T @ (sample @ basis))
        along = sample @ basis
        variances, turned = np.linalg.eigh(along.T @ along)
        axes = basis @ turned[:, ::-1][:, :count]
    shares = np.maximum(variances[::-1][:count], 0.0) / max(total, np.finfo(np.float64).tiny)
    return Axes(middle, axes, shares)


class Sketch:
    """Principal coordinates and the norm of the rest.

    Parameters
    ----------
    axes : Axes
        The axes to use.
    """

    def __init__(self, axes: Axes) -> None:
        self._middle, self._axes = axes.middle, np.ascontiguousarray(axes.axes)

    def of(self, points: FloatArray, workers: Workers) -> tuple[FloatArray, float]:
        """Return the sketches, and the largest distance from the middle."""
        sketches = np.empty((len(points), self._axes.shape[1] + 1), dtype=points.dtype)

        def task(start: int, stop: int) -> float:
            return float(sketch_rows(points, start, stop, self._middle, self._axes, sketches))

        largest = max(workers.over_blocks(task, len(points), 4096))
        return sketches, float(np.sqrt(largest))
