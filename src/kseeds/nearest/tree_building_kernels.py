"""Building the trees over the points: rows shared out by splits that a sample decides.

A sample of the rows is split in halves along its widest side, again and again; the other
rows only descend the splits. That is done twice: all rows are shared out to parts, one pass
over the data, and the rows of each part, which are in cache by then, to its leaves. Leaves are
of about equal size only, which costs no one anything: their boxes are those of their rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kseeds.nearest.select_kernels import select
from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.compiler import kernel

ABREAST = 8
"""Rows that descend side by side."""
_PROBED = 32
"""Rows of a node that its widest side is judged by, about."""


@kernel
def plan_splits(sample: Any, items: Any, keys: Any, ends: Any, sides: Any, cuts: Any) -> None:
    """Split a sample in halves again and again; node t has the children 2t + 1 and 2t + 2.

    Rows of ``sides[t]`` coordinate below ``cuts[t]`` go left. There is a power of two of parts,
    less one of cuts. ``items`` are the numbers of the rows of the sample, and ``keys`` a workspace
    of as many; ``ends`` of where the rows of each node begin and end, all 0 but for the first.
    """
    for t in range(sides.shape[0]):
        low, high = ends[t, 0], ends[t, 1]
        middle = (low + high) // 2
        sides[t], cuts[t] = 0, 0.0
        if high > low:
            step, width = 1 + (high - low) // _PROBED, -1.0
            for j in range(sample.shape[1]):
                smallest = largest = sample[items[low], j]
                for s in range(low, high, step):
                    value = sample[items[s], j]
                    smallest = value if value < smallest else smallest
                    largest = value if value > largest else largest
                if largest - smallest > width:
                    sides[t], width = j, largest - smallest
            for s in range(low, high):
                keys[s] = sample[items[s], sides[t]]
            select(items, keys, low, high, middle)
            cuts[t] = keys[middle]
        ends[2 * t + 1, 0], ends[2 * t + 1, 1] = low, middle
        ends[2 * t + 2, 0], ends[2 * t + 2, 1] = middle, high


@kernel
def share_out(
    points: Any, start: int, stop: int, sides: Any, cuts: Any, part_of: Any, counts: Any,
    rows: Any, nodes_at: Any,
) -> None:  # fmt: skip
    """Write the part of every row from ``start`` to ``stop``; count the rows of each part.

    Eight rows descend side by side: a step waits for the last one, but not for other rows.
    Places are unsigned, as everywhere here, since signed ones are checked for being negative.
    ``rows`` and ``nodes_at`` are workspaces of 8 such.
    """
    nodes, levels = sides.shape[0], 0
    while (1 << levels) - 1 < nodes:
        levels += 1
    one = np.uint64(1)
    for i in range(start, stop, ABREAST):
        for b in range(ABREAST):
            rows[b], nodes_at[b] = i + b if i + b < stop else stop - 1, 0
        for _ in range(levels):
            for b in range(ABREAST):
                t = nodes_at[b]
                nodes_at[b] = t + t + one + np.uint64(points[rows[b], sides[t]] >= cuts[t])
        for b in range(ABREAST):
            part_of[rows[b]] = nodes_at[b] - np.uint64(nodes)
    for part in range(counts.shape[0]):
        counts[part] = 0
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
def place_numbers(part_of: Any, start: int, stop: int, places: Any, order: Any) -> None:
    """Write the numbers of the rows from ``start`` to ``stop`` to the ``places`` of their parts."""
    for i in range(start, stop):
        place = places[part_of[i]]
        places[part_of[i]] += 1
        order[place] = i


@kernel
def gather_rows(points: Any, numbers: Any, rows: Any) -> None:
    """Write the rows of some numbers one after the other."""
    for s in range(numbers.shape[0]):
        for j in range(points.shape[1]):
            rows[s, j] = points[numbers[s], j]


@kernel
def place_in_tiles(
    rows: Any, numbers: Any, leaf_of: Any, first: Any, places: Any, order: Any, tiles: Any
) -> None:
    """Write the rows of a part to the tiles of their leaves, and their ``numbers`` to ``order``.

    Leaf t has the places from ``first[t]`` on, a multiple of 64; ``places`` begin as a copy of
    these. Places beyond the rows of a leaf repeat its last row.
    """
    d, width = np.uint64(rows.shape[1]), np.uint64(COLUMNS)
    for s in range(rows.shape[0]):
        place = places[leaf_of[s]]
        places[leaf_of[s]] = place + np.uint64(1)
        order[place] = numbers[s]
        base, column = place // width * d, place % width
        for j in range(rows.shape[1]):
            tiles[base + np.uint64(j), column] = rows[s, j]
    for t in range(first.shape[0] - 1):
        if places[t] > first[t]:
            last = places[t] - np.uint64(1)
            base, column = last // width * d, last % width
            for place in range(places[t], first[t + 1]):
                order[place] = order[last]
                for j in range(rows.shape[1]):
                    tiles[base + np.uint64(j), place % width] = tiles[base + np.uint64(j), column]


@kernel
def find_boxes(first: Any, tiles: Any, lower: Any, upper: Any, low: Any, high: Any) -> None:
    """Write the boxes of all nodes; node t has the children 2t + 1 and 2t + 2, leaves come last.

    The box of nothing is inside out, so that it adds nothing to that of its parent. ``low`` and
    ``high`` are workspaces of 64.
    """
    leaves, d = first.shape[0] - 1, lower.shape[1]
    for t in range(leaves):
        for j in range(d):
            for c in range(COLUMNS):
                low[c], high[c] = np.inf, -np.inf
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
            a, b = lower[2 * t + 1, j], lower[2 * t + 2, j]
            lower[t, j] = a if a < b else b
            a, b = upper[2 * t + 1, j], upper[2 * t + 2, j]
            upper[t, j] = a if a > b else b
