"""The table of metrics: one record each, with its embedding, its kernel and its rounding error.

A haversine distance, say, is the arc between two points of the unit sphere: latitude and longitude
are embedded as unit vectors once, and share the kernel of the angular metric. All code inside
works on *squared* distances of prepared points.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kseeds.distances.embeddings import GLOBE, UNIT_VECTORS, Embedding
from kseeds.distances.sparse_rows import Points, SparseRows
from kseeds.runtime.memmap import empty_stored_like

FloatArray: TypeAlias = npt.NDArray[Any]
"""A float32 or float64 array."""


Dissimilarity: TypeAlias = Callable[[FloatArray, FloatArray], float]
"""A user's function of two rows."""


class Family(IntEnum):
    """The distance kernels: which function computes the distance of two prepared points."""

    EUCLIDEAN = 0
    MANHATTAN = 1
    CHEBYSHEV = 2
    ARC = 3
    CALLABLE = 4


SAME_DIRECTION = 4.0
"""Unit vectors that differ by at most this many eps differ by rounding only."""


Kind: TypeAlias = Family | Dissimilarity
"""What the NumPy code needs to compute a distance: a family, or the user's function."""


@dataclass(frozen=True)
class Definition:
    """All that is particular to a metric.

    Attributes
    ----------
    family : Family
        Which kernel computes it.
    embedding : Embedding or None
        How rows are mapped to points before the kernel; None if they are used as they are.
    slack : float
        Absolute rounding error of a distance beyond that of the kernel itself, in eps: the norms
        of unit vectors are 1 only up to rounding.
    snap : float
        Distances of up to this many eps may be nothing but rounding of the embedding. In the
        kernels they are small, not 0. When Σ w·α² may consist of nothing else, the kernels stop,
        and `kseeds.methods.completion` goes on with such distances replaced by 0.
    shows_bad_values : bool
        Whether every NaN, infinity or overflow makes the distance NaN or infinite; then values
        need not be checked beforehand.
    sparse : bool
        Whether `kseeds.distances.sparse_reference` has it.
    """

    family: Family
    embedding: Embedding | None = None
    slack: float = 0.0
    snap: float = 0.0
    shows_bad_values: bool = False
    sparse: bool = False


METRICS = {
    "euclidean": Definition(Family.EUCLIDEAN, shows_bad_values=True, sparse=True),
    "manhattan": Definition(Family.MANHATTAN, shows_bad_values=True),
    "chebyshev": Definition(Family.CHEBYSHEV),
    "cosine": Definition(Family.EUCLIDEAN, UNIT_VECTORS, snap=SAME_DIRECTION, sparse=True),
    "angular": Definition(Family.ARC, UNIT_VECTORS, slack=32.0, sparse=True),
    "haversine": Definition(Family.ARC, GLOBE, slack=32.0),
}
"""The metrics by name. A new one is a line here and a row in the README."""

_FUNCTION = Definition(Family.CALLABLE)


def definition_of(metric: str | Dissimilarity) -> Definition:
    """Return the record of a metric; a function has its own, whatever its name."""
    return _FUNCTION if callable(metric) else METRICS[metric]


# Squares must neither overflow nor underflow. Inside these exponents of the largest value no
# scaling is needed; outside, the data is multiplied by a power of two, which is exact.
_SAFE_EXPONENTS = {np.dtype(np.float32): (-20, 40), np.dtype(np.float64): (-300, 400)}
_LARGEST_SHIFT = {np.dtype(np.float32): 120, np.dtype(np.float64): 1000}
"""Exponents of powers of two that, like their reciprocals, are normal numbers of the precision."""


@dataclass(frozen=True)
class Metric:
    """A metric bound to the shape and precision of the data.

    Attributes
    ----------
    name : str
        The name that the user passed, or that of the function.
    family : Family
        Which kernel computes it.
    relative, absolute : float
        Rounding slack on a distance. If a bound derived from the triangle inequality holds
        with this much to spare, it holds for the *computed* distances too, so that rounding
        can only cost an extra distance computation, never change a result.
    function : callable or None
        The user's function, if the metric is one.
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
        """The ``metric`` argument of the user: a name, or a function (whose name may be any)."""
        return self.name if self.function is None else self.function

    @property
    def definition(self) -> Definition:
        """The record of the metric, which does not depend on the data."""
        return definition_of(self.given)

    @property
    def is_embedded(self) -> bool:
        """Whether the kernels work on embedded points, not just on scaled rows."""
        return self.definition.embedding is not None

    def snap(self, dtype: np.dtype[Any]) -> float:
        """Return the distance up to which points of this precision are taken to coincide."""
        return self.definition.snap * float(np.finfo(dtype).eps)

    @property
    def kernel_family(self) -> int | None:
        """The argument of kernels: None for Euclidean, so that no other family is compiled."""
        return None if self.family is Family.EUCLIDEAN else int(self.family)

    @property
    def kind(self) -> Kind:
        """The user's function, or else the family."""
        return self.family if self.function is None else self.function


def factor_for(dtype: np.dtype[Any], largest: float) -> float:
    """Return the power of two to scale by so that squares are safe; 1 for ordinary values."""
    low, high = _SAFE_EXPONENTS[dtype]
    exponent = math.frexp(largest)[1]
    if largest == 0.0 or low <= exponent <= high:
        return 1.0
    most = _LARGEST_SHIFT[dtype]
    return math.ldexp(1.0, max(-most, min(most, -exponent)))


def bind(metric: str | Dissimilarity, points: Points, largest: float) -> tuple[Metric, float]:
    """Return the metric for ``points`` and the factor its coordinates must be multiplied by."""
    if callable(metric):
        name = getattr(metric, "__name__", repr(metric))
        return Metric(name, Family.CALLABLE, 0.0, 0.0, function=metric), 1.0
    definition = METRICS[metric]
    embedding = definition.embedding
    factor = factor_for(points.dtype, largest)
    info = np.finfo(points.dtype)
    # The summation of `kseeds.simd.lane_order` errs by less than (columns + 8) roundings on the
    # squared distance, so by less than that on the distance.
    columns = points.shape[1] if embedding is None else embedding.columns or points.shape[1]
    relative = 4.0 * (columns + 8) * float(info.eps)
    absolute = 8.0 * math.sqrt(columns * float(info.smallest_subnormal))
    absolute += definition.slack * float(info.eps)
    scale = 1.0 / factor if embedding is None else 1.0
    return Metric(metric, definition.family, relative, absolute, scale), factor


def prepare(metric: str | Dissimilarity, points: Points, factor: float) -> Points:
    """Return the points that kernels work on: embedded, scaled, or ``points`` itself."""
    embedding = definition_of(metric).embedding
    if embedding is not None:
        return embedding.points(points)
    if factor != 1.0 and isinstance(points, SparseRows):
        return points.with_entries(points.entries * points.dtype.type(factor)).without_zeros()
    if factor != 1.0:
        scaled = empty_stored_like(points, points.shape, points.dtype)
        np.multiply(points, points.dtype.type(factor), out=scaled)
        return scaled
    return points


def prune_limits(metric: Metric, squared_distances: FloatArray) -> FloatArray:
    """Return, per seed, the largest α² whose points need no comparison with the new seed.

    Lemma 1 of the paper: if d(m_j, m_new) ≥ 2·α then m_new is no nearer than m_j. With the
    rounding slack of the metric: (1 − ε)·γ − δ ≥ 2·α.
    """
    between = np.sqrt(squared_distances.astype(np.float64))
    half = np.maximum(0.5 * ((1.0 - metric.relative) * between - metric.absolute), 0.0)
    limits = (half * half).astype(squared_distances.dtype)
    # The conversion may round up; one step down undoes that. 0 stays 0: α = 0 cannot decrease.
    zero = squared_distances.dtype.type(0.0)
    safe: FloatArray = np.maximum(np.nextafter(limits, zero), zero)
    return safe
