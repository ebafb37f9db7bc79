"""The metrics by name: how data is made ready for them, and how far to trust a distance.

Five names, four kernels: a haversine distance is the arc between two points of the unit
sphere, so latitude and longitude become unit vectors once and share the kernel of the
angular metric. Everything inside works on *squared* distances of prepared points.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kseeds.runtime.memmap import room_for

FloatArray: TypeAlias = npt.NDArray[Any]
"""A float32 or float64 array."""


Dissimilarity: TypeAlias = Callable[[FloatArray, FloatArray], float]
"""A user's function of two rows."""


class Family(IntEnum):
    """The distance kernels."""

    EUCLIDEAN = 0
    MANHATTAN = 1
    CHEBYSHEV = 2
    ARC = 3
    CALLABLE = 4


Kind: TypeAlias = Family | Dissimilarity
"""What plain NumPy code needs to compute a distance."""


FAMILIES = {
    "euclidean": Family.EUCLIDEAN,
    "manhattan": Family.MANHATTAN,
    "chebyshev": Family.CHEBYSHEV,
    "angular": Family.ARC,
    "haversine": Family.ARC,
}

# Squares must neither overflow nor vanish. Inside these exponents of the largest value no
# scaling is needed; outside, the data is multiplied by a power of two, which is exact.
_SAFE_EXPONENTS = {np.dtype(np.float32): (-20, 40), np.dtype(np.float64): (-300, 400)}
_LARGEST_SHIFT = {np.dtype(np.float32): 120, np.dtype(np.float64): 1000}
"""Powers of two that the precision of the data holds itself, and so does their reciprocal."""


@dataclass(frozen=True)
class Metric:
    """A metric bound to the shape and precision of the data.

    Attributes
    ----------
    name : str
        What the user asked for.
    family : Family
        Which kernel computes it.
    relative, absolute : float
        Rounding slack on a distance. If a bound derived from the triangle inequality holds
        with this much to spare, it holds for the *computed* distances too, so that rounding
        can only cost a distance, never change a result.
    function : callable or None
        The user's function, where the metric is one.
    scale : float
        Distances of the prepared points times this are distances of the user's points.
    """

    name: str
    family: Family
    relative: float
    absolute: float
    scale: float = 1.0
    function: Dissimilarity | None = None

    @property
    def given(self) -> str | Dissimilarity:
        """What the user gave: a function may have any name, also that of a metric of ours."""
        return self.name if self.function is None else self.function

    @property
    def kind(self) -> Kind:
        """The user's function, or else the family."""
        return self.family if self.function is None else self.function


def factor_for(dtype: np.dtype[Any], largest: float) -> float:
    """Return the power of two that makes squares of values up to ``largest`` safe; mostly 1."""
    low, high = _SAFE_EXPONENTS[dtype]
    exponent = math.frexp(largest)[1]
    if largest == 0.0 or low <= exponent <= high:
        return 1.0
    most = _LARGEST_SHIFT[dtype]
    return math.ldexp(1.0, max(-most, min(most, -exponent)))


def bind(metric: str | Dissimilarity, points: FloatArray, largest: float) -> tuple[Metric, float]:
    """Return the metric for ``points`` and the factor its coordinates must be multiplied by."""
    if callable(metric):
        name = getattr(metric, "__name__", repr(metric))
        return Metric(name, Family.CALLABLE, 0.0, 0.0, function=metric), 1.0
    name, family = metric, FAMILIES[metric]
    factor = factor_for(points.dtype, largest)
    info = np.finfo(points.dtype)
    # The columns the kernel sees; the canonical summation of distances.py errs by less than
    # (columns + 8) roundings on the squared distance, so by less than that on the distance.
    columns = 3 if name == "haversine" else points.shape[1]
    relative = 4.0 * (columns + 8) * float(info.eps)
    absolute = 8.0 * math.sqrt(columns * float(info.smallest_subnormal))
    if family is Family.ARC:
        # Unit vectors are unit only up to rounding, which moves an arc by a few eps.
        absolute += 32.0 * float(info.eps)
    scale = 1.0 if family is Family.ARC else 1.0 / factor
    return Metric(name, family, relative, absolute, scale), factor


def prepare(name: str | Dissimilarity, points: FloatArray, factor: float) -> FloatArray:
    """Return the points the kernels work on; ``points`` itself where nothing is to be done."""
    if name == "haversine":
        return _on_the_globe(points)
    if name == "angular":
        return _on_the_sphere(points)
    if factor != 1.0:
        scaled = room_for(points, points.shape, points.dtype)
        np.multiply(points, points.dtype.type(factor), out=scaled)
        return scaled
    return points


def _on_the_sphere(points: FloatArray) -> FloatArray:
    unit = room_for(points, points.shape, points.dtype)
    for lo in range(0, len(points), 4096):
        rows = points[lo : lo + 4096].astype(np.float64)
        rows /= np.abs(rows).max(axis=1, keepdims=True)
        rows /= np.sqrt((rows * rows).sum(axis=1, keepdims=True))
        unit[lo : lo + 4096] = rows
    return unit


def _on_the_globe(points: FloatArray) -> FloatArray:
    unit = room_for(points, (len(points), 3), points.dtype)
    for lo in range(0, len(points), 65_536):
        latitude, longitude = points[lo : lo + 65_536, :2].astype(np.float64).T
        rows = unit[lo : lo + 65_536]
        rows[:, 0] = np.cos(latitude) * np.cos(longitude)
        rows[:, 1] = np.cos(latitude) * np.sin(longitude)
        rows[:, 2] = np.sin(latitude)
    return unit


def prune_limits(metric: Metric, squared_gaps: FloatArray) -> FloatArray:
    """Return, per seed, the largest α² whose points need not meet the new seed.

    Lemma 1 of the paper: if d(m_j, m_new) ≥ 2·α then m_new is no nearer than m_j. With the
    rounding slack of the metric: (1 − ε)·γ − δ ≥ 2·α.
    """
    gaps = np.sqrt(squared_gaps.astype(np.float64))
    half = np.maximum(0.5 * ((1.0 - metric.relative) * gaps - metric.absolute), 0.0)
    limits = (half * half).astype(squared_gaps.dtype)
    # The conversion may round up: one step down undoes that. Zero stays: α = 0 never improves.
    zero = squared_gaps.dtype.type(0.0)
    safe: FloatArray = np.maximum(np.nextafter(limits, zero), zero)
    return safe
