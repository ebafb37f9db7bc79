"""The tree over the points, as a forest of equal parts: each is built and searched by a task."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray, Metric
from kseeds.nearest import point_tree_kernels as kernels
from kseeds.nearest import tree_building_kernels as building
from kseeds.nearest.projection import Projection, rounding_of
from kseeds.nearest.state import Counts, Nearest
from kseeds.runtime.aligned import Reused, aligned, read_only
from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.threads import Workers, blocks_of

_PART_ROWS = 16_384
_MOST_PARTS = 6
"""Up to 64 trees in a forest, whatever the number of threads."""
_LEAF_ROWS = 192
_SAMPLED = 64
"""Rows of a sample for each part."""
_SAMPLED_FOR_LEAF = 8
_SHARED = 65_536
"""Rows that are shared out to the parts at a time."""
_TASK_NS, _LEAST_CENTERS = 2e8, 512


class PointTree:
    """See `kseeds.nearest.base.Strategy`; Euclidean.

    Leaves keep the rows as columns, 64 at a time, in boxes, with the distance that each row had
    after the last batch, and nodes the maximum of these. So a batch that is nearer to few rows
    reads little else than the tree.

    Parameters
    ----------
    points : ndarray
        The rows.
    metric : Metric
        Their metric.
    workers : Workers
        Threads to build with.
    projection : Projection, optional
        Builds the tree over projections of the points; without, over the points themselves, which
        is better for few dimensions.
    """

    def __init__(
        self,
        points: FloatArray,
        metric: Metric,
        workers: Workers,
        projection: Projection | None = None,
    ) -> None:
        self._metric = metric
        self._points = points
        self._projection = projection
        self._radius = 0.0
        self._followed: FloatArray | None = None
        if self._projection is not None:
            points, self._radius = self._projection.of(points, workers)
            points = read_only(points)
        parts = in_parts(points, workers)
        del points  # projections are not needed any more
        self._trees = trees_over(parts, workers)

    def update(self, nearest: Nearest, centers: FloatArray, first: int, workers: Workers) -> Counts:
        """See `kseeds.nearest.base.Strategy`."""
        # A task is one tree and one part of the batch: few centres, in case nothing is pruned, and
        # more when that has turned out to take no time. So an interrupt is heard soon.
        pair = 0.1 + (0.04 if self._projection is None else 0.2) * self._points.shape[1]
        trees, at, counts = len(self._trees), 0, []
        size = max(_LEAST_CENTERS, int(_TASK_NS * trees / (len(self._points) * pair)))
        while at < len(centers):
            part, started = centers[at : at + size], time.perf_counter()
            counts += self._update(nearest, part, first + at, workers)
            at += len(part)
            task = (time.perf_counter() - started) * workers.n_threads / trees
            size *= 4 if 1e9 * task < 0.2 * _TASK_NS else 1
        return Counts.total(counts)

    def _update(
        self, nearest: Nearest, centers: FloatArray, first: int, workers: Workers
    ) -> list[tuple[int, int, int]]:
        projected, absolute = centers, 0.0
        if self._projection is not None:
            projected, radius = self._projection.of(centers, workers)
            absolute = rounding_of(centers.dtype) * (self._radius + radius)
        batch = kernels.Batch(projected, centers, first, self._metric.relative, absolute)
        points = None if self._projection is None else self._points
        squared, labels = nearest.squared, nearest.labels
        leaves = max(len(tree.counts) for tree in self._trees)
        spaces = Reused(lambda: kernels.workspace(leaves, projected))
        is_new, self._followed = squared is not self._followed, None

        def task(start: int, stop: int) -> tuple[int, int, int]:
            tree = self._trees[start]
            if is_new:
                kernels.adopt(tree, squared)
            with spaces.one() as space:
                computed, visited = kernels.search(tree, batch, points, squared, labels, *space)
            return computed, visited, computed

        counts = workers.over_blocks(task, len(self._trees), 1)
        self._followed = squared  # only now: what was interrupted has to be looked at again
        return counts


class Parts(NamedTuple):
    """The numbers of the rows part by part, the rows themselves, and where parts begin and end."""

    order: npt.NDArray[np.uint32]
    placed: FloatArray
    ends: npt.NDArray[np.int64]


def trees_over(parts: Parts, workers: Workers) -> list[kernels.Tree]:
    """Return trees over parts of the points, each built by a task."""
    order, placed, ends = parts

    def build(start: int, stop: int) -> kernels.Tree:
        low, high = ends[start], ends[stop]
        return _tree_over(placed[low:high], order[low:high])

    return workers.over_blocks(build, len(ends) - 1, 1)


def leaves_for(n_rows: int) -> int:
    """Return how many leaves a tree over so many rows has, a power of two."""
    return int(1 << max(0, round(np.log2(n_rows / _LEAF_ROWS))))


def _tree_over(rows: FloatArray, numbers: npt.NDArray[np.uint32]) -> kernels.Tree:
    """Return the tree over some rows, whose numbers are given."""
    (n, d), dtype = rows.shape, rows.dtype
    leaves = leaves_for(n)
    most = n + COLUMNS * leaves
    order, tiles = np.empty(most, np.uint32), aligned((-(-most // COLUMNS) * d, COLUMNS), dtype)
    lower, upper = np.empty((2, 2 * leaves - 1, d), dtype=dtype)
    counts, first = fill_tree(rows, numbers, leaves, order, tiles, lower, upper)
    places = int(first[-1])
    kept, largest = aligned(places, dtype), np.empty(2 * leaves - 1)
    tiles = tiles[: places // COLUMNS * d]
    return kernels.Tree(order[:places], first, counts, lower, upper, tiles, kept, largest)


def fill_tree(
    rows: FloatArray,
    numbers: npt.NDArray[np.uint32],
    leaves: int,
    order: npt.NDArray[np.uint32],
    tiles: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Write a tree over some rows; return how many each leaf has, and where leaves begin.

    Up to a tile more is needed for each leaf than the rows take.
    """
    rows = read_only(rows)
    sides, cuts = _splits(rows, leaves, _SAMPLED_FOR_LEAF)
    leaf_of = np.empty(len(rows), dtype=np.uint32)
    counts = np.empty(leaves, dtype=np.int64)
    _share_out(rows, (0, len(rows)), sides, cuts, leaf_of, counts)
    first = np.zeros(leaves + 1, dtype=np.int64)
    np.cumsum(-(-counts // COLUMNS) * COLUMNS, out=first[1:])
    unsigned = first.astype(np.uint64)
    building.place_in_tiles(rows, numbers, leaf_of, unsigned, unsigned.copy(), order, tiles)
    building.find_boxes(first, tiles, lower, upper, *aligned((2, COLUMNS), rows.dtype))
    return counts, first


def _share_out(
    points: FloatArray, block: tuple[int, int], sides: Any, cuts: Any, part_of: Any, counts: Any
) -> None:
    space = np.empty((2, building.ABREAST), dtype=np.uint64)
    building.share_out(points, *block, sides, cuts, part_of, counts, *space)


def _splits(
    points: FloatArray, parts: int, sampled: int
) -> tuple[npt.NDArray[np.uint32], FloatArray]:
    """Return the splits that share rows out to so many parts; see `building.plan_splits`."""
    sides, cuts = np.empty(parts - 1, dtype=np.uint32), np.empty(parts - 1, dtype=points.dtype)
    sample = np.ascontiguousarray(points[:: max(1, len(points) // (sampled * parts))])
    keys, ends = np.empty(len(sample), dtype=points.dtype), np.zeros((2 * parts, 2), dtype=np.int64)
    ends[0, 1] = len(sample)
    building.plan_splits(sample, np.arange(len(sample)), keys, ends, sides, cuts)
    return sides, cuts


def in_parts(points: FloatArray, workers: Workers) -> Parts:
    """Return the rows in equal parts, near ones in the same."""
    order, placed = np.empty(len(points), dtype=np.uint32), np.empty_like(points)

    def place(part_of: Any, block: tuple[int, int], next_places: Any) -> None:
        building.place_rows(points, part_of, *block, next_places, order, placed)

    return Parts(order, placed, share_out(points, workers, place))


def share_out(
    points: FloatArray,
    workers: Workers,
    place: Callable[[Any, tuple[int, int], Any], None],
) -> npt.NDArray[np.int64]:
    """Share rows out to parts; return where these begin and end.

    ``place`` is called with the parts of all rows, and for each block of rows with the next places
    of the parts.
    """
    n = len(points)
    parts = 1 << max(0, min(_MOST_PARTS, round(np.log2(n / _PART_ROWS))))
    sides, cuts = _splits(points, parts, _SAMPLED)
    part_of = np.empty(n, dtype=np.uint32)
    blocks = blocks_of(n, _SHARED)

    def count(block: int, _: int) -> npt.NDArray[np.int64]:
        counts = np.empty(parts, dtype=np.int64)
        _share_out(points, blocks[block], sides, cuts, part_of, counts)
        return counts

    counts = np.array(workers.over_blocks(count, len(blocks), 1))
    # Part after part, and in each the blocks of rows in order.
    places = np.cumsum(counts.T.ravel()).reshape(parts, -1).T - counts

    def place_block(block: int, _: int) -> None:
        place(part_of, blocks[block], places[block].copy())

    workers.over_blocks(place_block, len(blocks), 1)
    # Many equal rows may leave parts without any: those are no parts.
    return np.unique(np.concatenate([[0], np.cumsum(counts.sum(axis=0))]))
