"""Lloyd's iteration on a forest over the points: whole nodes go to a centre where one is left.

The centres descend the tree as a list, as in `kseeds.nearest.point_tree_kernels`. Where the list of
a node has shrunk to one, all its rows go there; mostly they are there already, and nothing is done.
Labels are kept in the order of the tree, so that no row is looked up that does not change. Once the
centres move by little, leaves keep their lists (`kseeds.lloyd.kept_kernels`), and the centres only
descend to those leaves whose lists may not be complete any more.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kseeds.lloyd.kept_kernels import (
    Kept,
    Moves,
    Owned,
    Sums,
    add_fast,
    change,
    finish_tile,
    follow,
    limit_of,
    settle_new_tile,
    settle_tile,
    surpassing,
    tiles_end,
)
from kseeds.nearest.forest import Forest
from kseeds.nearest.point_tree_kernels import (
    Batch,
    LeafTile,
    Lists,
    keep_within,
    measure_list,
    search_leaf,
)
from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.compiler import inlined, kernel

_LONGEST = 0.3
"""Margin of a list at most, as a share of how far its rows reach."""
_SHORTER = 0.3
"""Share of the margin that is left to lists that are too long with all of it."""


@inlined
def _give_whole(
    forest: Forest, part: int, t: int, label: Any, reach: float, beyond: float, keeps: int,
    owned: Owned, kept: Kept, sums: Sums,
) -> int:  # fmt: skip
    """Give all rows of node t of a part to a centre; return how many rows have changed.

    None of them is farther from it than ``reach``, and no other is nearer than ``beyond``. That is
    known of leaves that are to be searched; others have been settled by the lists that they keep.
    """
    count = 0
    low, leaves = forest.parts[part], forest.parts[part + 1] - forest.parts[part]
    first = last = t
    while first < leaves - 1:
        first, last = 2 * first + 1, 2 * last + 2
    for leaf in range(low + first - leaves + 1, low + last - leaves + 2):
        if forest.largest[low - part + leaf + leaves - 1] < 0.0:
            continue
        end = forest.first[leaf] + forest.counts[leaf]
        kept.lengths[leaf], kept.items[leaf, 0], kept.beyond[leaf] = keeps, label, beyond
        for number in range(forest.first[leaf] // COLUMNS, tiles_end(forest, leaf)):
            kept.expiry[number, 0] = -np.inf
            if reach < owned.reached[number]:
                owned.reached[number] = reach
            if owned.owners[number] == label:
                continue
            owned.owners[number] = label
            for s in range(number * COLUMNS, (number + 1) * COLUMNS):
                if s < end and owned.labels[s] != label:
                    count += change(forest, owned, s, label, sums)
                owned.labels[s] = label
    return count


@inlined
def _settle_leaf(
    forest: Forest, node: int, leaf: int, batch: Batch, moves: Moves, owned: Owned, kept: Kept,
    sums: Sums, lists: Lists, tile: LeafTile,
) -> Any:  # fmt: skip
    """Let a leaf follow the centres, and find the nearest of its rows by the list that it keeps.

    Returns how far its rows reach, or less than 0 if that is done; how many have changed, the
    distances computed, and the rows that were not looked at.
    """
    changed, computed, skipped = 0, 0, 0
    first, stop = forest.first[leaf] // COLUMNS, tiles_end(forest, leaf)
    reach = follow(owned, first, stop, moves)
    if moves.keeps == 0 or kept.lengths[leaf] == 0:
        kept.lengths[leaf] = 0
        return reach, changed, computed, skipped
    kept.beyond[leaf] -= moves.slow
    is_complete = surpassing(reach, batch) < kept.beyond[leaf]
    if not is_complete or not add_fast(forest, node, leaf, batch, moves, owned, kept, lists):
        kept.lengths[leaf] = 0
        return reach, changed, computed, skipped
    end = forest.first[leaf] + forest.counts[leaf]
    for number in range(first, stop):
        start = number * COLUMNS
        rows = COLUMNS if start + COLUMNS < end else end - start
        count, compared = settle_tile(
            forest, leaf, number, rows, batch, moves, owned, kept, sums, lists, tile
        )
        changed += count
        computed += compared * rows
        if compared == 0:
            skipped += rows
    return -1.0, changed, computed, skipped


@inlined
def _beyond(reach: float, margin: float, batch: Batch) -> float:
    """Return up to which distance centres are listed by rows that reach so far.

    It surpasses ``reach``, and a distance to a box errs by no more than those to rows.
    """
    return (reach + margin) * (1.0 + 6.0 * batch.relative) + 3.0 * batch.absolute


@inlined
def _shorten(depth: int, limit: float, lists: Lists) -> None:
    """Drop those centres from the list of a leaf whose squared distances exceed a limit."""
    kept = 0
    for k in range(lists.lengths[depth]):
        lists.items[depth, kept], lists.nearest[kept] = lists.items[depth, k], lists.nearest[k]
        kept += lists.nearest[k] <= limit
    lists.lengths[depth] = kept


@inlined
def _search_rows(
    forest: Forest, leaf: int, batch: Batch, moves: Moves, depth: int, best: int, reach: float,
    margin: float, owned: Owned, kept: Kept, sums: Sums, lists: Lists, tile: LeafTile,
) -> Any:  # fmt: skip
    """Find the nearest centres of the rows of a leaf.

    Returns how many rows have changed, and how many distances were computed.
    """
    computed, count = 0, 0
    end = forest.first[leaf] + forest.counts[leaf]
    longest = kept.items.shape[1]
    for share in (_SHORTER, 0.0):
        if moves.keeps == 1 and lists.lengths[depth] > longest:
            margin *= share
            _shorten(depth, limit_of(_beyond(reach, margin, batch), batch), lists)
    is_kept = moves.keeps == 1 and lists.lengths[depth] <= longest
    if is_kept:
        kept.lengths[leaf] = lists.lengths[depth]
        kept.beyond[leaf] = _beyond(reach, margin, batch)
        for k in range(lists.lengths[depth]):
            kept.items[leaf, k] = lists.items[depth, k]
    for start in range(forest.first[leaf], end, COLUMNS):
        rows, number = COLUMNS if start + COLUMNS < end else end - start, start // COLUMNS
        if is_kept:
            more, compared = settle_new_tile(
                forest, leaf, number, rows, best, depth, batch, moves, owned, kept, sums, lists,
                tile,
            )  # fmt: skip
            count += more
            computed += compared * rows
        else:
            for c in range(COLUMNS):
                tile.squared[c], tile.labels[c] = np.inf, -1
            computed += search_leaf(forest, batch, depth, best, start, rows, lists, tile)
            count += finish_tile(forest, number, rows, batch, owned, sums, tile)
    return count, computed


@kernel
def assign_parts(
    forest: Forest, start: int, stop: int, batch: Batch, moves: Moves, owned: Owned, kept: Kept,
    sums: Sums, lists: Lists, tile: LeafTile,
) -> Any:  # fmt: skip
    """Find the nearest centres of all rows of the parts from ``start`` to ``stop``.

    Returns how many rows have changed, the distances computed, the nodes visited, and the rows
    that were not looked at. ``forest.largest`` is how far the rows of nodes reach that have
    leaves to be searched, and less than 0 for the others.
    """
    changed, computed, visited, skipped = 0, 0, 0, 0
    d = forest.lower.shape[1]
    for part in range(start, stop):
        low, leaves = forest.parts[part], forest.parts[part + 1] - forest.parts[part]
        base = 2 * low - part
        for t in range(leaves - 1, 2 * leaves - 1):
            leaf = low + t - leaves + 1
            forest.largest[base + t] = -1.0
            if forest.counts[leaf] > 0:
                visited += 1
                reach, count, pairs, rows = _settle_leaf(
                    forest, base + t, leaf, batch, moves, owned, kept, sums, lists, tile
                )
                forest.largest[base + t] = reach
                changed += count
                computed += pairs
                skipped += rows
        for t in range(leaves - 2, -1, -1):
            a, b = forest.largest[base + 2 * t + 1], forest.largest[base + 2 * t + 2]
            forest.largest[base + t] = a if a > b else b
        lists.stack[0], lists.depths[0], size = 0, 1, 1
        while size > 0:
            size -= 1
            t, depth = lists.stack[size], lists.depths[size]
            node, leaf = base + t, low + t - leaves + 1
            reach = forest.largest[node]
            if reach < 0.0:
                continue
            visited += 1
            best, least = measure_list(forest, 0, node, depth, lists)
            farthest = math.sqrt(np.float64(least)) * (1.0 + batch.relative) + batch.absolute
            reach = farthest if farthest < reach else reach
            margin = moves.margin if moves.margin < _LONGEST * reach else _LONGEST * reach
            beyond = _beyond(reach, margin, batch)
            keep_within(d, depth, limit_of(beyond, batch), leaf >= low, lists)
            if lists.lengths[depth] == 1:
                only = lists.items[depth, 0]
                changed += _give_whole(
                    forest, part, t, only, reach, beyond, moves.keeps, owned, kept, sums
                )
            elif leaf >= low:
                count, pairs = _search_rows(
                    forest, leaf, batch, moves, depth, best, reach, margin, owned, kept, sums,
                    lists, tile,
                )  # fmt: skip
                changed += count
                computed += pairs
            else:
                lists.stack[size], lists.depths[size] = 2 * t + 2, depth + 1
                lists.stack[size + 1], lists.depths[size + 1] = 2 * t + 1, depth + 1
                size += 2
    return changed, computed, visited, skipped


@kernel
def write_labels(forest: Forest, start: int, stop: int, owned: Owned, labels: Any) -> None:
    """Write the labels of the leaves from ``start`` to ``stop`` by the numbers of the rows."""
    for leaf in range(start, stop):
        for s in range(forest.first[leaf], forest.first[leaf] + forest.counts[leaf]):
            labels[forest.order[s]] = owned.labels[s]
