"""Nearest centres from a table of scalar products, whose doubts are settled row by row.

Entry (k, b) of the table is −2·c_k·x_b; with ``shifts[k]`` ≈ |c_k|² and ``low[b]`` ≈ |x_b|², both
rounded down, their sum is a lower bound of |x_b − c_k|². See `kseeds.nearest.gemm` for the bounds.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from kseeds.distances.pair_kernels import sum_of_squares
from kseeds.runtime.aligned import aligned
from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.compiler import inlined, kernel
from kseeds.simd.tables import column_minima

_column_minima = column_minima()


class Products(NamedTuple):
    """A table of products, centres by rows, and what makes its entries lower bounds."""

    table: Any
    shifts: Any
    low: Any
    slack: Any
    relative: float
    stretch: float


class Workspace(NamedTuple):
    """The two least entries of 64 columns, and the row of the least; one limit."""

    least: Any
    next_least: Any
    at: Any
    limit: Any


def workspace(dtype: np.dtype[Any]) -> Workspace:
    """Return what `settle_block` needs."""
    least, next_least, limit = aligned((3, COLUMNS), dtype)
    return Workspace(least, next_least, aligned(COLUMNS, np.int32), limit)


@kernel
def squared_distances_to(rows: Any, mean: Any, out: Any) -> None:
    """Write the squared distances of the rows to ``mean``, a single row."""
    for b in range(rows.shape[0]):
        out[b] = sum_of_squares(rows, b, mean, 0)


@inlined
def _set_limit(products: Products, b: int, squared: float, limit: Any) -> None:
    """Set the largest entry of a centre that may be as near as ``squared``."""
    distance = math.sqrt(np.float64(squared) * (1.0 + products.relative))
    distance = distance * products.stretch + products.slack[b]
    limit[0] = distance * distance - products.low[b]
    limit[0] = np.nextafter(limit[0], limit.dtype.type(np.inf))


@kernel
def settle_block(
    points: Any, centers: Any, products: Products, start: int, count: int, number: int,
    squared: Any, labels: Any, space: Workspace,
) -> int:  # fmt: skip
    """Compare ``count`` rows from ``start`` on with ``centers``, numbered from ``number``.

    Overwrites ``squared`` and ``labels`` where a centre is strictly nearer, ties to the lowest
    number. Returns how many distances of whole rows were computed.
    """
    limit, table, computed = space.limit, products.table, 0
    for first in range(0, count, COLUMNS):
        _column_minima(table, first, products.shifts, space.least, space.next_least, space.at)
        for b in range(first, first + COLUMNS if first + COLUMNS < count else count):
            i, c = start + b, b - first
            best, near = squared[i], -1  # ties with what the row had before change nothing
            _set_limit(products, b, best, limit)
            if space.least[c] > limit[0]:
                continue
            promising = space.at[c]
            computed += 1
            exact = sum_of_squares(points, i, centers, promising)
            if exact < best:
                best, near = exact, promising
                _set_limit(products, b, best, limit)
            if space.next_least[c] <= limit[0]:
                for k in range(table.shape[0]):
                    if table[k, b] + products.shifts[k] > limit[0] or k == promising:
                        continue
                    computed += 1
                    exact = sum_of_squares(points, i, centers, k)
                    if exact < best or (exact == best and k < near):
                        best, near = exact, k
                        _set_limit(products, b, best, limit)
            if near >= 0:
                squared[i], labels[i] = best, number + near
    return computed
