"""Plain, independent answers: no code of kseeds, no cleverness, more digits.

Distances are computed in extended precision, whose exponents also hold the squares of the
largest and the smallest float64; `exact_squared` does the same in fractions, without any
rounding, and watches over it in ``test_oracle``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

LONG = np.longdouble


def _lengths(rows: np.ndarray) -> np.ndarray:
    return np.sqrt((rows * rows).sum(axis=-1, keepdims=True))


def _direction(rows: np.ndarray) -> np.ndarray:
    rows = rows / np.abs(rows).max(axis=-1, keepdims=True)
    return rows / _lengths(rows)


def _place(rows: np.ndarray) -> np.ndarray:
    latitude, longitude = rows[..., 0], rows[..., 1]
    across = np.cos(latitude)
    return np.stack(
        [across * np.cos(longitude), across * np.sin(longitude), np.sin(latitude)], axis=-1
    )


def _angle(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return 2 * np.arctan2(_lengths(a - b), _lengths(a + b))[:, 0]


class Formula(NamedTuple):
    """The distance of rows to a centre; and the columns of unit vectors, where those come first."""

    of: Callable[[np.ndarray, np.ndarray], np.ndarray]
    on_a_sphere: bool = False
    columns: int | None = None


FORMULAS = {
    "euclidean": Formula(lambda x, c: _lengths(x - c)[:, 0]),
    "manhattan": Formula(lambda x, c: np.abs(x - c).sum(axis=1)),
    "chebyshev": Formula(lambda x, c: np.abs(x - c).max(axis=1)),
    "cosine": Formula(lambda x, c: _lengths(_direction(x) - _direction(c))[:, 0], on_a_sphere=True),
    "angular": Formula(lambda x, c: _angle(_direction(x), _direction(c)), on_a_sphere=True),
    "haversine": Formula(lambda x, c: _angle(_place(x), _place(c)), on_a_sphere=True, columns=3),
}
"""Every metric, from its definition; a new one needs its formula here."""


def is_on_a_sphere(metric: Any) -> bool:
    """Tell whether unit vectors, which are rounded, come before the distances."""
    return not callable(metric) and FORMULAS[metric].on_a_sphere


def distances(X: np.ndarray, centers: np.ndarray, metric: Any) -> np.ndarray:
    """Return the distance of every row to every centre, shape (n, m), in long double."""
    if callable(metric):
        table = [[metric(x, c) for c in centers] for x in X]
        return np.array(table, dtype=LONG).reshape(len(X), len(centers))
    X, centers = X.astype(LONG), centers.astype(LONG)
    out = np.empty((len(X), len(centers)), dtype=LONG)
    for j, center in enumerate(centers):
        out[:, j] = FORMULAS[metric].of(X, center)
    return out


def exact_squared(x: np.ndarray, center: np.ndarray, metric: str) -> Fraction:
    """Return the squared distance of two rows as a fraction, rounded nowhere."""
    gaps = [abs(Fraction(float(a)) - Fraction(float(b))) for a, b in zip(x, center, strict=True)]
    if metric == "euclidean":
        return sum((gap * gap for gap in gaps), Fraction(0))
    total = sum(gaps, Fraction(0)) if metric == "manhattan" else max(gaps)
    return total * total


def first_nearest(X: np.ndarray, centers: np.ndarray, metric: str) -> list[int]:
    """Return the nearest centre of every row, ties to the lowest index, exactly."""
    labels = []
    for x in X:
        table = [exact_squared(x, c, metric) for c in centers]
        labels.append(table.index(min(table)))
    return labels


def slack(X: np.ndarray, centers: np.ndarray, metric: Any) -> tuple[float, LONG]:
    """Return how far a computed distance may be off: a share of it, and beside that an amount."""
    eps = float(np.finfo(X.dtype).eps)
    if callable(metric):
        return 4 * eps, LONG(0)
    relative = ((FORMULAS[metric].columns or X.shape[1]) + 8) * eps
    if is_on_a_sphere(metric):
        return relative, LONG(32 * eps)
    # The last digit of a subnormal number is as coarse as the number is small.
    last_digit = LONG(np.finfo(X.dtype).smallest_subnormal)
    return relative, last_digit


def _largest(rows: np.ndarray) -> Any:
    return np.abs(rows.astype(LONG)).max(initial=0)


def is_exact(X: np.ndarray, centers: np.ndarray, metric: Any) -> bool:
    """Tell whether no distance of small whole numbers can be rounded, so that ties are ties."""
    if callable(metric) or is_on_a_sphere(metric):
        return False
    both = np.concatenate([X, centers])
    if not (both == np.rint(both)).all():
        return False
    reach = 2 * float(_largest(both)) * (X.shape[1] if metric == "manhattan" else 1)
    return reach * reach * X.shape[1] < 2.0 ** np.finfo(X.dtype).nmant


def check_nearest(
    X: np.ndarray,
    centers: np.ndarray,
    metric: Any,
    labels: np.ndarray,
    found: np.ndarray,
) -> np.ndarray:
    """Refuse labels and distances that are not admissible; return the true distances.

    A label is admissible if its centre is nearest up to rounding, and if no earlier centre has
    the same coordinates; where no rounding can occur, only the first of the nearest is.
    """
    table = distances(X, centers, metric)
    rows = np.arange(len(X))
    assert labels.shape == (len(X),)
    assert labels.dtype == np.int32
    assert ((labels >= 0) & (labels < len(centers))).all(), f"no such centres: {labels}"
    relative, absolute = slack(X, centers, metric)
    nearest = table.min(axis=1)
    mine = table[rows, labels]
    wrong = np.flatnonzero(mine > nearest * (1 + 4 * relative) + 4 * absolute)
    assert len(wrong) == 0, (
        f"rows {wrong[:5]} are labelled {labels[wrong[:5]]} at {mine[wrong[:5]]}, but "
        f"{table.argmin(axis=1)[wrong[:5]]} are at {nearest[wrong[:5]]}"
    )
    first_of_equals = np.array([np.flatnonzero((centers == c).all(axis=1))[0] for c in centers])
    late = np.flatnonzero(first_of_equals[labels] != labels)
    assert len(late) == 0, (
        f"rows {late[:5]} are labelled {labels[late[:5]]}, but the equal centres "
        f"{first_of_equals[labels[late[:5]]]} come first"
    )
    if is_exact(X, centers, metric):
        first = (table == nearest[:, None]).argmax(axis=1)  # long double is exact here, too
        np.testing.assert_array_equal(labels, first, "ties must go to the lowest index")
    assert found.dtype == X.dtype
    most = LONG(np.finfo(X.dtype).max)
    off = np.abs(found.astype(LONG) - mine) > mine * 4 * relative + 4 * absolute
    off &= ~(np.isinf(found) & (mine * (1 + relative) >= most))
    assert not off.any(), f"distances {found[off][:5]} should be {mine[off][:5]}"
    return mine


def check_potential(
    potential: float,
    true: np.ndarray,
    weights: np.ndarray | None,
    slack: tuple[float, LONG],
) -> None:
    """Refuse a potential that is not the sum of weight times squared distance."""
    weight = LONG(1) if weights is None else weights.astype(LONG)
    wanted = (weight * true * true).sum()
    relative, absolute = slack
    absolute = 4 * absolute
    room = (weight * absolute * (2 * true + absolute)).sum() + wanted * 16 * relative
    room += LONG(np.finfo(np.float64).smallest_subnormal)
    assert isinstance(potential, float)
    if wanted + room >= LONG(np.finfo(np.float64).max) and math.isinf(potential):
        return
    assert abs(LONG(potential) - wanted) <= room, f"potential {potential!r} should be {wanted!r}"


def distinct(rows: np.ndarray) -> int:
    """Return how many different points there are."""
    return len({tuple((row + 0.0).tolist()) for row in rows})
