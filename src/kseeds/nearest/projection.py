"""Projections: a few coordinates whose distances never exceed those of the points.

The first q coordinates are those along the leading principal components of a sample, the last is
the norm of the rest. For points x and c with remainders r_x and r_c,

    |x − c|² = |Px − Pc|² + |r_x − r_c|²  ≥  |Px − Pc|² + (|r_x| − |r_c|)²,

and at most |Px − Pc|² + (|r_x| + |r_c|)².
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray
from kseeds.runtime.aligned import aligned
from kseeds.runtime.blas import one_blas_thread
from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.threads import Workers

_SAMPLE, _FEW = 1024, 128
_MOST = 64
"""Principal components looked for."""


@dataclass(frozen=True)
class Components:
    """Orthonormal directions through the mean of the points, the leading ones first.

    Attributes
    ----------
    mean : ndarray, shape (d,)
        The mean of a sample; zero, which saves subtracting it, where that is about as good.
    directions : ndarray, shape (d, count)
        The directions as columns.
    shares : ndarray, shape (count,)
        The share of the variance of the sample that lies along each.
    """

    mean: npt.NDArray[np.float64]
    directions: npt.NDArray[np.float64]
    shares: npt.NDArray[np.float64]

    @property
    def count(self) -> int:
        """How many directions there are."""
        return len(self.shares)

    def leading(self, count: int) -> Components:
        """Return the same with the first ``count`` directions only."""
        return Components(self.mean, self.directions[:, :count], self.shares[:count])

    def unexplained(self, count: int) -> float:
        """Return the share of the variance that the first ``count`` directions leave out."""
        return 1.0 - float(self.shares[:count].sum())


def center_of(points: FloatArray) -> npt.NDArray[np.float64]:
    """Return about the mean of the rows; zero, which saves subtracting it, where that is as good.

    Of few rows: it only has to make norms small, which no other digit of it changes.
    """
    sample = points[:: max(1, len(points) // _FEW)]
    mean = mean_of(sample)
    moved = sample - mean
    largest = largest_of(moved)
    moved /= largest
    about = float(np.vdot(moved, moved)) / len(moved)
    return mean if _matters(mean, largest, about) else np.zeros_like(mean)


def mean_of(sample: FloatArray) -> npt.NDArray[np.float64]:
    """Return the mean of some rows; where all agree in a column, that number, to the last digit.

    Squares of what rounding leaves of a large number may overflow where no row differs.
    """
    mean: npt.NDArray[np.float64] = sample.mean(axis=0, dtype=np.float64)
    return np.clip(mean, sample.min(axis=0), sample.max(axis=0))


def largest_of(moved: FloatArray) -> float:
    """Return the largest absolute value, or the least number where there are only zeros."""
    return max(float(np.abs(moved).max()), float(np.finfo(moved.dtype).tiny))


def _matters(mean: npt.NDArray[np.float64], unit: float, about: float) -> bool:
    """Tell whether squared norms are much smaller about the mean, where they are ``about`` units.

    On average, and in squares of a ``unit`` in which they do not overflow.
    """
    with np.errstate(over="ignore"):
        scaled = mean / unit
        return float(np.vdot(scaled, scaled)) > 2.0 * about


def principal_components(points: FloatArray, count: int = _MOST) -> Components:
    """Return up to ``count`` principal components of a sample, approximately.

    Any orthonormal directions make valid projections; good ones make tight ones. In many
    dimensions they come from random combinations of the sample (Halko, Martinsson, Tropp 2011).
    """
    sample = points[:: max(1, len(points) // _SAMPLE)]
    mean = mean_of(sample)
    # In single precision, which takes half the time and is good enough to find directions.
    moved = sample - mean.astype(points.dtype)
    largest = largest_of(moved)
    moved = (moved / moved.dtype.type(largest)).astype(np.float32)
    d = moved.shape[1]
    with one_blas_thread():
        total = float(np.vdot(moved, moved))
        if d > 2 * count:
            basis = np.random.default_rng(0).normal(size=(d, count + 8))
            for _ in range(2):
                combined = moved.T @ (moved @ basis.astype(np.float32))
                basis, _ = np.linalg.qr(combined.astype(np.float64))
        else:
            basis = np.eye(d)
        along = (moved @ basis.astype(np.float32)).astype(np.float64)
        variances, turned = np.linalg.eigh(along.T @ along)
        directions = basis @ turned[:, ::-1][:, :count]
    if not _matters(mean, largest, total / len(moved)):
        mean[:] = 0.0
    shares = np.maximum(variances[::-1][:count], 0.0) / max(total, np.finfo(np.float64).tiny)
    return Components(mean, directions, shares)


def rounding_of(dtype: np.dtype[Any]) -> float:
    """Return how much farther apart projections may be for rounding, as a share of their norms.

    Of coordinates, and of a rest that is a difference.
    """
    return max(4.0 * float(np.finfo(dtype).eps), 4e-8)


class Projection:
    """Coordinates along principal components, and the norm of the rest.

    Parameters
    ----------
    components : Components
        The directions to use.
    """

    def __init__(self, components: Components) -> None:
        self._mean = components.mean
        self._directions = np.ascontiguousarray(components.directions)

    def of(self, points: FloatArray, workers: Workers) -> tuple[FloatArray, float]:
        """Return the projections, and the largest distance from the mean."""
        from kseeds.nearest.projection_kernels import project_rows

        projected = np.empty((len(points), self._directions.shape[1] + 1), dtype=points.dtype)

        d, count = self._directions.shape

        def task(start: int, stop: int) -> float:
            tile, along = aligned((d, COLUMNS), np.float64), aligned((count, COLUMNS), np.float64)
            largest: float = project_rows(
                points, start, stop, self._mean, self._directions, projected, tile, along,
                aligned(COLUMNS, np.float64),
            )  # fmt: skip
            return largest

        largest = max(workers.over_blocks(task, len(points), 4096))
        return projected, float(np.sqrt(largest))
