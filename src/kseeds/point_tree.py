"""The tree over the points, as a forest of equal parts: each is built and searched by a task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kseeds.kernels import point_tree as kernels
from kseeds.layout import COLUMNS
from kseeds.metrics import FloatArray, Metric
from kseeds.sketch import Sketch
from kseeds.threads import Workers

_PARTS = 32
"""Trees in a forest; fixed, so that nothing depends on the number of threads."""


@dataclass(frozen=True)
class _Tree:
    low: int
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
    """

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
        self._order = np.arange(len(points), dtype=np.int32)
        keys = np.empty(len(points), dtype=points.dtype)
        parts = [(0, len(points))]
        while len(parts) < _PARTS and parts[0][1] - parts[0][0] > 64 * COLUMNS:
            halves = workers.over_blocks(
                lambda start, stop, parts=parts: [  # type: ignore[misc]
                    (low, int(kernels.split_in_two(points, self._order, keys, low, high)), high)
                    for low, high in parts[start:stop]
                ],
                len(parts),
                1,
            )
            parts = [
                part
                for block in halves
                for low, middle, high in block
                for part in ((low, middle), (middle, high))
            ]

        def build(start: int, stop: int) -> _Tree:
            low, high = parts[start]
            leaves = -(-(high - low) // COLUMNS)
            d, room = points.shape[1], 2 * leaves
            left, right = np.empty((2, room), dtype=np.int32)
            first, last = np.empty((2, room), dtype=np.int64)
            lower, upper = np.empty((2, room, d), dtype=points.dtype)
            tiles = np.empty((leaves * d, COLUMNS), dtype=points.dtype)
            nodes = kernels.build(
                points, self._order, keys, low, high, left, right, first, last, lower, upper, tiles
            )
            return _Tree(low, int(nodes), left, right, first, last, lower, upper, tiles)

        self._trees = workers.over_blocks(build, len(parts), 1)

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
                self.metric.relative, absolute, self._order, tree.low, tree.nodes,
                tree.left, tree.right, tree.first, tree.last, tree.lower, tree.upper, tree.tiles,
                squared, labels,
            )  # fmt: skip
            return int(computed), int(visited)

        counts = workers.over_blocks(task, len(self._trees), 1)
        return sum(c for c, _ in counts), sum(v for _, v in counts)
