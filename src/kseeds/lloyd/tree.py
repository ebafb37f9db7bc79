"""Lloyd's iteration by a forest over the points, built once: for few dimensions.

The idea of filtering centres down a tree is that of T. Kanungo and others, "An efficient k-means
clustering algorithm", IEEE Transactions on Pattern Analysis and Machine Intelligence 24 (2002).
"""

from __future__ import annotations

import numpy as np

from kseeds.distances.metrics import FloatArray, Metric
from kseeds.lloyd import tree_kernels as kernels
from kseeds.lloyd.base import Labels, distances_to_own, movement
from kseeds.lloyd.sums import ExactSums
from kseeds.nearest.costs import leaf_pair
from kseeds.nearest.forest import one_after_the_other
from kseeds.nearest.point_tree import trees_over
from kseeds.nearest.point_tree_kernels import Batch, LeafTile, Lists, workspace
from kseeds.nearest.state import Counts, Nearest
from kseeds.runtime import compile_policy
from kseeds.runtime.aligned import Reused
from kseeds.runtime.threads import Workers

_SHARES = 4
"""Tasks of a thread."""
_TASK_NS = 4e8
"""What a task may take if nothing is ruled out, which is unlikely."""
_LEAVES = 512
"""Leaves whose labels are written at a time."""


class TreeAssigner:
    """See `kseeds.lloyd.base.Assigner`; Euclidean, for fewer than 16 columns.

    Parameters
    ----------
    points : ndarray
        The rows.
    metric : Metric
        Their metric.
    workers : Workers
        Threads to use.
    """

    name = "tree"

    def __init__(self, points: FloatArray, metric: Metric, workers: Workers) -> None:
        self.counts, self.skipped = Counts(0, 0, 0), 0
        self._points, self._metric, self._workers = points, metric, workers
        self._forest = forest = one_after_the_other(trees_over(points, workers))
        labels = np.full(len(forest.order), -1, dtype=np.int32)
        owners = np.full(len(forest.largest), -1, dtype=np.int32)
        self._owned = kernels.Owned(labels, owners)
        self._parts = parts = len(forest.parts) - 1
        self._shared_out = -(-parts // (_SHARES * workers.n_threads))
        self._spaces: Reused[tuple[Lists, LeafTile]] | None = None
        self._before: FloatArray | None = None

    def adopt(self, labels: Labels, sums: ExactSums) -> None:
        """See `kseeds.lloyd.base.Assigner`."""
        self._owned.labels[:] = labels[self._forest.order]
        sums.move(np.arange(len(labels)), np.full(len(labels), -1, dtype=np.int32), labels)

    def assign(self, centers: FloatArray, sums: ExactSums) -> int:
        """See `kseeds.lloyd.base.Assigner`."""
        drift = np.inf
        if self._before is not None:
            drift = float(movement(self._before, centers).max())
        batch = Batch(centers, centers, 0, self._metric.relative, 0.0)
        if self._spaces is None:
            leaves = int(np.diff(self._forest.parts).max())
            self._spaces = Reused(lambda: workspace(leaves, centers))
        spaces, columns = self._spaces, np.ascontiguousarray(centers.T)

        def task(start: int, stop: int) -> tuple[int, int, int, int]:
            with spaces.one() as (lists, tile), sums.part() as part:
                lists.columns[: len(columns), : len(centers)] = columns
                moving = kernels.Sums(part, sums.anchors, sums.weights, np.empty(part.shape[2]))
                changed, computed, visited = kernels.assign_parts(
                    self._forest, start, stop, batch, drift, self._owned, moving, lists, tile
                )
                return changed, computed, visited, computed

        # Few parts in case nothing is ruled out, since an interrupt waits for a task.
        whole = len(self._points) * len(centers) * leaf_pair(self._points) / self._parts
        at_a_time = max(1, min(self._shared_out, int(_TASK_NS / whole)))
        with compile_policy.using("lloyd_tree", centers.dtype):
            done = self._workers.over_blocks(task, self._parts, at_a_time)
        sums.merge()
        self._before = centers
        self.counts = Counts.total([self.counts, *(part[1:] for part in done)])
        return sum(part[0] for part in done)

    def labels(self) -> Labels:
        """Return the labels in the order of the rows."""
        labels = np.empty(len(self._points), dtype=np.int32)

        def task(start: int, stop: int) -> None:
            kernels.write_labels(self._forest, start, stop, self._owned, labels)

        self._workers.over_blocks(task, len(self._forest.counts), _LEAVES)
        return labels

    def nearest(self, centers: FloatArray) -> Nearest:
        """See `kseeds.lloyd.base.Assigner`."""
        labels = self.labels()
        squared = distances_to_own(self._points, centers, labels, self._workers)
        return Nearest(squared, labels, len(centers))
