"""A tree over the points: whole blocks of 64 rows learn that a centre is of no use to them.

Built once (`kseeds.nearest.tree_building_kernels`) and used for every batch of centres. The leaves
hold their rows as columns, 64 at a time. A batch descends as a list: at every node a centre c is
dropped if its nearest possible distance to the node's box exceeds

    U = min( max α² of the node,  min over the list of the farthest possible distance² ),

since then every row of the node has something nearer than c, or as near and of a lower number.
Trees over the points themselves are for fewer than 16 coordinates (`compare_pair`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from kseeds.distances.metrics import FloatArray
from kseeds.distances.pair_kernels import sum_of_squares
from kseeds.nearest.brute_force_kernels import squares
from kseeds.runtime.aligned import aligned
from kseeds.runtime.block_sizes import COLUMNS, LANES
from kseeds.runtime.compiler import inlined, kernel
from kseeds.simd.columns import box_sums, compare_pair
from kseeds.simd.tables import largest_of_lesser

_NEARER = 0.1
"""Share of the squared distance needed up to which centres are near, and compared first."""

_box_sums = box_sums()
_compare_pair = compare_pair()
_largest_of_lesser = largest_of_lesser()


class Tree(NamedTuple):
    """Complete binary: node t has the children 2t + 1 and 2t + 2, the leaves come last.

    ``order`` are the numbers of the rows, leaf by leaf; leaf t begins at ``first[t]`` and has
    ``counts[t]``. ``lower`` and ``upper`` are the boxes of the nodes; ``tiles`` the coordinates;
    ``kept`` and ``largest`` the squared distances of rows and their maxima at nodes, which may be
    too large, if others have changed them, but not too small.
    """

    order: Any
    first: Any
    counts: Any
    lower: Any
    upper: Any
    tiles: Any
    kept: Any
    largest: Any


class Batch(NamedTuple):
    """New centres, numbered from ``number``, and how far to trust distances.

    A tree over projections, whose distances never exceed those of the points but for
    ``absolute``, has the projections of the centres beside the centres. A tree over the points has
    the centres twice.
    """

    projected: Any
    centers: Any
    number: int
    relative: float
    absolute: float


class Lists(NamedTuple):
    """A workspace: the list of centres at every depth, and what the present node makes of it.

    ``items`` are the centres and ``columns`` their coordinates, those of a depth below those of the
    one above it; ``nearest`` and ``farthest`` are squared distances to the box of the node.
    """

    items: Any
    columns: Any
    lengths: Any
    nearest: Any
    farthest: Any
    places: Any
    stack: Any
    depths: Any


class LeafTile(NamedTuple):
    """A workspace: what is known of the 64 rows of a tile."""

    squared: Any
    labels: Any
    sums: Any
    limits: Any
    places: Any


def workspace(leaves: int, projected: FloatArray) -> tuple[Lists, LeafTile]:
    """Return what `search` needs for a batch and trees of at most so many leaves."""
    m, d = projected.shape
    levels = 2 + (leaves - 1).bit_length()
    # Whole groups, and a little more: coordinates a power of two apart would share cache sets.
    width = -(-m // COLUMNS) * COLUMNS + 16
    items = aligned((levels, width), np.int32)
    columns = aligned((levels * d, width), projected.dtype)
    columns[:] = np.inf
    items[0, :m], columns[:d, :m] = np.arange(m), projected.T
    lengths = np.full(levels, m)
    nearest, farthest = aligned((2, width), projected.dtype)
    stack, depths = np.zeros((2, 2 * levels), dtype=np.int64)
    places = aligned(width, np.int32)
    lists = Lists(items, columns, lengths, nearest, farthest, places, stack, depths)
    squared, sums, limits = aligned((3, COLUMNS), projected.dtype)
    labels, places = aligned((2, COLUMNS), np.int32)
    return lists, LeafTile(squared, labels, sums, limits, places)


@inlined
def widened(squared: float, relative: float, absolute: float) -> float:
    """Return a squared distance with the slack of a computed one added.

    Distances as computed, to boxes and to rows, err by less than a factor 1 + relative, and
    those of projections by ``absolute`` in addition.
    """
    if absolute == 0.0:
        return squared * (1.0 + relative)
    distance = math.sqrt(squared) + absolute
    return distance * distance * (1.0 + relative)


@inlined
def measure_list(tree: Any, adds_up: int, t: int, depth: int, lists: Lists) -> Any:
    """Measure the centres of the parent's list by the box of node t.

    Returns the one that is the least far from its farthest place in the box, and that squared
    distance. Columns up to a whole group are infinite, and so are their distances. ``adds_up`` is 1
    for projections, whose last coordinate is the norm of what the others leave out. Such remainders
    may point away from each other, so that in the farthest case their norms add up.
    """
    group, above = 0, (depth - 1) * tree.lower.shape[1]
    least = lists.farthest.dtype.type(np.inf)
    for first in range(0, lists.lengths[depth - 1], COLUMNS):
        smallest = _box_sums(
            tree.lower, tree.upper, t, lists.columns, above, first, adds_up, lists.nearest,
            lists.farthest,
        )  # fmt: skip
        if smallest < least:
            group, least = first, smallest
    best = group
    while lists.farthest[best] > least:
        best += 1
    return lists.items[depth - 1, best], least


@inlined
def keep_within(d: int, depth: int, limit: float, is_leaf: bool, lists: Lists) -> None:
    """Keep the centres that are within ``limit`` of the box just measured, a squared distance.

    ``lists`` has how many were kept, and the smallest possible squared distances of those. A leaf
    needs no columns.
    """
    count, above, here = lists.lengths[depth - 1], (depth - 1) * d, depth * d
    items, kept_items = lists.items[depth - 1], lists.items[depth]
    nearest, places = lists.nearest, lists.places
    kept = 0
    for k in range(count):  # no branch: whether a centre is kept is anyone's guess
        places[kept] = k
        kept += nearest[k] <= limit
    for k in range(kept):
        kept_items[k], nearest[k] = items[places[k]], nearest[places[k]]
    if not is_leaf:
        whole = (kept + COLUMNS - 1) // COLUMNS * COLUMNS
        for j in range(d):
            column, kept_column = lists.columns[above + j], lists.columns[here + j]
            for k in range(kept):
                kept_column[k] = column[places[k]]
            for k in range(kept, whole):
                kept_column[k] = np.inf
    lists.lengths[depth] = kept


@inlined
def filter_list(
    tree: Any, batch: Batch, adds_up: int, t: int, depth: int, is_leaf: bool, lists: Lists
) -> int:
    """Keep the centres of the parent's list that may matter to node t; see `measure_list`."""
    best, least = measure_list(tree, adds_up, t, depth, lists)
    reached = widened(np.float64(least), batch.relative, batch.absolute)
    largest = tree.largest[t]
    limit = widened(reached if reached < largest else largest, batch.relative, batch.absolute)
    keep_within(tree.lower.shape[1], depth, limit, is_leaf, lists)
    return best


@inlined
def search_leaf(
    tree: Any, batch: Batch, depth: int, best: int, start: int, rows: int, lists: Lists,
    tile: LeafTile,
) -> int:  # fmt: skip
    """Compare the rows of a tile with a list of centres; return the distances computed.

    The most promising centre is looked at first, for a cap on what can still be nearest. Then
    those near the box are compared, which lowers the cap, and then what is left below it.
    """
    base = start * tree.lower.shape[1]
    items, nearest, picked = lists.items[depth], lists.nearest, lists.places
    squares(batch.projected, best, tree.tiles, base, tile.squared, tile.sums)
    stretch = tile.squared.dtype.type(1.0 + 2.0 * batch.relative)
    limit = _largest_of_lesser(tile.sums, tile.squared) * stretch
    compared, low = 0, -stretch
    for share in (_NEARER, 1.0):
        high = limit * tile.squared.dtype.type(share)
        left = 0
        for k in range(lists.lengths[depth]):  # no branch here either
            picked[left], lists.farthest[left] = items[k], nearest[k]
            left += (nearest[k] > low) & (nearest[k] <= high)
        for k in range(0, left, 2):
            if k % 16 == 14:
                most = _largest_of_lesser(tile.squared, tile.squared) * stretch
                limit = most if most < limit else limit
            other = k + 1 if k + 1 < left else k  # the last one may be compared twice
            if lists.farthest[k] <= limit or lists.farthest[other] <= limit:
                s, r = picked[k], picked[other]
                compared += 1 + (r != s)
                _compare_pair(
                    batch.projected, s, r, tree.tiles, base, batch.number + s, batch.number + r,
                    tile.squared, tile.labels,
                )  # fmt: skip
        most = _largest_of_lesser(tile.squared, tile.squared) * stretch
        limit = most if most < limit else limit
        low = high
    return compared * rows


@inlined
def _set_limit(batch: Batch, c: int, tile: LeafTile) -> None:
    """Set the distance of projections up to which a centre may be as near to row c as its own."""
    value = widened(np.float64(tile.squared[c]), batch.relative, batch.absolute)
    tile.limits[c] = value  # in a precision that may not hold it
    tile.limits[c] = np.nextafter(tile.limits[c], tile.limits.dtype.type(np.inf))


@inlined
def _compare_projected(
    tree: Tree, batch: Batch, points: Any, s: int, start: int, rows: int, tile: LeafTile
) -> int:
    """Compare the rows of a tile with a centre, by whole rows only where the projection must.

    Returns how many whole rows were compared.
    """
    base, compared = start * tree.lower.shape[1], 0
    if not squares(batch.projected, s, tree.tiles, base, tile.limits, tile.sums):
        return 0
    for c in range(rows):
        tile.places[compared] = c
        compared += tile.sums[c] < tile.limits[c]
    # Reads a value of every cache line of these rows: such reads do not wait for each other.
    touched = points.dtype.type(0.0)
    for at in range(compared):
        i = tree.order[start + tile.places[at]]
        for j in range(0, points.shape[1], LANES):
            touched += points[i, j]
    tile.sums[0] = touched
    number = np.int32(batch.number + s)
    for at in range(compared):
        c = tile.places[at]
        exact = sum_of_squares(points, int(tree.order[start + c]), batch.centers, s)
        if exact < tile.squared[c] or (exact == tile.squared[c] and number < tile.labels[c]):
            tile.squared[c], tile.labels[c] = exact, number
            _set_limit(batch, c, tile)
    return compared


@inlined
def _search_projected_leaf(
    tree: Tree, batch: Batch, points: Any, depth: int, best: int, start: int, rows: int,
    lists: Lists, tile: LeafTile,
) -> int:  # fmt: skip
    """Compare the rows of a tile with a list of centres, the most promising one first."""
    for c in range(rows):
        _set_limit(batch, c, tile)
    for c in range(rows, COLUMNS):
        tile.limits[c] = 0.0
    compared, limit = 0, 0.0
    for k in range(-1, lists.lengths[depth]):
        if k % 8 == 0:
            limit = 0.0
            for c in range(rows):
                limit = tile.squared[c] if tile.squared[c] > limit else limit
            limit = widened(limit, batch.relative, batch.absolute)
        s = best
        if k >= 0:
            s = lists.items[depth, k]
            if lists.nearest[k] > limit or s == best:
                continue
        compared += _compare_projected(tree, batch, points, s, start, rows, tile)
    return compared


@kernel
def adopt(tree: Tree, squared: Any) -> None:
    """Take over what the rows have already: ``kept``, place by place, and the maxima of nodes."""
    leaves = tree.counts.shape[0]
    for t in range(leaves):
        most, end = -1.0, tree.first[t] + tree.counts[t]
        for s in range(tree.first[t], end):
            value = squared[tree.order[s]]
            tree.kept[s] = value
            most = value if value > most else most
        for s in range(end, tree.first[t + 1]):
            tree.kept[s] = -1.0  # nothing is nearer
        tree.largest[leaves - 1 + t] = most
    for t in range(leaves - 2, -1, -1):
        _set_largest(tree, t)


@inlined
def _set_largest(tree: Tree, t: int) -> None:
    a, b = tree.largest[2 * t + 1], tree.largest[2 * t + 2]
    tree.largest[t] = a if a > b else b


@kernel
def search(
    tree: Tree, batch: Batch, points: Any, squared: Any, labels: Any, lists: Lists, tile: LeafTile
) -> Any:
    """Compare all rows of the tree with the batch.

    Overwrites ``squared`` and ``labels`` where a centre is strictly nearer, ties to the lowest
    number. ``points`` are the rows that the projections of the tree are of; None, for a tree over
    the points, keeps what only projections need from being compiled. Returns the distances of
    whole rows computed and the nodes visited.
    """
    leaves = tree.counts.shape[0]
    adds_up = 0 if points is None else 1
    lists.stack[0], lists.depths[0], size = 0, 1, 1
    computed, visited = 0, 0
    while size > 0:
        size -= 1
        t, depth = lists.stack[size], lists.depths[size]
        if t < 0:  # both children are done
            _set_largest(tree, ~t)
            continue
        if tree.largest[t] <= 0.0:
            continue
        visited += 1
        leaf = t - leaves + 1
        best = filter_list(tree, batch, adds_up, t, depth, leaf >= 0, lists)
        if lists.lengths[depth] == 0:
            continue
        if leaf < 0:
            lists.stack[size], lists.depths[size] = ~t, depth
            lists.stack[size + 1], lists.depths[size + 1] = 2 * t + 2, depth + 1
            lists.stack[size + 2], lists.depths[size + 2] = 2 * t + 1, depth + 1
            size += 3
            continue
        most = tile.squared.dtype.type(0.0)
        end = tree.first[leaf] + tree.counts[leaf]
        for start in range(tree.first[leaf], end, COLUMNS):
            rows = COLUMNS if start + COLUMNS < end else end - start
            for c in range(COLUMNS):
                tile.squared[c], tile.labels[c] = tree.kept[start + c], -1
            if points is None:
                computed += search_leaf(tree, batch, depth, best, start, rows, lists, tile)
            else:
                computed += _search_projected_leaf(
                    tree, batch, points, depth, best, start, rows, lists, tile
                )
            for c in range(rows):
                if tile.labels[c] >= 0:
                    i = tree.order[start + c]
                    if tile.squared[c] < squared[i]:
                        squared[i], labels[i] = tile.squared[c], tile.labels[c]
                    tree.kept[start + c] = squared[i]
            value = _largest_of_lesser(tile.squared, tile.squared)
            most = value if value > most else most
        tree.largest[t] = most
    return computed, visited
