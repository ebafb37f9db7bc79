"""The vantage-point tree of Algorithm 4, over centres: for k-means|| and for nearest centres."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray, Metric
from kseeds.nearest.state import Counts, Nearest
from kseeds.runtime.aligned import Reused, read_only
from kseeds.runtime.threads import Workers, rows_for

LEAF_SIZE = 16
_BUILD_DISTANCES = 1 << 20


class VantageTree:
    """The tree over prepared points; assumes valid input. `kseeds.VPTree` is the public one."""

    def __init__(self, points: FloatArray, metric: Metric, leaf_size: int = LEAF_SIZE) -> None:
        from kseeds.nearest import vantage_tree_kernels as kernels

        m = len(points)
        # A split leaves at least leaf_size // 2 items a side, so this many nodes suffice.
        most = 2 * (m // max(leaf_size // 2, 1)) + 3
        first, last, near, far = np.full((4, most), -1, dtype=np.int64)
        first[0], last[0] = 0, m
        points, self._metric = read_only(points), metric
        self._nodes = kernels.Nodes(
            np.arange(m, dtype=np.int64), np.zeros(m), first, last, near, far, np.zeros((most, 4))
        )
        self.distances, done, nodes = 0, 0, 1
        while done < nodes:  # between two calls there may be an interrupt
            done, nodes, computed = kernels.build(
                points, metric.kernel_family, self._nodes, leaf_size, done, nodes, _BUILD_DISTANCES
            )
            self.distances += int(computed)
        self._points = np.ascontiguousarray(points[self._nodes.order])

    def __len__(self) -> int:
        return len(self._points)

    def search(
        self,
        queries: FloatArray,
        squared: FloatArray,
        labels: npt.NDArray[np.int32],
        workers: Workers,
        *,
        first: int = 0,
        in_range: bool = True,
    ) -> tuple[int, int]:
        """Overwrite ``squared`` and ``labels`` where an item, numbered from ``first``, is nearer.

        Returns the distances computed and the nodes visited.
        """
        from kseeds.nearest.vantage_tree_kernels import nearest_in_range, new_stack

        metric, stacks = self._metric, Reused(new_stack)

        def task(start: int, stop: int) -> tuple[int, int]:
            with stacks.one() as stack:
                computed, visited = nearest_in_range(
                    queries, start, stop, self._points, metric.kernel_family, metric.relative,
                    metric.absolute, self._nodes, in_range, first, squared, labels, stack,
                )  # fmt: skip
            return int(computed), int(visited)

        # Nothing may be pruned: then a query is compared with every item.
        rows = rows_for(len(self) * (20.0 + 0.1 * queries.shape[1]))
        counts = workers.over_blocks(task, len(queries), rows)
        return sum(c for c, _ in counts), sum(v for _, v in counts)


class CenterTrees:
    """See `kseeds.nearest.base.Strategy`: a tree over each batch of centres; any metric."""

    def __init__(self, points: FloatArray, metric: Metric) -> None:
        self._points, self._metric = points, metric

    def update(self, nearest: Nearest, centers: FloatArray, first: int, workers: Workers) -> Counts:
        """See `kseeds.nearest.base.Strategy`; distances between centres are counted, too."""
        tree = VantageTree(centers, self._metric)
        exact, visited = tree.search(
            self._points, nearest.squared, nearest.labels, workers, first=first
        )
        return Counts(tree.distances + exact, visited, exact)
