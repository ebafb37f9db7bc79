"""The trees over parts of the points, one after the other in the same arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kseeds.distances.metrics import FloatArray
from kseeds.nearest import point_tree
from kseeds.nearest import tree_building_kernels as building
from kseeds.runtime.aligned import aligned
from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.threads import Workers


class Forest(NamedTuple):
    """Trees as in `kseeds.nearest.point_tree_kernels.Tree`, one after the other.

    Part p has the leaves from ``parts[p]`` to ``parts[p + 1]`` and twice as many nodes, less one.
    """

    order: Any
    first: Any
    counts: Any
    lower: Any
    upper: Any
    tiles: Any
    kept: Any
    largest: Any
    parts: Any


def forest_over(points: FloatArray, workers: Workers) -> Forest:
    """Return a forest over the points that is built in its place, so that nothing is there twice.

    Every part has as many places as it may need, and a leaf ends where its last tile does: places
    between parts are never touched. Distances of rows are not kept: ``kept`` is empty.
    """
    (n, d), dtype = points.shape, points.dtype
    numbers = np.empty(n, dtype=np.uint32)

    def place(part_of: Any, block: tuple[int, int], next_places: Any) -> None:
        building.place_numbers(part_of, *block, next_places, numbers)

    ends = point_tree.share_out(points, workers, place)
    leaves = [point_tree.leaves_for(int(size)) for size in np.diff(ends)]
    parts = np.cumsum([0, *leaves])
    room = -(-np.diff(ends) // COLUMNS) * COLUMNS + COLUMNS * np.array(leaves)
    begins = np.concatenate([[0], np.cumsum(room)])
    order = np.zeros(begins[-1], dtype=np.uint32)
    tiles = aligned((int(begins[-1]) // COLUMNS * d, COLUMNS), dtype)
    first, counts = np.empty(parts[-1] + 1, dtype=np.int64), np.empty(parts[-1], dtype=np.int64)
    first[-1] = begins[-1]
    nodes = int(2 * parts[-1]) - len(leaves)
    lower, upper = np.empty((2, nodes, d), dtype=dtype)

    def build(part: int, stop: int) -> None:
        some, leaf = numbers[ends[part] : ends[stop]], slice(parts[part], parts[stop])
        node = slice(2 * parts[part] - part, 2 * parts[stop] - part - 1)
        begin, end = int(begins[part]), int(begins[stop])
        tile = slice(begin // COLUMNS * d, end // COLUMNS * d)
        rows = np.empty((len(some), d), dtype=dtype)
        building.gather_rows(points, some, rows)
        found = point_tree.fill_tree(
            rows, some, leaves[part], order[begin:end], tiles[tile], lower[node], upper[node]
        )
        counts[leaf], first[leaf] = found[0], found[1][:-1] + begin

    workers.over_blocks(build, len(leaves), 1)
    kept, largest = np.empty(0, dtype=dtype), np.full(nodes, np.inf)
    return Forest(order, first, counts, lower, upper, tiles, kept, largest, parts)


def one_after_the_other(trees: list[Any]) -> Forest:
    """Return the trees in shared arrays, their rows infinitely far from any centre.

    Empties the list, tree by tree, so that not all are there twice.
    """
    parts = np.cumsum([0, *(len(tree.counts) for tree in trees)])
    places = np.cumsum([0, *(len(tree.order) for tree in trees)])
    (d, dtype), leaves = (trees[0].lower.shape[1], trees[0].lower.dtype), parts[-1]
    order, counts = np.empty(places[-1], dtype=np.uint32), np.empty(leaves, dtype=np.int64)
    first, nodes = np.empty(leaves + 1, dtype=np.int64), 2 * leaves - len(trees)
    tiles = aligned((places[-1] // COLUMNS * d, COLUMNS), dtype)
    lower, upper = np.empty((2, nodes, d), dtype=dtype)
    for p in range(len(trees)):
        tree, begin, leaf = trees[p], places[p], slice(parts[p], parts[p + 1])
        trees[p] = None
        node = slice(2 * parts[p] - p, 2 * parts[p + 1] - p - 1)
        order[begin : places[p + 1]], counts[leaf] = tree.order, tree.counts
        first[leaf], lower[node], upper[node] = tree.first[:-1] + begin, tree.lower, tree.upper
        tiles[begin // COLUMNS * d : places[p + 1] // COLUMNS * d] = tree.tiles
    first[-1] = places[-1]
    kept, largest = np.full(places[-1], np.inf, dtype=dtype), np.full(nodes, np.inf)
    beyond = first[:-1] + counts
    missing = first[1:] - beyond
    ends = np.cumsum(missing)
    kept[np.repeat(beyond - ends + missing, missing) + np.arange(ends[-1])] = -1.0
    return Forest(order, first, counts, lower, upper, tiles, kept, largest, parts)
