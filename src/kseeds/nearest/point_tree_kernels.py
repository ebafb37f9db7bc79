"""A tree over the points: whole blocks of 64 rows learn that a centre is of no use to them.

Built once (`kseeds.nearest.tree_building_kernels`) and used for every batch of centres. The leaves
hold up to 64 rows as columns. A batch descends as a list: at every node a centre c is
dropped if its nearest possible distance to the node's box exceeds

    U = min( max α² of the node,  min over the list of the farthest possible distance² ),

since then every row of the node has something nearer than c, or as near and met earlier.
Trees over the points themselves are for fewer than 16 coordinates (`meet_pair`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kseeds.distances.pair_kernels import sum_of_squares
from kseeds.nearest.brute_force_kernels import squares
from kseeds.runtime.block_sizes import COLUMNS, LANES
from kseeds.runtime.compiler import inlined, kernel
from kseeds.simd.columns import box_sums, meet_pair

_NEARER = 0.1
"""Share of the squared distance needed up to which centres are near, and met first."""

_box_sums = box_sums()
_meet = meet_pair()


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
    best_candidate = group
    while farthest[best_candidate] > least:
        best_candidate += 1
    best_candidate = items[best_candidate]
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
    return kept, best_candidate


@inlined
def _largest_of(values: Any, others: Any, room: Any) -> Any:
    """Return the largest of the lesser of 64 pairs of values."""
    for c in range(COLUMNS):
        room[c] = values[c] if values[c] < others[c] else others[c]
    for half in (32, 16, 8, 4, 2, 1):
        for c in range(half):
            room[c] = room[c] if room[c] > room[c + half] else room[c + half]
    return room[0]


@inlined
def _search_leaf(
    centers: Any, items: Any, count: int, best_candidate: int, nearest: Any, tiles: Any, base: int,
    rows: int, offset: int, relative: float, picked: Any, gaps: Any, sums: Any, caps: Any,
    best: Any, near: Any,
) -> int:  # fmt: skip
    """Let the rows of a leaf meet a list of centres; return the distances computed.

    The most promising centre is looked at first, for a cap on what can still be nearest. Then
    those near the box are met, which lowers the cap, and then what is left below it.
    """
    squares(centers, best_candidate, tiles, base, best, sums)
    stretch = best.dtype.type(1.0 + 2.0 * relative)
    limit = _largest_of(sums, best, caps) * stretch
    n_compared, low = 0, -stretch
    for share in (_NEARER, 1.0):
        high = limit * best.dtype.type(share)
        left = 0
        for k in range(count):  # no branch here either
            picked[left], gaps[left] = items[k], nearest[k]
            left += (nearest[k] > low) & (nearest[k] <= high)
        for k in range(0, left, 2):
            if k % 16 == 14:
                limit = min(limit, _largest_of(best, best, caps) * stretch)
            other = min(k + 1, left - 1)  # the last one may meet them twice
            if min(gaps[k], gaps[other]) <= limit:
                s, r = picked[k], picked[other]
                n_compared += 1 + (r != s)
                _meet(centers, s, r, tiles, base, offset + s, offset + r, best, near)
        limit = min(limit, _largest_of(best, best, caps) * stretch)
        low = high
    return n_compared * rows


@inlined
def _set_above(limits: Any, c: int, value: float) -> None:
    """Set a limit above ``value``, in a precision that may not hold it."""
    limits[c] = value
    limits[c] = np.nextafter(limits[c], limits.dtype.type(np.inf))


@inlined
def _meet_in_sketch(
    sketches: Any, centers: Any, s: int, tiles: Any, base: int, points: Any, order: Any,
    start: int, rows: int, offset: int, relative: float, absolute: float, sums: Any,
    limits: Any, best: Any, near: Any, places: Any,
) -> int:  # fmt: skip
    """Let the rows of a leaf meet a centre, looking at whole rows only where the sketch must.

    Returns how many whole rows were looked at.
    """
    if not squares(sketches, s, tiles, base, limits, sums):
        return 0
    looked = 0
    for c in range(rows):
        places[looked] = c
        looked += sums[c] < limits[c]
    # Reads a value of every cache line of these rows: such reads do not wait for each other.
    touched = points.dtype.type(0.0)
    for at in range(looked):
        i = order[start + places[at]]
        for j in range(0, points.shape[1], LANES):
            touched += points[i, j]
    sums[0] = touched
    number = np.int32(offset + s)
    for at in range(looked):
        c = places[at]
        exact = sum_of_squares(points, int(order[start + c]), centers, s)
        if exact < best[c] or (exact == best[c] and number < near[c]):
            best[c], near[c] = exact, number
            _set_above(limits, c, widened(np.float64(exact), relative, absolute))
    return looked


@inlined
def _search_sketched_leaf(
    sketches: Any, centers: Any, items: Any, count: int, best_candidate: int, nearest: Any,
    tiles: Any, base: int, points: Any, order: Any, start: int, rows: int, offset: int,
    relative: float, absolute: float, sums: Any, limits: Any, best: Any, near: Any, places: Any,
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
        if k >= 0 and (nearest[k] > limit or items[k] == best_candidate):
            continue
        computed += _meet_in_sketch(
            sketches, centers, best_candidate if k < 0 else items[k], tiles, base, points,
            order, start, rows, offset, relative, absolute, sums, limits, best, near, places,
        )  # fmt: skip
    return computed


@kernel
def adopt(order: Any, first: Any, counts: Any, squared: Any, kept: Any, largest: Any) -> None:
    """Take over what the rows have already: ``kept``, place by place, and the maxima of nodes."""
    leaves = counts.shape[0]
    for t in range(leaves):
        most = -1.0
        for s in range(first[t], first[t] + counts[t]):
            kept[s] = squared[order[s]]
            most = max(most, kept[s])
        kept[first[t] + counts[t] : first[t + 1]] = -1.0  # nothing is nearer
        largest[leaves - 1 + t] = most
    for t in range(leaves - 2, -1, -1):
        largest[t] = max(largest[2 * t + 1], largest[2 * t + 2])


@kernel
def improve(
    sketches: Any, centers: Any, points: Any, offset: int, relative: float,
    absolute: float, order: Any, first: Any, counts: Any, lower: Any, upper: Any, tiles: Any,
    kept: Any, largest: Any, squared: Any, labels: Any,
) -> Any:  # fmt: skip
    """Let all rows of the tree meet ``centers``, numbered from ``offset``.

    Overwrites ``squared`` and ``labels`` where a centre is strictly nearer, ties to the
    earlier. ``kept`` and ``largest`` follow; both may be too large, if others have changed
    ``squared``, but not too small. The tree is over sketches, whose distances never exceed those
    of the ``points`` but for ``absolute``; or it is over the points, then ``points`` is None (so
    that what only sketches need is not compiled) and ``sketches`` are the centres. Returns the
    distances of whole rows computed and the nodes visited.
    """
    (m, d), leaves = sketches.shape, counts.shape[0]
    levels = 2
    while 1 << (levels - 2) < leaves:
        levels += 1
    # Whole groups, and a little more: coordinates a power of two apart would share cache sets.
    room = (m + COLUMNS - 1) // COLUMNS * COLUMNS + 16
    lists = np.empty((levels, room), np.int32)
    columns = np.full((levels, d, room), np.inf, centers.dtype)
    lengths = np.empty(levels, np.int64)
    for k in range(m):
        lists[0, k] = k
        for j in range(d):
            columns[0, j, k] = sketches[k, j]
    lengths[0] = m
    nearest, farthest = np.empty(room, centers.dtype), np.empty(room, centers.dtype)
    places = np.empty(room, np.int32)
    stack = np.empty(2 * levels, np.int64)
    depths = np.empty(2 * levels, np.int64)
    sums = np.empty(COLUMNS, centers.dtype)
    best = np.empty(COLUMNS, centers.dtype)
    near = np.empty(COLUMNS, np.int32)
    caps = np.empty(COLUMNS, centers.dtype)
    limits = np.empty(COLUMNS, centers.dtype)
    open_rows = np.empty(COLUMNS, np.int64)
    stack[0], depths[0], size = 0, 1, 1
    computed, visited = 0, 0
    while size > 0:
        size -= 1
        t, depth = stack[size], depths[size]
        if t < 0:  # both children are done
            largest[~t] = max(largest[2 * ~t + 1], largest[2 * ~t + 2])
            continue
        if largest[t] <= 0.0:
            continue
        visited += 1
        leaf = t - leaves + 1
        length, best_candidate = _filter(
            lists[depth - 1], columns[depth - 1], lengths[depth - 1], lists[depth],
            columns[depth], nearest, farthest, places, lower, upper, t, leaf >= 0, largest[t],
            points is not None, relative, absolute,
        )  # fmt: skip
        lengths[depth] = length
        if length == 0:
            continue
        if leaf < 0:
            stack[size], depths[size] = ~t, depth
            stack[size + 1], depths[size + 1] = 2 * t + 2, depth + 1
            stack[size + 2], depths[size + 2] = 2 * t + 1, depth + 1
            size += 3
            continue
        most = best.dtype.type(0.0)
        for start in range(first[leaf], first[leaf] + counts[leaf], COLUMNS):
            rows = min(COLUMNS, first[leaf] + counts[leaf] - start)
            base = start * d
            for c in range(COLUMNS):
                best[c], near[c] = kept[start + c], -1
            if points is None:
                computed += _search_leaf(
                    sketches, lists[depth], length, best_candidate, nearest, tiles, base, rows,
                    offset, relative, places, farthest, sums, caps, best, near,
                )  # fmt: skip
            else:
                computed += _search_sketched_leaf(
                    sketches, centers, lists[depth], length, best_candidate, nearest, tiles, base,
                    points, order, start, rows, offset, relative, absolute, sums, limits, best,
                    near, open_rows,
                )  # fmt: skip
            for c in range(rows):
                if near[c] >= 0:
                    i = order[start + c]
                    if best[c] < squared[i]:
                        squared[i], labels[i] = best[c], near[c]
                    kept[start + c] = squared[i]
            most = max(most, _largest_of(best, best, caps))
        largest[t] = most
    return computed, visited
