"""What the vector instructions of `kseeds.vectors` do, in NumPy: for runs without a compiler.

Used with ``NUMBA_DISABLE_JIT=1``, when coverage is measured or a kernel is debugged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kseeds.distances import _lane_sum
from kseeds.layout import COLUMNS, LANES


def box_sums(
    lower: Any, upper: Any, t: int, T: Any, first: int, added: int, near: Any, far: Any
) -> Any:
    """See `kseeds.vectors.columns.box_sums`."""
    d = lower.shape[1]
    columns = T[:, first : first + COLUMNS]
    below, above = lower[t][:, None] - columns, columns - upper[t][:, None]
    gap = np.maximum(np.maximum(below, above), 0.0)
    across = np.maximum(-below, -above)
    if added:
        across[d - 1] = upper[t, d - 1] + columns[d - 1]
    near[first : first + COLUMNS] = (gap * gap).sum(axis=0)
    far[first : first + COLUMNS] = (across * across).sum(axis=0)
    return far[first : first + COLUMNS].min()


def _silent() -> np.errstate:
    """Compiled code does not warn of overflow, so neither do its stand-ins."""
    return np.errstate(over="ignore", invalid="ignore")


def weighted_sum(values: Any, weights: Any, start: int, stop: int) -> Any:
    """See `kseeds.vectors.rows.weighted_sum`."""
    part = values[start:stop].astype(np.float64)
    with _silent():
        return float(part.sum() if len(weights) == 0 else part @ weights[start:stop])


def lane_sum(term: str) -> Callable[..., Any]:
    """See `kseeds.vectors.rows.lane_sum`."""
    terms: Callable[[Any, Any], Any] = {
        "square": lambda a, b: np.square(a - b),
        "abs": lambda a, b: np.abs(a - b),
        "square_of_sum": lambda a, b: np.square(a + b),
        "max_abs": lambda a, b: np.abs(a - b),
    }[term]

    def interpreted(A: Any, i: int, B: Any, j: int) -> Any:
        with _silent():
            values = terms(A[i], B[j])
            return values.max() if term == "max_abs" else _lane_sum(values[None, :])[0]

    return interpreted


def column_sums(A: Any, i: int, T: Any, first: int, limits: Any, out: Any) -> bool:
    """See `kseeds.vectors.columns.column_sums`."""
    flat, width = T.reshape(-1), T.shape[1]
    out[:] = 0.0
    with _silent():
        for j in range(A.shape[1]):
            at = j * width + first
            out += np.square(A[i, j] - flat[at : at + COLUMNS])
    return bool((out < limits).any())


def meet_pair(
    A: Any, i: int, k: int, T: Any, first: int, number_i: int, number_k: int, best: Any, near: Any
) -> None:
    """See `kseeds.vectors.columns.meet_pair`."""
    sums = np.empty_like(best)
    for row, number in ((i, number_i), (k, number_k)):
        column_sums(A, row, T, first, best, sums)
        nearer = (sums < best) | ((sums == best) & (number < near))
        best[nearer], near[nearer] = sums[nearer], number


def group_minima(tile: Any, T: Any, first: int, limits: Any, all: Any, least: Any, g: int) -> None:
    """See `kseeds.vectors.columns.group_minima`."""
    totals = np.zeros((LANES, COLUMNS), tile.dtype)
    with _silent():
        for j in range(len(tile)):
            totals += np.square(T[j, first : first + LANES, None] - tile[j])
    all[g * LANES : (g + 1) * LANES], least[g] = totals, totals.min(axis=0)
