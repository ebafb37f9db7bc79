"""Building the trees over the points: median splits of the widest side.

The rows are first shared out to parts of about equal size, by splits that a sample decides:
one pass over the data. Each part is then gathered, so that what follows stays in cache, and
split exactly, down to leaves of 64 rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kseeds.compile import inlined, kernel
from kseeds.kernels.packed_select import packed, row_of, select
from kseeds.layout import COLUMNS


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


@kernel
def share_out(
    points: Any, start: int, stop: int, sides: Any, cuts: Any, part_of: Any, counts: Any
) -> None:
    """Write the part of every row from ``start`` to ``stop``; count the rows of each part."""
    nodes = sides.shape[0]
    counts[:] = 0
    for i in range(start, stop):
        t = 0
        while t < nodes:
            t = 2 * t + 1 + (points[i, sides[t]] >= cuts[t])
        part_of[i] = t - nodes
        counts[t - nodes] += 1


@kernel
def place_rows(part_of: Any, start: int, stop: int, places: Any, order: Any) -> None:
    """Write the rows from ``start`` to ``stop`` to the next ``places`` of their parts."""
    for i in range(start, stop):
        order[places[part_of[i]]] = i
        places[part_of[i]] += 1


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
def build(
    points: Any, order: Any,
    left: Any, right: Any, first: Any, last: Any, lower: Any, upper: Any, tiles: Any,
) -> int:  # fmt: skip
    """Build the tree over the rows of ``order``, reordering them; return its nodes.

    Leaf number t holds places 64·t onward of the order, as columns of ``tiles``; a leaf
    has ``left = -1``. Parents come before their children.
    """
    n, d = order.shape[0], points.shape[1]
    rows = np.empty((n, d), points.dtype)
    for s in range(n):
        for j in range(d):
            rows[s, j] = points[order[s], j]
    items = np.arange(n)
    keys = np.empty(n, np.float32)
    first[0], last[0] = 0, n
    # In depth: what is split next has just been written, and is in cache.
    stack = np.empty(64, np.int64)
    stack[0], size, nodes = 0, 1, 1
    while size > 0:
        size -= 1
        t = stack[size]
        left[t], right[t] = -1, -1
        if last[t] - first[t] > COLUMNS:
            middle = first[t] + (last[t] - first[t] + COLUMNS - 1) // COLUMNS // 2 * COLUMNS
            _split(rows, items, keys, first[t], last[t], middle)
            left[t], first[nodes], last[nodes] = nodes, first[t], middle
            right[t], first[nodes + 1], last[nodes + 1] = nodes + 1, middle, last[t]
            stack[size], stack[size + 1] = nodes + 1, nodes
            size, nodes = size + 2, nodes + 2
    for t in range(nodes - 1, -1, -1):
        if left[t] >= 0:
            for j in range(d):
                lower[t, j] = min(lower[left[t], j], lower[right[t], j])
                upper[t, j] = max(upper[left[t], j], upper[right[t], j])
            continue
        base = first[t] // COLUMNS * d
        for c in range(COLUMNS):
            i = row_of(items[min(first[t] + c, last[t] - 1)])  # a short leaf repeats its last row
            for j in range(d):
                tiles[base + j, c] = rows[i, j]
        for j in range(d):
            lower[t, j], upper[t, j] = tiles[base + j].min(), tiles[base + j].max()
    before = order.copy()
    for s in range(n):
        order[s] = before[row_of(items[s])]
    return nodes
