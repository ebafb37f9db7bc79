"""Rows compared with the centres they were not compared with yet, 64 rows at a time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kseeds.distances.metrics import FloatArray
from kseeds.distances.pair_kernels import squared_distance
from kseeds.nearest.state import Rows
from kseeds.runtime.aligned import aligned
from kseeds.runtime.block_sizes import COLUMNS, LANES, place_of
from kseeds.runtime.compiler import WIDE_REGISTERS, inlined, kernel
from kseeds.simd.columns import column_sums
from kseeds.simd.tables import keep_nearer
from kseeds.simd.transposed import transpose_block, transpose_few

squares = column_sums()
_keep_nearer = keep_nearer()
_transpose_block = transpose_block()
_transpose_few = transpose_few()
_place_of = inlined(place_of)


class Tile(NamedTuple):
    """A workspace: the numbers of 64 rows, their coordinates as columns, and their nearest."""

    rows: Any
    columns: Any
    sums: Any
    squared: Any
    labels: Any


def new_tile(points: FloatArray) -> Tile:
    """Return a workspace for rows of these columns and this precision."""
    sums, squared = aligned((2, COLUMNS), points.dtype)
    columns = aligned((points.shape[1], COLUMNS), points.dtype)
    columns[:] = 0.0
    numbers, labels = aligned(COLUMNS, np.int64), aligned(COLUMNS, np.int32)
    return Tile(numbers, columns, sums, squared, labels)


@inlined
def _are_up_to(rows: Any, start: int, last: int) -> bool:
    """Tell whether no one of 16 numbers of rows is more than ``last``."""
    beyond = 0
    for c in range(start, start + LANES):
        beyond += rows[c] > last
    return beyond == 0


@inlined
def load_columns(points: Any, rows: Any, count: int, columns: Any) -> None:
    """Write ``count`` rows, whose numbers are given, as columns; see `place_of`."""
    d = points.shape[1]
    full, length = d - d % LANES, d // LANES
    whole = count - count % LANES if full > 0 else 0
    for c in range(0, whole, LANES):
        for block in range(length):
            _transpose_block(points, rows, c, block * LANES, columns, block, length)
    for c in range(whole, count if full > 0 else 0):
        for j in range(full):
            columns[_place_of(j, d), c] = points[rows[c], j]
    done = 0
    if WIDE_REGISTERS and full == 0:
        last = points.shape[0] - LANES  # from which 16 numbers follow, however few a row has
        while done + LANES <= count and _are_up_to(rows, done, last):
            _transpose_few(points, rows, done, columns)
            done += LANES
    for c in range(done, count):
        i = np.uint64(rows[c])  # signed numbers would be checked for being negative
        for j in range(full, d):
            columns[j, c] = points[i, np.uint64(j)]


@inlined
def compare_tile(rows: Rows, centers: Any, first: int, known: int, size: int, tile: Tile) -> int:
    """Compare the first ``size`` rows of a tile with the centres ``first`` to ``known``.

    ``centers[0]`` is number ``first``. Begins with the oldest centre that any of the rows was not
    compared with: comparing again changes nothing. Returns how many pairs were new.
    """
    points, columns = rows.points, tile.columns
    sums, squared, labels = tile.sums, tile.squared, tile.labels
    oldest, pairs = known, 0
    for c in range(size):
        i = np.uint64(tile.rows[c])  # signed numbers would be checked for being negative
        compared = rows.n_compared[i]
        pairs += known - compared
        oldest = min(oldest, compared)
        squared[c], labels[c] = rows.squared[i], rows.labels[i]
    load_columns(points, tile.rows, size, columns)
    for c in range(size, COLUMNS):
        squared[c] = 0.0  # nothing is nearer: columns without a row never ask for more
    for s in range(oldest, known):
        if squares(centers, s - first, columns, 0, squared, sums):
            _keep_nearer(sums, s, squared, labels)
    for c in range(size):
        i = np.uint64(tile.rows[c])
        rows.squared[i], rows.labels[i], rows.n_compared[i] = squared[c], labels[c], known
    return pairs


@inlined
def compare_row(rows: Rows, i: int, centers: Any, first: int, known: int, family: Any) -> int:
    """Do the same for one row, by any metric."""
    pairs = known - rows.n_compared[i]
    for s in range(rows.n_compared[i], known):
        squared = squared_distance(rows.points, i, centers, s - first, family)
        if squared < rows.squared[i]:
            rows.squared[i], rows.labels[i] = squared, s
    rows.n_compared[i] = known
    return pairs


@kernel
def brute_force(
    rows: Rows, centers: Any, first: int, family: Any, start: int, stop: int, tile: Tile
) -> int:
    """Compare rows ``start`` to ``stop`` with all centres; return how many pairs were new."""
    known, pairs = first + centers.shape[0], 0
    if family is None:
        for low in range(start, stop, COLUMNS):
            size = COLUMNS if low + COLUMNS < stop else stop - low
            for c in range(size):
                tile.rows[c] = low + c
            pairs += compare_tile(rows, centers, first, known, size, tile)
    else:
        for i in range(start, stop):
            pairs += compare_row(rows, i, centers, first, known, family)
    return pairs
