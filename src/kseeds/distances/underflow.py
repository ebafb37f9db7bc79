"""Distances whose squares underflow, for the few rows that need them.

The kernels work on squared distances, which underflow for distances below the square root of the
smallest number of their precision: such rows look as if they coincided. The data is scaled as a
whole to avoid this, but one data set may contain distances of a wider range than the squares of
its precision. Here every difference is scaled on its own before it is squared.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kseeds.distances.by_function import dissimilarities
from kseeds.distances.metrics import Family, FloatArray, Kind, Metric
from kseeds.distances.reference import squared_distances
from kseeds.distances.sparse_reference import differences
from kseeds.distances.sparse_rows import Points, SparseRows, entries_per_row
from kseeds.runtime.threads import blocks_of

_SMALL_SQUARE = {np.dtype(np.float32): 2.0**-100, np.dtype(np.float64): 2.0**-960}
"""Squared distances below this may have lost digits to underflow, or be 0 because of it."""

_LEAST_MASS = {np.dtype(np.float32): 2.0**-100, np.dtype(np.float64): 2.0**-900}

_TRUE_TO_ROUNDED = 2.0**16
"""Σ w·α² must exceed what rounding alone can contribute by this factor to be drawn from."""

_ENTRIES = 1 << 18
_NEVER = -(1 << 20)
"""The exponent of 0."""


def least_mass(
    squared: FloatArray, weights: npt.NDArray[np.float64] | None, metric: Metric
) -> float:
    """Return the Σ w·α² below which underflow or rounding may dominate it."""
    in_doubt = squared.dtype == np.float64 and weights is not None and len(squared)
    largest = float(squared.max()) if in_doubt else 1.0
    total_weight = float(len(squared)) if weights is None else float(weights.sum())
    return least_mass_for(metric, squared.dtype, largest, total_weight)


def least_mass_for(
    metric: Metric, dtype: np.dtype[Any], largest: float, total_weight: float
) -> float:
    """Return `least_mass`, given a bound of the squared distances and the sum of the weights.

    Errors of underflow are below w·2⁻¹⁴⁹ per row in single and w·2⁻¹⁰⁷⁴ in double precision, and
    the largest weight is at least 1; so they are negligible in any sum above the result. Weights
    below 2⁻¹⁰²² lose digits themselves, which matters where squares are large.

    Points that should coincide may be up to ``metric.snap`` apart, so Σ w·snap² may be nothing but
    rounding. The sum must be a large multiple of it, so that such a row is almost never drawn.
    """
    least = _LEAST_MASS[dtype] * (max(1.0, largest) if dtype == np.float64 else 1.0)
    return max(least, _TRUE_TO_ROUNDED * total_weight * metric.snap(dtype) ** 2)


class Lengths(NamedTuple):
    """Non-negative numbers as mantissas and exponents of two, which cannot over- or underflow."""

    mantissas: npt.NDArray[np.float64]
    exponents: npt.NDArray[np.int64]

    @classmethod
    def of(cls, values: npt.NDArray[np.float64], shift: Any = 0) -> Lengths:
        """Return finite ``values`` times 2**``shift``."""
        mantissas, exponents = np.frexp(values)
        return cls(mantissas, np.where(mantissas > 0.0, exponents + shift, _NEVER))

    def values(self) -> npt.NDArray[np.float64]:
        """Return them as float64; too large ones are infinite."""
        with np.errstate(over="ignore", under="ignore"):
            found: npt.NDArray[np.float64] = np.ldexp(
                self.mantissas, np.clip(self.exponents, -1100, 1100)
            )
        return found

    def less_than(self, other: Lengths) -> npt.NDArray[np.bool_]:
        """Return, element by element, whether self is less than other."""
        less = (self.exponents < other.exponents) | (
            (self.exponents == other.exponents) & (self.mantissas < other.mantissas)
        )
        return np.asarray(less)

    def put(self, where: npt.NDArray[np.bool_], other: Lengths) -> None:
        """Replace the elements selected by ``where`` with those of ``other``."""
        np.copyto(self.mantissas, other.mantissas, where=where)
        np.copyto(self.exponents, other.exponents, where=where)


_NORMS = {
    Family.EUCLIDEAN: lambda scaled: np.sqrt((scaled * scaled).sum(axis=1)),
    Family.MANHATTAN: lambda scaled: scaled.sum(axis=1),
    Family.CHEBYSHEV: lambda scaled: scaled.max(axis=1),
}
"""The families that are norms of differences, so that differences can be scaled first."""


def distances(points: Points, others: Points, metric: Metric) -> Lengths:
    """Return the distances of rows to ``others``, one row or one per row; 0 up to ``metric.snap``.

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
    if norm is not None and isinstance(points, SparseRows):
        return _of_sparse(points, others, metric)
    if norm is None:
        return Lengths.of(_unscaled(points, others, metric.kind))
    with np.errstate(over="ignore"):
        differences = np.abs(points.astype(np.float64) - others)
    beyond = np.isinf(differences).any(axis=1)
    if beyond.any():  # the difference overflows: halve both; only negligible digits are lost
        halves = np.abs(0.5 * points.astype(np.float64) - 0.5 * others.astype(np.float64))
        differences[beyond] = halves[beyond]
    shift = np.frexp(differences.max(axis=1))[1]
    total = norm(np.ldexp(differences, -shift[:, None]))
    snap = metric.snap(points.dtype)
    if snap:
        total[np.ldexp(total, shift) <= snap] = 0.0
    return Lengths.of(total, shift + beyond)


def _of_sparse(points: SparseRows, others: SparseRows, metric: Metric) -> Lengths:
    """Do what `distances` does for the Euclidean distance of sparse rows."""
    n = len(points)
    if len(others) == 1 != n:
        others = others[np.zeros(n, dtype=np.int64)]
    with np.errstate(over="ignore"):
        pairs, entries = differences(points, others)
    beyond = np.zeros(n, dtype=bool)
    beyond[pairs[np.isinf(entries)]] = True
    if beyond.any():  # as above
        mine, theirs = (
            rows.with_entries(0.5 * rows.entries.astype(np.float64)) for rows in (points, others)
        )
        entries = np.where(beyond[pairs], differences(mine, theirs)[1], entries)
    entries = np.abs(entries)
    largest = np.zeros(n)
    np.maximum.at(largest, pairs, entries)
    shift = np.frexp(largest)[1]
    scaled = np.ldexp(entries, -shift[pairs])
    total = np.sqrt(np.bincount(pairs, scaled * scaled, minlength=n))
    snap = metric.snap(points.dtype)
    if snap:
        total[np.ldexp(total, shift) <= snap] = 0.0
    return Lengths.of(total, shift + beyond)


def _unscaled(points: Points, others: Points, kind: Kind) -> npt.NDArray[np.float64]:
    """Return distances by a user's function, or by a family that is not a norm."""
    if isinstance(kind, Family):
        return np.sqrt(squared_distances(points, others, kind).astype(np.float64))
    if others.ndim == 1:
        return dissimilarities(points, others, kind)
    pairs = zip(points[:, None], others, strict=True)
    return np.array([dissimilarities(point, other, kind)[0] for point, other in pairs])


def scaled_masses(
    lengths: Lengths, weights: npt.NDArray[np.float64] | None, exponent: int | None = None
) -> tuple[npt.NDArray[np.float64], int]:
    """Return w·d² divided by a power of two, and the exponent of that power.

    By default the largest quotient is about 1. A given ``exponent`` must be at least as large as
    the default one would be.
    """
    masses, exponents = lengths.mantissas * lengths.mantissas, 2 * lengths.exponents
    if weights is not None:
        mantissas, more = np.frexp(weights)
        masses, exponents = masses * mantissas, exponents + more
    positive = masses > 0.0
    largest = exponent
    if largest is None:
        largest = int(exponents[positive].max()) if positive.any() else 0
    shift = np.clip(np.where(positive, exponents - largest, 0), -1100, 0)
    return np.ldexp(masses, shift), largest


def product(*factors: float, exponent: int = 0) -> float:
    """Return the product of ``factors`` and 2**``exponent``; no partial product overflows."""
    mantissa = 1.0
    for factor in factors:
        part, more = math.frexp(factor)
        mantissa, exponent = mantissa * part, exponent + more
    try:
        return math.ldexp(mantissa, exponent)
    except OverflowError:
        return math.inf


def not_coinciding(
    values: Points,
    centers: Points,
    labels: npt.NDArray[np.int32],
    metric: Metric,
    rows: npt.NDArray[np.int64] | None = None,
) -> npt.NDArray[np.int64]:
    """Return the rows (among ``rows``, or all) that do not coincide with their labelled centre."""
    found = []
    for lo, hi in blocks_of(len(values) if rows is None else len(rows), _rows_at_once(values)):
        some = np.arange(lo, hi) if rows is None else rows[lo:hi]
        if isinstance(values, SparseRows):
            mine, others = values[some], centers[labels[some]]
        else:
            mine, others = values.take(some, axis=0), centers.take(labels[some], axis=0)
        by_entry = metric.family in _NORMS and not metric.snap(values.dtype)
        if by_entry and not isinstance(values, SparseRows):
            differs = mine != others
            if not differs.any():  # mostly; asking every row takes several times as long
                continue
            differ = differs.any(axis=1)
        else:
            differ = distances(mine, others, metric).mantissas > 0.0
        found.append(some[differ])
    return np.concatenate([np.empty(0, dtype=np.int64), *found])


def _rows_at_once(points: Points) -> int:
    return max(1, int(_ENTRIES // entries_per_row(points)))


def nearest(
    points: Points, centers: Points, metric: Metric
) -> tuple[npt.NDArray[np.int32], Lengths]:
    """Return the nearest centre of every row, ties to the lowest index, and its distance."""
    labels = np.zeros(len(points), dtype=np.int32)
    best = Lengths(np.ones(len(points)), np.full(len(points), -_NEVER, dtype=np.int64))
    for lo, hi in blocks_of(len(points), _rows_at_once(points)):
        part = Lengths(best.mantissas[lo:hi], best.exponents[lo:hi])
        for j, center in enumerate(centers):
            found = distances(points[lo:hi], center, metric)
            nearer = found.less_than(part)
            part.put(nearer, found)
            labels[lo:hi][nearer] = j
    return labels, best


def small_squares(squared: FloatArray) -> npt.NDArray[np.int64]:
    """Return the indices of squared distances that underflow may have changed."""
    return np.flatnonzero(squared < squared.dtype.type(_SMALL_SQUARE[squared.dtype]))


def relabel_underflowed(
    values: Points,
    centers: Points,
    metric: Metric,
    small: npt.NDArray[np.int64],
    labels: npt.NDArray[np.int32],
) -> tuple[npt.NDArray[np.int64], Lengths]:
    """Recompute the labels of rows whose squared distances underflow may have changed.

    Returns those rows and their distances. Rows that coincide with their centre are left out:
    their distance of 0 is right.

    Parameters
    ----------
    values, centers : ndarray
        Rows and centres in the user's units: scaling may have made small values underflow.
    metric : Metric
        The distance.
    small : ndarray
        The rows to recompute; see `small_squares`.
    labels : ndarray
        The labels from the squared distances, corrected in place; negative for none.
    """
    small = small[labels[small] >= 0]
    if len(small):
        small = not_coinciding(values, centers, labels, metric, small)
    if len(small) == 0:
        return small, Lengths.of(np.empty(0))
    labels[small], found = nearest(values[small], centers, metric)
    return small, found
