"""Greedy k-means++ for a few hundred rows, where preparing a job would take longer than doing it.

The same law as `kseeds.methods.greedy`, with the random numbers of the caller's generator itself.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray
from kseeds.methods.greedy.rule import winner

Float64Array: TypeAlias = npt.NDArray[np.float64]

_MOST = 1 << 17
"""Differences of coordinates per step, up to which this is the fastest."""
_ORDINARY = (1e-20, 1e20)
"""Between these, squares and products neither overflow nor underflow, in float32 either."""
_LEAST = 1e-200
"""The Σ w·α² below which underflow may dominate it."""


def is_small(X: FloatArray, weights: Float64Array | None, trials: int) -> bool:
    """Tell whether `draw` can be used: for little data, of ordinary size."""
    if X.size * trials > _MOST:
        return False
    flat = X.reshape(-1)
    least, most = _ORDINARY
    with np.errstate(over="ignore"):
        size = float(flat @ flat)
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
    columns = np.ascontiguousarray(X.T, dtype=np.float64)  # NumPy is slow on short rows
    uniforms = random_state.random_sample((n_clusters, trials))
    if weights is None:
        indices = [int(uniforms[0, 0] * len(X))]
    else:
        indices = _rows_at(uniforms[0, :1], weights).tolist()
    squared = _squared(columns, np.array(indices))[0]
    for numbers in uniforms[1:]:
        mass = squared if weights is None else weights * squared
        if float(mass.sum()) < _LEAST:
            break
        candidates = _rows_at(numbers, mass)
        found = _squared(columns, candidates)
        np.minimum(found, squared, out=found)
        gained = squared - found
        gains = gained.sum(axis=1) if weights is None else gained @ weights
        best = winner(gains.tolist())
        squared = found[best]
        indices.append(int(candidates[best]))
    return indices


def _squared(columns: Float64Array, rows: npt.NDArray[np.int64]) -> Float64Array:
    """Return the squared distance of all rows (along the second axis) to some of them."""
    differences = columns[:, None, :] - columns[:, rows][:, :, None]
    squared: Float64Array = np.einsum("dln,dln->ln", differences, differences)
    return squared


def _rows_at(uniforms: Float64Array, mass: Float64Array) -> npt.NDArray[np.int64]:
    """Return a row for every uniform number, each drawn in proportion to the mass."""
    reached = mass.cumsum()
    rows: npt.NDArray[np.int64] = reached.searchsorted(uniforms * reached[-1], side="right")
    if rows.max() == len(mass):  # rounding, at most once in 2⁵³ draws
        rows = np.minimum(rows, np.flatnonzero(mass)[-1])
    return rows
