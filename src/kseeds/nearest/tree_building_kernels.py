"""Building the trees over the points: rows shared out by splits that a sample decides.

A sample of the rows is split in halves along its widest side, again and again; the other
rows only descend the splits. That is done twice: all rows are shared out to parts, one pass
over the data, and the rows of each part, which are in cache by then, to its leaves. Leaves are
of about equal size only, which costs no one anything: their boxes are those of their rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kseeds.nearest.packed_select_kernels import packed, row_of, select
from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.compiler import inlined, kernel

_ABREAST = 8


@kernel
def plan_parts(sample: Any, sides: Any, cuts: Any) -> None:
    """Split a sample in halves again and again; node t has the children 2t + 1 and 2t + 2.

    Rows of ``sides[t]`` coordinate below ``cuts[t]`` go left. There is a power of two of parts,
    less one of cuts.
    """
    size, nodes = sample.shape[0], sides.shape[0]
    items = np.arange(size)
    keys = np.empty(size, np.float32)
    first, last = np.zeros(2 * nodes + 1, np.int64), np.zeros(2 * nodes + 1, np.int64)
    last[0] = size
    for t in range(nodes):
        low, high = first[t], last[t]
        middle = (low + high) // 2
        sides[t], cuts[t] = 0, 0.0
        if high > low:
            sides[t] = _split(sample, items, keys, low, high, middle)
            cuts[t] = sample[row_of(items[middle]), sides[t]]
            for s in range(middle, high):
                cuts[t] = min(cuts[t], sample[row_of(items[s]), sides[t]])
        first[2 * t + 1], last[2 * t + 1] = low, middle
        first[2 * t + 2], last[2 * t + 2] = middle, high


@inlined
def _widest_side(points: Any, items: Any, low: int, high: int) -> int:
    """Return the widest side of a sample of the rows."""
    step = max(1, (high - low) // 32)
    widest, width = 0, -1.0
    for j in range(points.shape[1]):
        smallest = largest = points[row_of(items[low]), j]
        for s in range(low, high, step):
            value = points[row_of(items[s]), j]
            smallest = min(smallest, value)
            largest = max(largest, value)
        if largest - smallest > width:
            widest, width = j, largest - smallest
    return widest


@inlined
def _split(points: Any, items: Any, keys: Any, low: int, high: int, middle: int) -> int:
    """Partition places low..high-1 around the median of the widest side; return that side.

    Keys in single precision will do: any split is right, boxes are those of the rows.
    """
    side = _widest_side(points, items, low, high)
    bits = keys.view(np.int32)
    for s in range(low, high):
        keys[s] = points[row_of(items[s]), side]
    for s in range(low, high):
        items[s] = packed(bits[s], row_of(items[s]))
    select(items, low, high, middle)
    return side


@kernel
def share_out(
    points: Any, start: int, stop: int, sides: Any, cuts: Any, part_of: Any, counts: Any
) -> None:
    """Write the part of every row from ``start`` to ``stop``; count the rows of each part.

    Eight rows descend side by side: a step waits for the last one, but not for other rows.
    Places are unsigned, as everywhere here, since signed ones are checked for being negative.
    """
    nodes, levels = sides.shape[0], 0
    while (1 << levels) - 1 < nodes:
        levels += 1
    rows, nodes_at = np.empty(_ABREAST, np.uint64), np.empty(_ABREAST, np.uint64)
    one = np.uint64(1)
    for i in range(start, stop, _ABREAST):
        for b in range(_ABREAST):
            rows[b], nodes_at[b] = min(i + b, stop - 1), 0
        for _ in range(levels):
            for b in range(_ABREAST):
                t = nodes_at[b]
                nodes_at[b] = t + t + one + np.uint64(points[rows[b], sides[t]] >= cuts[t])
        for b in range(_ABREAST):
            part_of[rows[b]] = nodes_at[b] - np.uint64(nodes)
    counts[:] = 0
    for i in range(start, stop):
        counts[part_of[i]] += 1


@kernel
def place_rows(
    points: Any, part_of: Any, start: int, stop: int, places: Any, order: Any, placed: Any
) -> None:
    """Write the rows from ``start`` to ``stop`` to the next ``places`` of their parts."""
    for i in range(start, stop):
        place = places[part_of[i]]
        places[part_of[i]] += 1
        order[place] = i
        for j in range(points.shape[1]):
            placed[place, j] = points[i, j]


@kernel
def place_in_tiles(
    rows: Any, numbers: Any, leaf_of: Any, first: Any, counts: Any, order: Any, tiles: Any
) -> None:
    """Write the rows of a part to the tiles of their leaves, and their ``numbers`` to ``order``.

    Leaf t has the places from ``first[t]`` on, a multiple of 64. Places beyond its rows
    repeat its last row.
    """
    d, width = np.uint64(rows.shape[1]), np.uint64(COLUMNS)
    places = first.copy()
    for s in range(rows.shape[0]):
        place = places[leaf_of[s]]
        places[leaf_of[s]] += np.uint64(1)
        order[place] = numbers[s]
        base, column = place // width * d, place % width
        for j in range(rows.shape[1]):
            tiles[base + np.uint64(j), column] = rows[s, j]
    for t in range(counts.shape[0]):
        last = np.int64(first[t]) + counts[t] - 1
        base = last // COLUMNS * rows.shape[1]
        if counts[t] > 0:
            order[last + 1 : np.int64(first[t + 1])] = order[last]
            for j in range(rows.shape[1]):
                tiles[base + j, last % COLUMNS + 1 :] = tiles[base + j, last % COLUMNS]


@kernel
def find_boxes(first: Any, tiles: Any, lower: Any, upper: Any) -> None:
    """Write the boxes of all nodes; node t has the children 2t + 1 and 2t + 2, leaves come last.

    The box of nothing is inside out, so that it adds nothing to that of its parent.
    """
    leaves, d = first.shape[0] - 1, lower.shape[1]
    low, high = np.empty(COLUMNS, tiles.dtype), np.empty(COLUMNS, tiles.dtype)
    for t in range(leaves):
        for j in range(d):
            low[:], high[:] = np.inf, -np.inf
            for tile in range(first[t] // COLUMNS, first[t + 1] // COLUMNS):
                for c in range(COLUMNS):
                    value = tiles[tile * d + j, c]
                    low[c] = value if value < low[c] else low[c]
                    high[c] = value if value > high[c] else high[c]
            for half in (32, 16, 8, 4, 2, 1):
                for c in range(half):
                    low[c] = low[c + half] if low[c + half] < low[c] else low[c]
                    high[c] = high[c + half] if high[c + half] > high[c] else high[c]
            lower[leaves - 1 + t, j], upper[leaves - 1 + t, j] = low[0], high[0]
    for t in range(leaves - 2, -1, -1):
        for j in range(d):
            lower[t, j] = min(lower[2 * t + 1, j], lower[2 * t + 2, j])
            upper[t, j] = max(upper[2 * t + 1, j], upper[2 * t + 2, j])
