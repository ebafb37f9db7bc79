"""Distances whose squares would vanish: computed with care, for the few rows that need it.

Everything fast works on squared distances, which underflow when a distance is less than the
square root of the smallest number of its precision: the rows then look as if they coincided. The
data as a whole is scaled so that this does not happen, but within one data set distances may
differ by more than a precision holds. Here differences are scaled first, row by row.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kseeds.distances.by_function import dissimilarities
from kseeds.distances.metrics import Family, FloatArray, Kind, Metric
from kseeds.distances.reference import squared_distances
from kseeds.runtime.threads import blocks_of

_SMALL_SQUARE = {np.dtype(np.float32): 2.0**-100, np.dtype(np.float64): 2.0**-960}
"""Squared distances below this may have lost digits, or all of them, to underflow."""

_LEAST_MASS = {np.dtype(np.float32): 2.0**-100, np.dtype(np.float64): 2.0**-900}

_TRUE_TO_ROUNDED = 2.0**16
"""How many times the mass that rounding alone can make up must be left to draw from it."""

_ENTRIES = 1 << 18
_NEVER = -(1 << 20)
"""The exponent of 0."""


def least_mass(
    squared: FloatArray, weights: npt.NDArray[np.float64] | None, metric: Metric
) -> float:
    """Return the Σ w·α² below which underflow or rounding may have left little of it true."""
    in_doubt = squared.dtype == np.float64 and weights is not None and len(squared)
    largest = float(squared.max()) if in_doubt else 1.0
    total_weight = float(len(squared)) if weights is None else float(weights.sum())
    return least_mass_for(metric, squared.dtype, largest, total_weight)


def least_mass_for(
    metric: Metric, dtype: np.dtype[Any], largest: float, total_weight: float
) -> float:
    """Return the same, for squared distances of up to ``largest``.

    Errors of underflow are below w·2⁻¹⁴⁹ a row in single and w·2⁻¹⁰⁷⁴ in double precision, and
    the largest weight is at least 1; so above this sum they are of no account. Weights of less
    than 2⁻¹⁰²² lose digits themselves, which counts where squares are large.

    Where points that should coincide are up to ``metric.snap`` apart, all rows together have up to
    the mass of that; a multiple of it is wanted, for a row to be drawn by that mass next to never.
    """
    least = _LEAST_MASS[dtype] * (max(1.0, largest) if dtype == np.float64 else 1.0)
    return max(least, _TRUE_TO_ROUNDED * total_weight * metric.snap(dtype) ** 2)


class Lengths(NamedTuple):
    """Numbers of 0 or more as mantissas times powers of two: none is too large or too small."""

    mantissas: npt.NDArray[np.float64]
    exponents: npt.NDArray[np.int64]

    @classmethod
    def of(cls, values: npt.NDArray[np.float64], shift: Any = 0) -> Lengths:
        """Return finite values, times two to the power of ``shift``."""
        mantissas, exponents = np.frexp(values)
        return cls(mantissas, np.where(mantissas > 0.0, exponents + shift, _NEVER))

    def values(self) -> npt.NDArray[np.float64]:
        """Return them as they are; what is too large is infinite."""
        with np.errstate(over="ignore", under="ignore"):
            found: npt.NDArray[np.float64] = np.ldexp(
                self.mantissas, np.clip(self.exponents, -1100, 1100)
            )
        return found

    def less_than(self, other: Lengths) -> npt.NDArray[np.bool_]:
        """Tell which are less than their counterpart."""
        less = (self.exponents < other.exponents) | (
            (self.exponents == other.exponents) & (self.mantissas < other.mantissas)
        )
        return np.asarray(less)

    def put(self, where: npt.NDArray[np.bool_], other: Lengths) -> None:
        """Replace some by their counterparts."""
        np.copyto(self.mantissas, other.mantissas, where=where)
        np.copyto(self.exponents, other.exponents, where=where)


_NORMS = {
    Family.EUCLIDEAN: lambda scaled: np.sqrt((scaled * scaled).sum(axis=1)),
    Family.MANHATTAN: lambda scaled: scaled.sum(axis=1),
    Family.CHEBYSHEV: lambda scaled: scaled.max(axis=1),
}
"""Distances that are those of scaled differences, scaled back."""


def distances(points: FloatArray, others: FloatArray, metric: Metric) -> Lengths:
    """Return the distances of rows to one row each, or all to one; 0 up to ``metric.snap``.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds.distances import underflow
    >>> from kseeds.distances.metrics import bind
    >>> points = np.array([[3e-200, 4e-200], [0.0, 0.0]])
    >>> metric, _ = bind("euclidean", points, largest=4e-200)
    >>> underflow.distances(points, np.zeros(2), metric).values()
    array([5.e-200, 0.e+000])
    """
    norm = _NORMS.get(metric.family)
    if norm is None:
        return Lengths.of(_unscaled(points, others, metric.kind))
    with np.errstate(over="ignore"):
        differences = np.abs(points.astype(np.float64) - others)
    beyond = np.isinf(differences).any(axis=1)
    if beyond.any():  # halves then; digits that this costs the smallest of them do not count
        halves = np.abs(0.5 * points.astype(np.float64) - 0.5 * others.astype(np.float64))
        differences[beyond] = halves[beyond]
    shift = np.frexp(differences.max(axis=1))[1]
    total = norm(np.ldexp(differences, -shift[:, None]))
    snap = metric.snap(points.dtype)
    if snap:
        total[np.ldexp(total, shift) <= snap] = 0.0
    return Lengths.of(total, shift + beyond)


def _unscaled(points: FloatArray, others: FloatArray, kind: Kind) -> npt.NDArray[np.float64]:
    """Return distances by a user's function, or by a kernel that makes the smallest ones 0."""
    if isinstance(kind, Family):
        return np.sqrt(squared_distances(points, others, kind).astype(np.float64))
    if others.ndim == 1:
        return dissimilarities(points, others, kind)
    pairs = zip(points[:, None], others, strict=True)
    return np.array([dissimilarities(point, other, kind)[0] for point, other in pairs])


def scaled_masses(
    lengths: Lengths, weights: npt.NDArray[np.float64] | None
) -> tuple[npt.NDArray[np.float64], int]:
    """Return w·d² of rows divided by a power of two, and its exponent: the largest is about 1."""
    masses, exponents = lengths.mantissas * lengths.mantissas, 2 * lengths.exponents
    if weights is not None:
        mantissas, more = np.frexp(weights)
        masses, exponents = masses * mantissas, exponents + more
    positive = masses > 0.0
    largest = int(exponents[positive].max()) if positive.any() else 0
    shift = np.clip(np.where(positive, exponents - largest, 0), -1100, 0)
    return np.ldexp(masses, shift), largest


def product(*factors: float, exponent: int = 0) -> float:
    """Return a product, times a power of two, that is 0 or infinite only if the result is."""
    mantissa = 1.0
    for factor in factors:
        part, more = math.frexp(factor)
        mantissa, exponent = mantissa * part, exponent + more
    try:
        return math.ldexp(mantissa, exponent)
    except OverflowError:
        return math.inf


def apart(
    values: FloatArray,
    centers: FloatArray,
    labels: npt.NDArray[np.int32],
    metric: Metric,
    rows: npt.NDArray[np.int64] | None = None,
) -> npt.NDArray[np.int64]:
    """Return which of the rows, all by default, do not coincide with the centre of their label."""
    found = []
    for lo, hi in blocks_of(
        len(values) if rows is None else len(rows), max(1, _ENTRIES // values.shape[1])
    ):
        some = np.arange(lo, hi) if rows is None else rows[lo:hi]
        mine, others = values[some], centers[labels[some]]
        if metric.family in _NORMS and not metric.snap(values.dtype):
            is_apart = (mine != others).any(axis=1)
        else:
            is_apart = distances(mine, others, metric).mantissas > 0.0
        found.append(some[is_apart])
    return np.concatenate([np.empty(0, dtype=np.int64), *found])


def nearest(
    points: FloatArray, centers: FloatArray, metric: Metric
) -> tuple[npt.NDArray[np.int32], Lengths]:
    """Return the nearest centre of every row, ties to the lowest, and its distance."""
    labels = np.zeros(len(points), dtype=np.int32)
    best = Lengths(np.ones(len(points)), np.full(len(points), -_NEVER, dtype=np.int64))
    for lo, hi in blocks_of(len(points), max(1, _ENTRIES // points.shape[1])):
        part = Lengths(best.mantissas[lo:hi], best.exponents[lo:hi])
        for j, center in enumerate(centers):
            found = distances(points[lo:hi], center, metric)
            nearer = found.less_than(part)
            part.put(nearer, found)
            labels[lo:hi][nearer] = j
    return labels, best


def small_squares(squared: FloatArray) -> npt.NDArray[np.int64]:
    """Return the places of squared distances that are too small to be trusted."""
    return np.flatnonzero(squared < squared.dtype.type(_SMALL_SQUARE[squared.dtype]))


def settle_small(
    values: FloatArray,
    centers: FloatArray,
    metric: Metric,
    small: npt.NDArray[np.int64],
    labels: npt.NDArray[np.int32],
) -> tuple[npt.NDArray[np.int64], Lengths]:
    """Put the labels of rows right whose squared distances are too small to be trusted.

    Returns those rows and their distances. Rows that coincide with their centre are not among
    them: nothing was lost there.

    Parameters
    ----------
    values, centers : ndarray
        Rows and centres in the user's units: scaling may have lost what is small beside the rest.
    metric : Metric
        The distance.
    small : ndarray
        The rows in question; see `small_squares`.
    labels : ndarray
        The nearest centres by them, changed where need be; below 0 for none.
    """
    small = small[labels[small] >= 0]
    if len(small):
        small = apart(values, centers, labels, metric, small)
    if len(small) == 0:
        return small, Lengths.of(np.empty(0))
    labels[small], found = nearest(values[small], centers, metric)
    return small, found
