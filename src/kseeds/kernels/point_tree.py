"""A tree over the points: whole blocks of 64 rows learn that a centre is of no use to them.

Built once (`kseeds.kernels.tree_building`) and used for every batch of centres. The leaves
hold up to 64 rows as columns. A batch descends as a list: at every node a centre c is
dropped if its nearest possible distance to the node's box exceeds

    U = min( max α² of the node,  min over the list of the farthest possible distance² ),

since then every row of the node has something nearer than c, or as near and met earlier.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kseeds.compile import box_sums, inlined, kernel
from kseeds.kernels.catch_up import squares
from kseeds.kernels.lazy import squared_distance_in_order
from kseeds.kernels.pairs import EUCLIDEAN, sum_of_squares
from kseeds.layout import COLUMNS

_box_sums = box_sums()


@inlined
def widened(squared: float, relative: float, absolute: float) -> float:
    """Return a squared distance with the slack of a computed one added.

    Distances as computed, to boxes and to rows, err by less than a factor 1 + relative, and
    sketches by ``absolute`` in addition.
    """
    if absolute == 0.0:
        return squared * (1.0 + relative)
    distance = math.sqrt(squared) + absolute
    return distance * distance * (1.0 + relative)


@inlined
def _filter(
    items: Any, columns: Any, count: int, kept_items: Any, kept_columns: Any, nearest: Any,
    farthest: Any, places: Any, lower: Any, upper: Any, t: int, is_leaf: bool, largest: float,
    sketched: bool, relative: float, absolute: float,
) -> Any:  # fmt: skip
    """Keep the centres of the parent's list that may matter to node t.

    Returns how many, and which is the least far from its farthest place in the box.
    ``nearest`` keeps the smallest possible squared distances of those kept. Columns up to a
    whole group are infinite, and so are their distances. A leaf needs no columns.
    """
    # The last coordinate of a sketch is the norm of what the others leave out. Such remainders
    # may point away from each other, so that in the farthest case their norms add up.
    group = 0
    least = _box_sums(lower, upper, t, columns, 0, int(sketched), nearest, farthest)
    for first in range(COLUMNS, count, COLUMNS):
        smallest = _box_sums(lower, upper, t, columns, first, int(sketched), nearest, farthest)
        if smallest < least:
            group, least = first, smallest
    champion = group
    while farthest[champion] > least:
        champion += 1
    champion = items[champion]
    reach = min(largest, widened(np.float64(least), relative, absolute))
    limit = widened(reach, relative, absolute)
    kept = 0
    for k in range(count):  # no branch: whether a centre is kept is anyone's guess
        places[kept] = k
        kept += nearest[k] <= limit
    for k in range(kept):
        kept_items[k], nearest[k] = items[places[k]], nearest[places[k]]
    if not is_leaf:
        whole = (kept + COLUMNS - 1) // COLUMNS * COLUMNS
        for j in range(lower.shape[1]):
            for k in range(kept):
                kept_columns[j, k] = columns[j, places[k]]
            kept_columns[j, kept:whole] = np.inf
    return kept, champion


@inlined
def _take(sums: Any, number: int, best: Any, near: Any) -> None:
    """Make a centre the nearest of those rows of a leaf to which it is nearer."""
    for c in range(COLUMNS):
        nearer = sums[c] < best[c]
        best[c] = sums[c] if nearer else best[c]
        near[c] = number if nearer else near[c]


@inlined
def _search_leaf(
    centers: Any, items: Any, count: int, champion: int, nearest: Any, tiles: Any, base: int,
    rows: int, offset: int, relative: float, sums: Any, champions: Any, caps: Any,
    best: Any, near: Any,
) -> int:  # fmt: skip
    """Let the rows of a leaf meet a list of centres, in order; return the distances computed.

    The most promising centre is looked at first, for a cap on what can still be nearest, but
    taken in its turn, so that of equally near centres the earlier is kept.
    """
    squares(centers, champion, tiles, base, best, champions)
    for c in range(COLUMNS):
        caps[c] = champions[c] if champions[c] < best[c] else best[c]
    met, limit = 1, 0.0
    for k in range(count):
        if k % 8 == 0:
            limit = 0.0
            for c in range(rows):
                limit = max(limit, min(caps[c], best[c]))
            limit *= 1.0 + relative
        s = items[k]
        if s == champion:
            _take(champions, offset + s, best, near)
        elif nearest[k] <= limit:
            met += 1
            if squares(centers, s, tiles, base, best, sums):
                _take(sums, offset + s, best, near)
    return met * rows


@inlined
def _set_above(limits: Any, c: int, value: float) -> None:
    """Set a limit above ``value``, in a precision that may not hold it."""
    limits[c] = value
    limits[c] = np.nextafter(limits[c], limits.dtype.type(np.inf))


@inlined
def _meet_in_sketch(
    sketches: Any, centers: Any, s: int, tiles: Any, base: int, points: Any, order: Any,
    start: int, rows: int, offset: int, relative: float, absolute: float,
    sums: Any, limits: Any, best: Any, near: Any,
) -> int:  # fmt: skip
    """Let the rows of a leaf meet a centre, looking at whole rows only where the sketch must.

    Returns how many whole rows were looked at.
    """
    looked = 0
    if not squares(sketches, s, tiles, base, limits, sums):
        return looked
    number = np.int32(offset + s)
    for c in range(rows):
        if sums[c] >= limits[c]:
            continue
        looked += 1
        i = order[start + c]
        # The order of this sum is not that of the others: it may only exclude.
        if sum_of_squares(points, i, centers, s) * (1.0 - relative) > best[c]:
            continue
        distance = squared_distance_in_order(points, i, centers, s, EUCLIDEAN, np.inf)
        if distance < best[c] or (distance == best[c] and number < near[c]):
            best[c], near[c] = distance, number
            _set_above(limits, c, widened(np.float64(distance), relative, absolute))
    return looked


@inlined
def _search_sketched_leaf(
    sketches: Any, centers: Any, items: Any, count: int, champion: int, nearest: Any, tiles: Any,
    base: int, points: Any, order: Any, start: int, rows: int, offset: int, relative: float,
    absolute: float, sums: Any, limits: Any, best: Any, near: Any,
) -> int:  # fmt: skip
    """Let the rows of a leaf meet a list of centres, the most promising one first."""
    for c in range(rows):
        _set_above(limits, c, widened(np.float64(best[c]), relative, absolute))
    limits[rows:] = 0.0
    computed, limit = 0, 0.0
    for k in range(-1, count):
        if k % 8 == 0:
            limit = 0.0
            for c in range(rows):
                limit = max(limit, np.float64(best[c]))
            limit = widened(limit, relative, absolute)
        if k >= 0 and (nearest[k] > limit or items[k] == champion):
            continue
        computed += _meet_in_sketch(
            sketches, centers, champion if k < 0 else items[k], tiles, base, points, order,
            start, rows, offset, relative, absolute, sums, limits, best, near,
        )  # fmt: skip
    return computed


@inlined
def depth_of(rows: int) -> int:
    """Return the depth of a tree over so many rows."""
    leaves, depth = (rows + COLUMNS - 1) // COLUMNS, 1
    while leaves > 1:
        leaves = (leaves + 1) // 2
        depth += 1
    return depth


@kernel
def improve(
    sketches: Any, centers: Any, points: Any, sketched: bool, offset: int, relative: float,
    absolute: float, order: Any, nodes: int,
    left: Any, right: Any, first: Any, last: Any, lower: Any, upper: Any, tiles: Any,
    squared: Any, labels: Any,
) -> Any:  # fmt: skip
    """Let all rows of the tree meet ``centers``, numbered from ``offset``.

    Overwrites ``squared`` and ``labels`` where a centre is strictly nearer, ties to the
    earlier. With ``sketched`` the tree is over sketches, whose distances never exceed those of
    the ``points`` but for ``absolute``; without, ``sketches`` are the centres. Returns the
    distances of whole rows computed and the nodes visited.
    """
    m, d = sketches.shape
    largest = np.empty(nodes)
    for t in range(nodes - 1, -1, -1):
        if left[t] >= 0:
            largest[t] = max(largest[left[t]], largest[right[t]])
        else:
            most = squared[order[first[t]]]
            for s in range(first[t], last[t]):
                most = max(most, squared[order[s]])
            largest[t] = most
    levels = depth_of(last[0] - first[0]) + 2
    # Whole groups, and a little more: coordinates a power of two apart would share cache sets.
    room = (m + COLUMNS - 1) // COLUMNS * COLUMNS + 16
    lists = np.empty((levels, room), np.int32)
    columns = np.full((levels, d, room), np.inf, centers.dtype)
    counts = np.empty(levels, np.int64)
    for k in range(m):
        lists[0, k] = k
        for j in range(d):
            columns[0, j, k] = sketches[k, j]
    counts[0] = m
    nearest, farthest = np.empty(room, centers.dtype), np.empty(room, centers.dtype)
    places = np.empty(room, np.int32)
    stack = np.empty(2 * levels, np.int64)
    depths = np.empty(2 * levels, np.int64)
    sums = np.empty(COLUMNS, centers.dtype)
    best = np.empty(COLUMNS, centers.dtype)
    near = np.empty(COLUMNS, np.int32)
    champions = np.empty(COLUMNS, centers.dtype)
    caps = np.empty(COLUMNS, centers.dtype)
    limits = np.empty(COLUMNS, centers.dtype)
    stack[0], depths[0], size = 0, 1, 1
    computed, visited = 0, 0
    while size > 0:
        size -= 1
        t, depth = stack[size], depths[size]
        visited += 1
        if largest[t] <= 0.0:
            continue
        kept, champion = _filter(
            lists[depth - 1], columns[depth - 1], counts[depth - 1], lists[depth],
            columns[depth], nearest, farthest, places, lower, upper, t, left[t] < 0, largest[t],
            sketched, relative, absolute,
        )  # fmt: skip
        counts[depth] = kept
        if kept == 0:
            continue
        if left[t] >= 0:
            stack[size], depths[size] = right[t], depth + 1
            stack[size + 1], depths[size + 1] = left[t], depth + 1
            size += 2
            continue
        rows = last[t] - first[t]
        base = first[t] // COLUMNS * d * COLUMNS
        for c in range(rows):
            i = order[first[t] + c]
            best[c], near[c] = squared[i], labels[i]
        for c in range(rows, COLUMNS):
            best[c] = -1.0
        if sketched:
            computed += _search_sketched_leaf(
                sketches, centers, lists[depth], kept, champion, nearest, tiles, base, points,
                order, first[t], rows, offset, relative, absolute, sums, limits, best, near,
            )  # fmt: skip
        else:
            computed += _search_leaf(
                sketches, lists[depth], kept, champion, nearest, tiles, base, rows, offset,
                relative, sums, champions, caps, best, near,
            )  # fmt: skip
        for c in range(rows):
            i = order[first[t] + c]
            squared[i], labels[i] = best[c], near[c]
    return computed, visited
