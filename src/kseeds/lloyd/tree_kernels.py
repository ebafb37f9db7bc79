"""Lloyd's iteration on a forest over the points: whole nodes go to a centre where one is left.

The centres descend the tree as a list, as in `kseeds.nearest.point_tree_kernels`. Where the list of
a node has shrunk to one, all its rows go there; mostly they are there already, and nothing is done.
Labels are kept in the order of the tree, so that no row is looked up that does not change.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from kseeds.lloyd.sums_kernels import move_values
from kseeds.nearest.forest import Forest
from kseeds.nearest.point_tree_kernels import Batch, LeafTile, Lists, filter_list, search_leaf
from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.compiler import inlined, kernel
from kseeds.simd.tables import largest_of_lesser

_largest_of_lesser = largest_of_lesser()


class Owned(NamedTuple):
    """What is known: the centre of every row, by its place, and of whole nodes, or -1."""

    labels: Any
    owners: Any


class Sums(NamedTuple):
    """Sums of clusters that follow the rows (`kseeds.lloyd.sums`), and the weights of all rows.

    ``rest`` is a workspace of as many values as there are columns, and one.
    """

    sums: Any
    anchors: Any
    weights: Any
    rest: Any


@inlined
def _change(forest: Forest, owned: Owned, s: int, label: Any, sums: Sums) -> int:
    """Give the row at place s, which has another, a label; return 1."""
    d, rest = forest.lower.shape[1], sums.rest
    base, column, former = s // COLUMNS * d, s % COLUMNS, owned.labels[s]
    owned.labels[s] = label
    weight = 1.0
    if sums.weights.shape[0] > 0:
        weight = sums.weights[forest.order[s]]
    for j in range(d):
        rest[j] = np.float64(forest.tiles[base + j, column]) * weight
    rest[d] = weight
    move_values(former, label, sums.anchors, rest, sums.sums)
    return 1


@inlined
def _give_whole(forest: Forest, part: int, t: int, label: Any, owned: Owned, sums: Sums) -> int:
    """Give all rows of node t of a part to a centre; return how many rows have changed."""
    count = 0
    low, leaves = forest.parts[part], forest.parts[part + 1] - forest.parts[part]
    node = 2 * low - part + t
    if owned.owners[node] == label:
        return count
    owned.owners[node] = label
    first = last = t
    while first < leaves - 1:
        first, last = 2 * first + 1, 2 * last + 2
    for leaf in range(low + first - leaves + 1, low + last - leaves + 2):
        begin = forest.first[leaf]
        for s in range(begin, begin + forest.counts[leaf]):
            if owned.labels[s] != label:
                count += _change(forest, owned, s, label, sums)
    return count


@inlined
def _search_rows(
    forest: Forest, leaf: int, batch: Batch, depth: int, best: int, owned: Owned, sums: Sums,
    lists: Lists, tile: LeafTile,
) -> Any:  # fmt: skip
    """Find the nearest centres of the rows of a leaf.

    Returns how many rows have changed, the largest of their squared distances, and how many
    distances were computed.
    """
    most, computed, count = tile.squared.dtype.type(0.0), 0, 0
    end = forest.first[leaf] + forest.counts[leaf]
    for start in range(forest.first[leaf], end, COLUMNS):
        rows = COLUMNS if start + COLUMNS < end else end - start
        for c in range(COLUMNS):
            tile.squared[c], tile.labels[c] = np.inf, -1
        computed += search_leaf(forest, batch, depth, best, start, rows, lists, tile)
        differ = 0
        for c in range(COLUMNS):  # mostly nothing does; the places beyond the rows may
            differ |= owned.labels[start + c] ^ tile.labels[c]
        if differ != 0:
            for c in range(rows):
                if owned.labels[start + c] != tile.labels[c]:
                    count += _change(forest, owned, start + c, tile.labels[c], sums)
        value = _largest_of_lesser(tile.squared, tile.squared)
        most = value if value > most else most
    return count, most, computed


@kernel
def assign_parts(
    forest: Forest, start: int, stop: int, batch: Batch, drift: float, owned: Owned,
    sums: Sums, lists: Lists, tile: LeafTile,
) -> Any:  # fmt: skip
    """Find the nearest centres of all rows of the parts from ``start`` to ``stop``.

    No centre has moved by more than ``drift`` since the last time. Returns how many rows have
    changed, the distances computed, and the nodes visited.
    """
    changed, computed, visited = 0, 0, 0
    for part in range(start, stop):
        low, leaves = forest.parts[part], forest.parts[part + 1] - forest.parts[part]
        base = 2 * low - part
        lists.stack[0], lists.depths[0], size = 0, 1, 1
        while size > 0:
            size -= 1
            t, depth = lists.stack[size], lists.depths[size]
            if t < 0:  # both children are done
                a, b = forest.largest[base + 2 * ~t + 1], forest.largest[base + 2 * ~t + 2]
                forest.largest[base + ~t] = a if a > b else b
                continue
            node, leaf = base + t, low + t - leaves + 1
            is_leaf = leaf >= low
            if is_leaf and forest.counts[leaf] == 0:
                forest.largest[node] = 0.0
                continue
            visited += 1
            reached = math.sqrt(forest.largest[node]) + drift
            forest.largest[node] = reached * reached * (1.0 + batch.relative)
            best = filter_list(forest, batch, 0, node, depth, is_leaf, lists)
            if lists.lengths[depth] == 1:
                changed += _give_whole(forest, part, t, np.int32(best), owned, sums)
                continue
            owner = owned.owners[node]
            owned.owners[node] = -1
            if is_leaf:
                count, most, pairs = _search_rows(
                    forest, leaf, batch, depth, best, owned, sums, lists, tile
                )
                changed += count
                forest.largest[node] = most
                computed += pairs
                continue
            if owner >= 0:
                # The children were not visited while their parent was whole, and what is known of
                # them is as old as that.
                owned.owners[node + t + 1] = owned.owners[node + t + 2] = owner
                reached_by_all = forest.largest[node]
                forest.largest[node + t + 1] = forest.largest[node + t + 2] = reached_by_all
            lists.stack[size], lists.depths[size] = ~t, depth
            lists.stack[size + 1], lists.depths[size + 1] = 2 * t + 2, depth + 1
            lists.stack[size + 2], lists.depths[size + 2] = 2 * t + 1, depth + 1
            size += 3
    return changed, computed, visited


@kernel
def write_labels(forest: Forest, start: int, stop: int, owned: Owned, labels: Any) -> None:
    """Write the labels of the leaves from ``start`` to ``stop`` by the numbers of the rows."""
    for leaf in range(start, stop):
        for s in range(forest.first[leaf], forest.first[leaf] + forest.counts[leaf]):
            labels[forest.order[s]] = owned.labels[s]
