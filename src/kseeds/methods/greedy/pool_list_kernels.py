"""Kernels that compare all rows with the candidates of a pool, and list those near to each.

An entry of a list is a number of 32 bits: the row in its block, and above it how far the row is
from the candidate at least, squared, in parts of 65 535 of its frozen q. See
`kseeds.methods.greedy.pool` for the bounds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kseeds.distances.metrics import FloatArray
from kseeds.distances.pair_kernels import sum_of_squares
from kseeds.runtime.aligned import aligned
from kseeds.runtime.block_sizes import BLOCK, LANES
from kseeds.runtime.compiler import inlined, kernel
from kseeds.sampling.sum_tree import Masses
from kseeds.sampling.sum_tree_kernels import sum_block
from kseeds.simd.row_products import lowest_bit, row_products

_row_products, _lowest_bit = row_products(), lowest_bit()

PARTS = 65_535
"""The largest lower bound of an entry, in parts of q."""


class Rows(NamedTuple):
    """The rows, what is known of each, and what products with them are worth.

    ``norms`` and ``mean`` are of the ``leading`` columns. ``size`` is that of a block. A computed
    squared distance errs by ``relative`` of itself, and one from products by ``epsilon`` of the
    squared norms.
    """

    points: Any
    squared: Any
    labels: Any
    weights: Any
    norms: Any
    mean: Any
    leading: Any
    size: int
    relative: float
    epsilon: float


class Factors(NamedTuple):
    """Columns as factors of rows, sixteen side by side, what is added to products, and norms.

    ``rows`` are the rows that they are.
    """

    rows: Any
    tile: Any
    added: Any
    squares: Any


class Space(NamedTuple):
    """16 rows about the mean, their limits, norms, scales and products; the lists of a block."""

    rows: Any
    limits: Any
    norms: Any
    scales: Any
    products: Any
    within: Any
    lists: Any
    counts: Any


def workspace(points: FloatArray, leading: int, columns: int, size: int) -> Space:
    """Return what `fill` needs, with room for ``size`` rows in every list."""
    return Space(
        aligned((LANES, leading), points.dtype), aligned(LANES, points.dtype),
        np.zeros(LANES), np.zeros(LANES), aligned((LANES, LANES), points.dtype),
        np.empty(LANES, dtype=np.uint16), np.empty((columns, size), dtype=np.uint32),
        np.empty(columns, dtype=np.int64),
    )  # fmt: skip


@inlined
def _norm(rows: Rows, i: int) -> float:
    """Return the squared norm of a row in the leading columns, a multiple of four."""
    even, odd = 0.0, 0.0
    for p in range(0, rows.leading.shape[0], 2):
        one = np.float64(rows.points[i, rows.leading[p]] - rows.mean[0, p])
        other = np.float64(rows.points[i, rows.leading[p + 1]] - rows.mean[0, p + 1])
        even += one * one
        odd += other * other
    return even + odd


@kernel
def start_rows(rows: Rows, centers: Any, masses: Masses, start: int, stop: int) -> None:
    """Write the squared norms of rows about the mean, compare them with centres, and sum blocks."""
    for i in range(start, stop):
        if rows.leading.shape[0] == rows.points.shape[1]:
            rows.norms[i] = sum_of_squares(rows.points, i, rows.mean, 0)
        else:
            rows.norms[i] = _norm(rows, i)
        for s in range(centers.shape[0]):
            found = sum_of_squares(rows.points, i, centers, s)
            if found < rows.squared[i]:
                rows.squared[i], rows.labels[i] = found, s
    for block in range(start // BLOCK, (stop + BLOCK - 1) // BLOCK):
        sum_block(masses, block)


@kernel
def fill(
    rows: Rows, bounds: Any, factors: Factors, block: int, space: Space, doubts: Any
) -> int:  # fmt: skip
    """List the rows of a block that may be nearer to a column than what they have; count them.

    Where there are more of them than there is room for, they are only counted.
    """
    n, d, columns = rows.points.shape[0], rows.leading.shape[0], factors.squares.shape[0]
    is_whole = d == rows.points.shape[1]
    start, shrunk, largest = block * rows.size, 1.0 - rows.epsilon, 0.0
    stop = min(n, start + rows.size)
    # Rounding of a limit is less than its two parts times the relative error, and times epsilon.
    reach, limit = 1.0 + 4.0 * rows.relative, shrunk - rows.relative
    for k in range(columns):
        space.counts[k] = 0
    for low in range(start, stop, LANES):
        size = min(LANES, stop - low)
        for r in range(LANES):
            i = low + r if r < size else low
            if is_whole:
                for j in range(d):
                    space.rows[r, j] = rows.points[i, j] - rows.mean[0, j]
            else:
                for j in range(d):
                    space.rows[r, j] = rows.points[i, rows.leading[j]] - rows.mean[0, j]
            # No product is within reach of rows that cannot come nearer.
            space.limits[r] = -np.inf
            if r < size and rows.squared[i] > 0.0:
                space.limits[r] = reach * np.float64(rows.squared[i]) - limit * rows.norms[i]
                space.norms[r] = shrunk * rows.norms[i]
                space.scales[r] = (1.0 - 3.0 * rows.relative) / np.float64(bounds[i])
            largest = rows.norms[i] if rows.norms[i] > largest else largest
        for k in range(0, columns, LANES):
            if not _row_products(
                space.rows, factors.tile, factors.added, k, space.limits, space.products,
                space.within,
            ):  # fmt: skip
                continue
            for r in range(size):
                bits = np.int64(space.within[r])
                while bits != 0:
                    column = k + _lowest_bit(bits)
                    bits &= bits - 1
                    if is_whole:
                        share = np.float64(space.products[r, column - k]) + space.norms[r]
                        share *= space.scales[r]
                    else:
                        i = low + r
                        found = sum_of_squares(rows.points, i, rows.points, factors.rows[column])
                        if found >= rows.squared[i]:
                            continue
                        share = np.float64(found) * space.scales[r]
                    code = PARTS if share >= 1.0 else (int(share * PARTS) if share > 0.0 else 0)
                    if space.counts[column] < space.lists.shape[1]:
                        space.lists[column, space.counts[column]] = (code << 16) | (low - start + r)
                    space.counts[column] += 1
    total = 0
    for k in range(columns):
        total += space.counts[k]
        doubts[block, k] = 2.02 * rows.epsilon * (largest + factors.squares[k]) if is_whole else 0.0
    return total


@kernel
def keep(space: Space, start: int, block: int, starts: Any, entries: Any) -> None:
    """Copy the lists of a block to where they are kept, from ``start`` on."""
    at, columns = start, starts.shape[1] - 1
    for k in range(columns):
        starts[block, k] = at
        for e in range(space.counts[k]):
            entries[at] = space.lists[k, e]
            at += 1
    starts[block, columns] = at
