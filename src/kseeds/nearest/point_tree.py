"""The tree over the points, as a forest of equal parts: each is built and searched by a task."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray, Metric
from kseeds.nearest import point_tree_kernels as kernels
from kseeds.nearest import tree_building_kernels as tree_building
from kseeds.nearest.projection import Sketch
from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.threads import Workers

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


@dataclass(frozen=True)
class _Tree:
    """Complete binary: node t has the children 2t + 1 and 2t + 2, the leaves come last."""

    order: npt.NDArray[np.uint32]
    first: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    lower: FloatArray
    upper: FloatArray
    tiles: FloatArray
    kept: FloatArray
    largest: npt.NDArray[np.float64]


class PointTree:
    """Exact nearest centres for all rows, batch after batch; Euclidean.

    Leaves keep the rows as columns, 64 at a time, in boxes, with what each row had when it was
    last met and the maximum of that for every node. So a batch that improves few rows reads
    little else than the tree.

    Parameters
    ----------
    points : ndarray
        The rows.
    metric : Metric
        Their metric.
    workers : Workers
        Threads to use.
    sketch : Sketch, optional
        Builds the tree over sketches of the points; without, over the points themselves, which
        is better for few dimensions.

    Attributes
    ----------
    opened : int
        How many pairs of the last batch were computed on whole rows.
    """

    exact_evaluations = 0

    def __init__(
        self, points: FloatArray, metric: Metric, workers: Workers, sketch: Sketch | None = None
    ) -> None:
        self.metric = metric
        self._rows = points
        self._sketch = sketch
        self._radius = 0.0
        self._followed: FloatArray | None = None
        if self._sketch is not None:
            points, self._radius = self._sketch.of(points, workers)
            points.flags.writeable = False
        order, placed, ends = _in_parts(points, workers)

        def build(start: int, stop: int) -> _Tree:
            low, high = ends[start], ends[stop]
            return _tree_over(placed[low:high], order[low:high])

        self._trees = workers.over_blocks(build, len(ends) - 1, 1)

    def improve(
        self,
        centers: FloatArray,
        offset: int,
        squared: FloatArray,
        labels: npt.NDArray[np.int32],
        workers: Workers,
    ) -> tuple[int, int]:
        """Overwrite ``squared`` and ``labels`` where one of ``centers`` is strictly nearer.

        Returns the distances computed and the nodes visited.
        """
        self.exact_evaluations, visited = 0, 0
        # A task is one tree and one part of the batch: few centres, in case nothing is pruned, and
        # more when that has turned out to take no time. So an interrupt is heard soon.
        pair = 0.1 + (0.04 if self._sketch is None else 0.2) * self._rows.shape[1]
        trees, first = len(self._trees), 0
        size = max(_LEAST_CENTERS, int(_TASK_NS * trees / (len(self._rows) * pair)))
        while first < len(centers):
            part, started = centers[first : first + size], time.perf_counter()
            computed, more = self._improve(part, offset + first, squared, labels, workers)
            self.exact_evaluations, visited = self.exact_evaluations + computed, visited + more
            first += len(part)
            task = (time.perf_counter() - started) * workers.n_threads / trees
            size *= 4 if 1e9 * task < 0.2 * _TASK_NS else 1
        return self.exact_evaluations, visited

    def _improve(
        self,
        centers: FloatArray,
        offset: int,
        squared: FloatArray,
        labels: npt.NDArray[np.int32],
        workers: Workers,
    ) -> tuple[int, int]:
        sketches, absolute = centers, 0.0
        if self._sketch is not None:
            sketches, radius = self._sketch.of(centers, workers)
            # Rounding of a sketch: of its coordinates, and of a rest that is a difference.
            precision = max(4.0 * float(np.finfo(centers.dtype).eps), 4e-8)
            absolute = precision * (self._radius + radius)

        is_new, self._followed = squared is not self._followed, None

        def task(start: int, stop: int) -> tuple[int, int]:
            tree = self._trees[start]
            if is_new:
                kernels.adopt(tree.order, tree.first, tree.counts, squared, tree.kept, tree.largest)
            computed, visited = kernels.improve(
                sketches, centers, None if self._sketch is None else self._rows, offset,
                self.metric.relative, absolute, tree.order, tree.first, tree.counts,
                tree.lower, tree.upper, tree.tiles, tree.kept, tree.largest, squared, labels,
            )  # fmt: skip
            return int(computed), int(visited)

        counts = workers.over_blocks(task, len(self._trees), 1)
        self._followed = squared  # only now: what was interrupted has to be looked at again
        return sum(computed for computed, _ in counts), sum(visited for _, visited in counts)


def _tree_over(rows: FloatArray, numbers: npt.NDArray[np.uint32]) -> _Tree:
    """Return the tree over some rows, whose numbers are given."""
    (n, d), dtype = rows.shape, rows.dtype
    leaves = 1 << max(0, round(np.log2(n / _LEAF_ROWS)))
    sides, cuts = _plan(rows, leaves, _SAMPLED_FOR_LEAF)
    leaf_of = np.empty(n, dtype=np.uint32)
    counts = np.empty(leaves, dtype=np.int64)
    tree_building.share_out(rows, 0, n, sides, cuts, leaf_of, counts)
    first = np.zeros(leaves + 1, dtype=np.int64)
    np.cumsum(-(-counts // COLUMNS) * COLUMNS, out=first[1:])
    order = np.empty(first[-1], dtype=np.uint32)
    tiles = np.empty((first[-1] // COLUMNS * d, COLUMNS), dtype=dtype)
    tree_building.place_in_tiles(
        rows, numbers, leaf_of, first.astype(np.uint64), counts, order, tiles
    )
    nodes = 2 * leaves - 1
    lower, upper = np.empty((2, nodes, d), dtype=dtype)
    tree_building.find_boxes(first, tiles, lower, upper)
    kept, largest = np.empty(len(order), dtype=dtype), np.empty(nodes)
    return _Tree(order, first, counts, lower, upper, tiles, kept, largest)


def _plan(
    points: FloatArray, parts: int, sampled: int
) -> tuple[npt.NDArray[np.uint32], FloatArray]:
    """Return the splits that share rows out to so many parts; see `tree_building.plan_parts`."""
    sides, cuts = np.empty(parts - 1, dtype=np.uint32), np.empty(parts - 1, dtype=points.dtype)
    sample = points[:: max(1, len(points) // (sampled * parts))]
    tree_building.plan_parts(np.ascontiguousarray(sample), sides, cuts)
    return sides, cuts


def _in_parts(
    points: FloatArray, workers: Workers
) -> tuple[npt.NDArray[np.uint32], FloatArray, npt.NDArray[np.int64]]:
    """Return the numbers of the rows part by part, the rows, and where parts begin and end."""
    n = len(points)
    parts = 1 << max(0, min(_MOST_PARTS, round(np.log2(n / _PART_ROWS))))
    sides, cuts = _plan(points, parts, _SAMPLED)
    part_of = np.empty(n, dtype=np.uint8)
    order, placed = np.empty(n, dtype=np.uint32), np.empty_like(points)

    def count(start: int, stop: int) -> npt.NDArray[np.int64]:
        counts = np.empty(parts, dtype=np.int64)
        tree_building.share_out(points, start, stop, sides, cuts, part_of, counts)
        return counts

    counts = np.array(workers.over_blocks(count, n, _SHARED))
    # Part after part, and in each the blocks of rows in order.
    places = np.cumsum(counts.T.ravel()).reshape(parts, -1).T - counts

    def place(start: int, stop: int) -> None:
        block = places[start // _SHARED].copy()
        tree_building.place_rows(points, part_of, start, stop, block, order, placed)

    workers.over_blocks(place, n, _SHARED)
    # Many equal rows may leave parts without any: those are no parts.
    ends = np.unique(np.concatenate([[0], np.cumsum(counts.sum(axis=0))]))
    return order, placed, ends
