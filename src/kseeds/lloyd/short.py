"""Lloyd's iteration for short fits, of which Python would take most of the time.

A kernel does many iterations in one call, on one thread. It stops wherever the next decision is not
its own (`kseeds.lloyd.short_kernels`), so that there is one place that decides when to stop.
"""

from __future__ import annotations

import numpy as np

from kseeds.distances.metrics import Family, FloatArray
from kseeds.distances.sparse_rows import is_sparse
from kseeds.lloyd import costs
from kseeds.lloyd.base import Anew, Labels
from kseeds.lloyd.sums import ExactSums
from kseeds.nearest.choice import Job
from kseeds.nearest.state import Counts, Nearest
from kseeds.runtime import compile_policy
from kseeds.runtime.aligned import aligned
from kseeds.runtime.block_sizes import COLUMNS, column_order
from kseeds.runtime.memmap import is_mapped
from kseeds.simd.lane_order import lane_sum

KERNEL_SET = "lloyd_short"
_SHORT_NS = 3e5
"""What an iteration may take on one thread; longer ones are better shared out, or skipped."""
_CALL_NS = 2e7
"""What a call of the kernel may take, since an interrupt waits for it."""


def is_possible(job: Job, n_clusters: int) -> bool:
    """Tell whether fits are short: Euclidean distances of little data."""
    points, metric = job.points, job.metric
    if is_sparse(points) or is_mapped(points) or metric.is_embedded:  # whose means are unit vectors
        return False
    if metric.kind is not Family.EUCLIDEAN:
        return False
    return costs.short(points, n_clusters, 1) * len(points) <= _SHORT_NS


def pays(job: Job, n_clusters: int) -> bool:
    """Tell whether a short fit is done first so, its kernels to be loaded included."""
    points, iterations = job.points, job.batches
    plain = costs.short_plain(points, n_clusters, iterations) * len(points)
    plain += iterations * costs.SHORT_STEP
    compiled = costs.short(points, n_clusters, iterations) * len(points)
    return compile_policy.pays(KERNEL_SET, points.dtype, 1e-9 * plain, 1e-9 * compiled)


class Short(Anew):
    """See `kseeds.lloyd.base.Assigner`.

    Parameters
    ----------
    points : ndarray
        The rows, of a job that `is_possible`.
    """

    name = "gemm"

    def __init__(self, points: FloatArray) -> None:
        from kseeds.lloyd import short_kernels as kernels

        super().__init__(len(points))
        (n, d), dtype = points.shape, points.dtype
        padded = np.zeros((-(-n // COLUMNS) * COLUMNS, d), dtype=dtype)
        padded[:n] = points[:, column_order(d)]
        tiles = aligned((len(padded) // COLUMNS * d, COLUMNS), dtype)
        tiles.reshape(-1, d, COLUMNS)[:] = padded.reshape(-1, COLUMNS, d).swapaxes(1, 2)
        self._points = points
        self._rows = kernels.Fitted(points, tiles, self._labels, np.empty(n, dtype=dtype))
        sums, squared = aligned((2, COLUMNS), dtype)
        labels = aligned(COLUMNS, np.int32)
        self._space = kernels.Space(sums, squared, labels, np.empty(d + 1))
        self._assigned: tuple[FloatArray, int] | None = None
        """The centres that rows were assigned to last, and how many rows have changed."""

    def adopt(self, labels: Labels, sums: ExactSums) -> None:
        """See `kseeds.lloyd.base.Assigner`."""
        sums.move(np.arange(len(labels)), self._labels.copy(), labels)
        self.continue_from(labels)

    def continue_from(self, labels: Labels) -> None:
        """See `Anew`."""
        self._labels[:] = labels  # which the kernel has, too
        self._nearest = None

    def assign(self, centers: FloatArray, sums: ExactSums) -> int:
        """See `kseeds.lloyd.base.Assigner`."""
        if self._assigned is None or self._assigned[0] is not centers:
            self.skip_ahead(centers, sums, np.inf, 0)
        assert self._assigned is not None
        changed, self._assigned = self._assigned[1], None
        self._nearest = Nearest(self._rows.squared, self._labels, len(centers))
        return changed

    def skip_ahead(
        self, centers: FloatArray, sums: ExactSums, tol: float, at_most: int
    ) -> tuple[FloatArray, int]:
        """Do iterations after which another one is sure to come.

        Returns where the centres are, and how many iterations were done; see
        `kseeds.lloyd.iteration.Assigning`.
        """
        from kseeds.lloyd import short_kernels as kernels

        n, k = len(self._points), len(centers)
        clusters = kernels.Clusters(
            centers.copy(), np.empty_like(centers), sums.folds, sums.anchors, sums.weights
        )
        self._nearest, once = None, costs.short(self._points, k, 1) * n
        at_a_time = max(1, int(_CALL_NS / once))
        with compile_policy.using(KERNEL_SET, centers.dtype):
            done, changed = kernels.skip_ahead(
                self._rows, clusters, tol, at_most, at_a_time, self._space
            )
        pairs = (done + int(changed >= 0)) * n * k
        self.counts = Counts.total([self.counts, Counts(pairs, 0, pairs)])
        found = centers if done == 0 else clusters.centers
        self._assigned = None if changed < 0 else (found, changed)
        return found, done

    def find(self, centers: FloatArray) -> tuple[Nearest, Counts]:
        """Return the nearest centre of every row; ``centers`` are those of the labels."""
        n = len(self._points)
        squared = lane_sum(np.square(self._points - centers[self._labels]))
        return Nearest(squared, self._labels, len(centers)), Counts(n, 0, n)
