"""Greedy k-means++ for a few hundred rows, where preparing a job would take longer than doing it.

The same law as `kseeds.methods.greedy`, with the random numbers of the caller's generator itself.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray
from kseeds.methods.greedy.rule import winner
from kseeds.runtime.squares import sum_of_squares

Float64Array: TypeAlias = npt.NDArray[np.float64]

_MOST = 1 << 17
"""Differences of coordinates per step, up to which this is the fastest. OpenBLAS uses no second
thread for a product of so few (its threshold is twice that), so it needs no limit."""
_ORDINARY = (1e-20, 1e20)
"""Between these, squares and products neither overflow nor underflow, in float32 either."""
_CANCELLED = 1e-6
"""Share of |x|² + |c|² below which a squared distance is not taken from it."""
_LEAST = 1e-200
"""The Σ w·α² below which underflow may dominate it."""


def is_small(X: FloatArray, weights: Float64Array | None, trials: int) -> bool:
    """Tell whether `draw` can be used: for little data, of ordinary size."""
    if X.size * trials > _MOST:
        return False
    least, most = _ORDINARY
    with np.errstate(over="ignore"):
        size = sum_of_squares(X)
    if not least < size < most:
        return False
    return weights is None or (weights.min() >= 0.0 and least < float(weights.max()) < most)


def draw(
    X: FloatArray,
    n_clusters: int,
    weights: Float64Array | None,
    random_state: np.random.RandomState,
    trials: int,
) -> list[int]:
    """Draw up to ``n_clusters`` rows; fewer if the rest coincide with them, or nearly so."""
    rows = _Rows(X)
    uniforms = random_state.random_sample((n_clusters, trials))
    if weights is None:
        indices = [int(uniforms[0, 0] * len(X))]
    else:
        indices = _rows_at(uniforms[0, :1], weights).tolist()
    squared = rows.squared(np.array(indices))[0]
    return _further(rows, squared, weights, uniforms, indices)


def _further(
    rows: _Rows,
    squared: Float64Array,
    weights: Float64Array | None,
    uniforms: Float64Array,
    indices: list[int],
) -> list[int]:
    """Take the steps after the first seed."""
    for numbers in uniforms[1:]:
        mass = squared if weights is None else weights * squared
        if float(mass.sum()) < _LEAST:
            break
        candidates = _rows_at(numbers, mass)
        found = rows.squared(candidates)
        np.minimum(found, squared, out=found)
        gained = squared - found
        gains = gained.sum(axis=1) if weights is None else np.einsum("ln,n->l", gained, weights)
        best = winner(gains.tolist())
        squared = found[best]
        indices.append(int(candidates[best]))
    return indices


class _Rows:
    """The rows as columns, since NumPy is slow on short rows; about their mean, in float64."""

    def __init__(self, X: FloatArray) -> None:
        self._columns = X.T.astype(np.float64, order="C")
        self._columns -= self._columns.mean(axis=1, keepdims=True)
        self._norms = np.einsum("dn,dn->n", self._columns, self._columns)

    def squared(self, rows: npt.NDArray[np.int64]) -> Float64Array:
        """Return the squared distance of all rows (along the second axis) to some of them.

        |x|² + |c|² − 2·x·c, but difference by difference where that would lose more than some six
        digits, or the 0 of equal rows.
        """
        centers, norms = self._columns[:, rows], self._norms + self._norms[rows][:, None]
        squared: Float64Array = (-2.0 * centers.T) @ self._columns
        squared += norms
        norms *= _CANCELLED
        near, row = np.nonzero(squared < norms)
        apart = self._columns[:, row] - centers[:, near]
        squared[near, row] = np.einsum("dp,dp->p", apart, apart)
        return squared


def _rows_at(uniforms: Float64Array, mass: Float64Array) -> npt.NDArray[np.int64]:
    """Return a row for every uniform number, each drawn in proportion to the mass."""
    reached = mass.cumsum()
    rows: npt.NDArray[np.int64] = reached.searchsorted(uniforms * reached[-1], side="right")
    if rows.max() == len(mass):  # rounding, at most once in 2⁵³ draws
        rows = np.minimum(rows, np.flatnonzero(mass)[-1])
    return rows
