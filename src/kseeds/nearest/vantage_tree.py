"""The vantage-point tree of Algorithm 4, over centres: for k-means|| and for nearest centres."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray, Metric
from kseeds.runtime.threads import Workers, rows_for

LEAF_SIZE = 16
_BUILD_DISTANCES = 1 << 20


class VantageTree:
    """The tree over prepared points; assumes valid input. `kseeds.VPTree` is the public one."""

    def __init__(self, points: FloatArray, metric: Metric, leaf_size: int = LEAF_SIZE) -> None:
        from kseeds.nearest import vantage_tree_kernels as kernels

        m = len(points)
        # A split leaves at least leaf_size // 2 items a side, so this many nodes suffice.
        room = 2 * (m // max(leaf_size // 2, 1)) + 3
        self.metric = metric
        self.order = np.arange(m, dtype=np.int64)
        self.gaps = np.zeros(m, dtype=np.float64)
        self.first, self.last, self.near, self.far = np.full((4, room), -1, dtype=np.int64)
        self.ranges = np.zeros((room, 4), dtype=np.float64)
        self.first[0], self.last[0] = 0, m
        self.nodes, self.distances, done = 1, 0, 0
        while done < self.nodes:  # between two calls there may be an interrupt
            done, self.nodes, computed = kernels.build(
                points, int(metric.family), leaf_size, done, self.nodes, _BUILD_DISTANCES,
                self.order, self.gaps, self.first, self.last, self.near, self.far, self.ranges,
            )  # fmt: skip
            self.distances += computed
        self.points = np.ascontiguousarray(points[self.order])

    def improve(
        self,
        queries: FloatArray,
        squared: FloatArray,
        labels: npt.NDArray[np.int32],
        workers: Workers,
        *,
        offset: int = 0,
        in_range: bool = True,
    ) -> tuple[int, int]:
        """Overwrite ``squared`` and ``labels`` where an item is strictly nearer.

        Returns the distances computed and the nodes visited.
        """
        from kseeds.nearest.vantage_tree_kernels import nearest_in_range

        def task(start: int, stop: int) -> tuple[int, int]:
            computed, visited = nearest_in_range(
                queries, start, stop, self.points, int(self.metric.family),
                self.metric.relative, self.metric.absolute, self.order, self.gaps,
                self.first, self.last, self.near, self.far, self.ranges,
                in_range, offset, squared, labels,
            )  # fmt: skip
            return int(computed), int(visited)

        # Nothing may be pruned: then a query is compared with every item.
        rows = rows_for(len(self.points) * (20.0 + 0.1 * queries.shape[1]))
        counts = workers.over_blocks(task, len(queries), rows)
        return sum(c for c, _ in counts), sum(v for _, v in counts)


class CenterTrees:
    """Exact nearest centres for all rows: a tree over each batch of centres; any metric.

    Parameters
    ----------
    points : ndarray
        The rows.
    metric : Metric
        Their metric.

    Attributes
    ----------
    opened : int
        How many distances the rows needed in the last batch.
    """

    exact_evaluations = 0

    def __init__(self, points: FloatArray, metric: Metric) -> None:
        self._points, self._metric = points, metric

    def improve(
        self,
        centers: FloatArray,
        offset: int,
        squared: FloatArray,
        labels: npt.NDArray[np.int32],
        workers: Workers,
    ) -> tuple[int, int]:
        """Overwrite ``squared`` and ``labels`` where one of ``centers`` is strictly nearer.

        Returns the distances computed, also between centres, and the nodes visited.
        """
        tree = VantageTree(centers, self._metric)
        self.exact_evaluations, visited = tree.improve(
            self._points, squared, labels, workers, offset=offset
        )
        return int(tree.distances) + self.exact_evaluations, visited
