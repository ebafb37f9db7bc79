"""Lloyd's iteration by a forest over the points, built once: for few dimensions.

The idea of filtering centres down a tree is that of T. Kanungo and others, "An efficient k-means
clustering algorithm", IEEE Transactions on Pattern Analysis and Machine Intelligence 24 (2002).
"""

from __future__ import annotations

import numpy as np

from kseeds.distances.metrics import FloatArray, Metric
from kseeds.lloyd import kept_kernels as kernels
from kseeds.lloyd.base import Labels, distances_to_own, movement
from kseeds.lloyd.sums import ExactSums
from kseeds.lloyd.tree_kernels import assign_parts, write_labels
from kseeds.nearest.costs import leaf_pair
from kseeds.nearest.forest import forest_over
from kseeds.nearest.point_tree_kernels import Batch, LeafTile, Lists, workspace
from kseeds.nearest.state import Counts, Nearest
from kseeds.runtime import compile_policy
from kseeds.runtime.aligned import Reused, aligned
from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.threads import Workers

_SHARES = 4
"""Tasks of a thread."""
_TASK_NS = 4e8
"""What a task may take if nothing is ruled out, which is unlikely."""
_LEAVES = 512
"""Leaves whose labels are written at a time."""
_BYTES = 54
"""What the rows, their order and labels, and lists may take for a row. Where a fit ends, labels and
distances take 8 more."""
_LONGEST, _SHORTEST = 256, 32
"""Centres that a leaf lists at most, if there is room for as many, and if there is not."""
_FAST = 512
"""Of so many centres 64 are measured by every leaf, those that have moved farthest."""
_TYPICAL, _RESTLESS = 0.75, 0.15
"""Leaves keep lists while this share of the centres have moved by less than this share of the
distance that rows are from their centres, at most."""
_WORTH = 6.0
"""Distances for a row from which on lists are worth their while."""
_LASTING = 4.0
"""Iterations that lists are made to last for."""


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
        self._forest = forest = forest_over(points, workers)
        tiles = len(forest.order) // COLUMNS
        labels = np.full(len(forest.order), -1, dtype=np.int32)
        owners = np.full(tiles, -1, dtype=np.int32)
        self._owned = kernels.Owned(labels, owners, np.full(tiles, np.inf), *np.zeros((2, tiles)))
        self._parts = parts = len(forest.parts) - 1
        self._shared_out = -(-parts // (_SHARES * workers.n_threads))
        self._spaces: Reused[tuple[Lists, LeafTile]] | None = None
        self._kept: kernels.Kept | None = None
        self._before: FloatArray | None = None
        self._anew = 0
        """Distances that the last iteration without lists took."""

    def adopt(self, labels: Labels, sums: ExactSums) -> None:
        """See `kseeds.lloyd.base.Assigner`."""
        self._owned.labels[:] = labels[self._forest.order]
        sums.move(np.arange(len(labels)), np.full(len(labels), -1, dtype=np.int32), labels)

    def _lists(self, n_clusters: int) -> kernels.Kept:
        """Return the lists of leaves, none of which has one yet."""
        forest, d, size = self._forest, self._points.shape[1], self._points.itemsize
        leaves, tiles = len(forest.counts), len(self._owned.owners)
        places = len(forest.order)
        taken = places * (d * size + forest.order.itemsize + self._owned.labels.itemsize)
        room = (_BYTES * len(self._points) - taken) / (tiles * size + 4 * leaves)
        longest = min(n_clusters, _LONGEST, max(_SHORTEST, int(room)))
        return kernels.Kept(
            np.zeros(leaves, dtype=np.int32), np.empty((leaves, longest), dtype=np.int32),
            np.empty(leaves), np.empty((tiles, longest), dtype=self._points.dtype),
        )  # fmt: skip

    def _moves(self, centers: FloatArray) -> kernels.Moves:
        """Return how far the centres have moved, and whether that is little."""
        (k, d), dtype = centers.shape, centers.dtype
        if self._before is None:
            self._path = np.zeros(k)
            columns = aligned((d, 0), dtype)
            none = np.empty(0, dtype=np.int32)
            return kernels.Moves(np.zeros(k), self._path, none, columns, 0.0, 0.0, 0)
        moved = movement(self._before, centers).astype(np.float64)
        self._path += moved
        count = min(k, COLUMNS * -(-k // _FAST))
        order = np.argsort(-moved, kind="stable")
        fast = np.zeros(-(-count // COLUMNS) * COLUMNS, dtype=np.int32)
        fast[:count] = order[:count]
        columns = aligned((d, len(fast)), dtype)
        columns[:] = np.inf
        columns[:, :count] = centers[order[:count]].T
        slow = float(moved[order[count]]) if count < k else 0.0
        typical = float(moved[order[int((1.0 - _TYPICAL) * (k - 1))]])
        is_calm = typical <= _RESTLESS * float(self._owned.reached.mean())
        keeps = is_calm and self._anew > _WORTH * len(self._points)
        margin = _LASTING * (slow + typical) if keeps else 0.0
        slow = slow if keeps else float(moved.max())
        return kernels.Moves(moved, self._path, fast, columns, slow, margin, int(keeps))

    def assign(self, centers: FloatArray, sums: ExactSums) -> int:
        """See `kseeds.lloyd.base.Assigner`."""
        batch = Batch(centers, centers, 0, self._metric.relative, self._metric.absolute)
        if self._spaces is None or self._kept is None:
            leaves = int(np.diff(self._forest.parts).max())
            self._spaces = Reused(lambda: workspace(leaves, centers))
            self._kept = self._lists(len(centers))
        spaces, columns, kept = self._spaces, np.ascontiguousarray(centers.T), self._kept
        moves = self._moves(centers)

        def task(start: int, stop: int) -> tuple[int, int, int, int]:
            with spaces.one() as (lists, tile), sums.part() as part:
                lists.columns[: len(columns), : len(centers)] = columns
                moving = kernels.Sums(part, sums.anchors, sums.weights, np.empty(part.shape[2]))
                found: tuple[int, int, int, int] = assign_parts(
                    self._forest, start, stop, batch, moves, self._owned, kept, moving, lists, tile
                )
                return found

        # Few parts in case nothing is ruled out, since an interrupt waits for a task.
        whole = len(self._points) * len(centers) * leaf_pair(self._points) / self._parts
        at_a_time = max(1, min(self._shared_out, int(_TASK_NS / whole)))
        with compile_policy.using("lloyd_tree", centers.dtype):
            done = self._workers.over_blocks(task, self._parts, at_a_time)
        sums.merge()
        self._before = centers
        changed, computed, visited, skipped = (sum(part[i] for part in done) for i in range(4))
        self.counts = Counts.total([self.counts, (computed, visited, computed)])
        self.skipped += skipped
        if not moves.keeps:
            self._anew = computed
        return changed

    def labels(self) -> Labels:
        """Return the labels in the order of the rows."""
        labels = np.empty(len(self._points), dtype=np.int32)

        def task(start: int, stop: int) -> None:
            write_labels(self._forest, start, stop, self._owned, labels)

        self._workers.over_blocks(task, len(self._forest.counts), _LEAVES)
        return labels

    def nearest(self, centers: FloatArray) -> Nearest:
        """See `kseeds.lloyd.base.Assigner`."""
        labels = self.labels()
        squared = distances_to_own(self._points, centers, labels, self._workers)
        return Nearest(squared, labels, len(centers))
