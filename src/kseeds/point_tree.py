"""The tree over the points, as a forest of equal parts: each is built and searched by a task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kseeds.kernels import point_tree as kernels
from kseeds.kernels import tree_building
from kseeds.layout import COLUMNS
from kseeds.metrics import FloatArray, Metric
from kseeds.sketch import Sketch
from kseeds.threads import Workers

_PARTS = 32
"""Trees in a forest; fixed, so that nothing depends on the number of threads."""
_SAMPLE = 64 * _PARTS
_SHARED = 65_536
"""Rows that are shared out to the parts at a time."""


@dataclass(frozen=True)
class _Tree:
    order: npt.NDArray[np.int32]
    nodes: int
    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    first: npt.NDArray[np.int64]
    last: npt.NDArray[np.int64]
    lower: FloatArray
    upper: FloatArray
    tiles: FloatArray


class PointTree:
    """Exact nearest centres for all rows, batch after batch; Euclidean.

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

    opened = 0

    def __init__(
        self, points: FloatArray, metric: Metric, workers: Workers, sketch: Sketch | None = None
    ) -> None:
        self.metric = metric
        self._rows = points
        self._sketch = sketch
        self._radius = 0.0
        if self._sketch is not None:
            points, self._radius = self._sketch.of(points, workers)
            points.flags.writeable = False
        order, ends = _in_parts(points, workers)

        def build(start: int, stop: int) -> _Tree:
            low, high = ends[start], ends[stop]
            part = order[low:high]
            leaves = -(-(high - low) // COLUMNS)
            d, room = points.shape[1], 2 * leaves
            left, right = np.empty((2, room), dtype=np.int32)
            first, last = np.empty((2, room), dtype=np.int64)
            lower, upper = np.empty((2, room, d), dtype=points.dtype)
            tiles = np.empty((leaves * d, COLUMNS), dtype=points.dtype)
            nodes = tree_building.build(points, part, left, right, first, last, lower, upper, tiles)
            return _Tree(part, int(nodes), left, right, first, last, lower, upper, tiles)

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
        sketches, absolute = centers, 0.0
        if self._sketch is not None:
            sketches, radius = self._sketch.of(centers, workers)
            # Rounding of a sketch: of its coordinates, and of a rest that is a difference.
            precision = max(4.0 * float(np.finfo(centers.dtype).eps), 4e-8)
            absolute = precision * (self._radius + radius)

        def task(start: int, stop: int) -> tuple[int, int]:
            tree = self._trees[start]
            computed, visited = kernels.improve(
                sketches, centers, self._rows, self._sketch is not None, offset,
                self.metric.relative, absolute, tree.order, tree.nodes,
                tree.left, tree.right, tree.first, tree.last, tree.lower, tree.upper, tree.tiles,
                squared, labels,
            )  # fmt: skip
            return int(computed), int(visited)

        counts = workers.over_blocks(task, len(self._trees), 1)
        self.opened = sum(computed for computed, _ in counts)
        return self.opened, sum(visited for _, visited in counts)


def _in_parts(
    points: FloatArray, workers: Workers
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Return the rows part by part, and where the parts begin and end."""
    n = len(points)
    parts = _PARTS if n > 2 * _SAMPLE else 1
    sides, cuts = np.empty(parts - 1, dtype=np.int64), np.empty(parts - 1, dtype=points.dtype)
    tree_building.plan_parts(np.ascontiguousarray(points[:: max(1, n // _SAMPLE)]), sides, cuts)
    part_of = np.empty(n, dtype=np.uint8)
    order = np.empty(n, dtype=np.int32)

    def count(start: int, stop: int) -> npt.NDArray[np.int64]:
        counts = np.empty(parts, dtype=np.int64)
        tree_building.share_out(points, start, stop, sides, cuts, part_of, counts)
        return counts

    counts = np.array(workers.over_blocks(count, n, _SHARED))
    # Part after part, and in each the blocks of rows in order.
    places = np.cumsum(counts.T.ravel()).reshape(parts, -1).T - counts

    def place(start: int, stop: int) -> None:
        tree_building.place_rows(part_of, start, stop, places[start // _SHARED].copy(), order)

    workers.over_blocks(place, n, _SHARED)
    # Many equal rows may leave parts without any: those are no parts.
    return order, np.unique(np.concatenate([[0], np.cumsum(counts.sum(axis=0))]))
