"""Lloyd's iteration with bounds for every row, and lists of the neighbours of every centre.

Two bounds a row (Hamerly 2010) decide for most rows that they keep their centre. The lower one
follows the movement of the *neighbours* of its centre only: others are farther from the row than
the list of neighbours reaches. Rows that are left open are compared with the centres in the ball
around their centre that a nearer one must lie in (Newling and Fleuret 2016, "exponion").
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray
from kseeds.lloyd import bounds_kernels as kernels
from kseeds.lloyd import costs
from kseeds.lloyd import neighbors_kernels as neighbors
from kseeds.lloyd.base import Labels, distances_to_own, movement
from kseeds.lloyd.sums import ExactSums
from kseeds.nearest import costs as costs_of_nearest
from kseeds.nearest.choice import Job, seconds
from kseeds.nearest.costs import pair
from kseeds.nearest.state import Counts, Nearest
from kseeds.nearest.update import NearestUpdater
from kseeds.runtime import compile_policy
from kseeds.runtime.aligned import Reused, aligned
from kseeds.runtime.blas import one_blas_thread
from kseeds.runtime.block_sizes import COLUMNS, LANES, place_of
from kseeds.runtime.threads import rows_for

Numbers = npt.NDArray[np.int64]

_GROUPS = 4
"""Groups of 16 neighbours that a list has at most."""
_BYTES = 64 << 20
"""What all lists may take."""
_UNLIKELY = 0.1
"""How much a block of which nothing is ruled out counts, compared with ordinary ones."""
_LIST_NS = 3000.0
"""A list of neighbours, apart from the distances of its centre."""
_SAMPLE = 256
"""Rows that the use of bounds is judged by."""
_PATIENCE = 2.0
"""Iterations by products whose time bounds may lose before they are given up."""
_BLOCK_ROWS, _MOST_ROWS = 16384, 65536
"""Rows of a block; with many centres more, since those of a centre are looked at together."""


class Bounds:
    """See `kseeds.lloyd.base.Assigner`; Euclidean.

    Where too many centres are in the ball, the rows are compared with all centres in every
    iteration, by the strategy that the job has for that.

    Parameters
    ----------
    job : Job
        The rows, and with how many centres they would be compared in all.
    n_clusters : int
        How many centres there are.
    is_forced : bool
        Whether to use bounds in any case.
    """

    name = "bounds"

    def __init__(self, job: Job, n_clusters: int, *, is_forced: bool = True) -> None:
        points, metric, workers = job.points, job.metric, job.workers
        (n, d), dtype, k = points.shape, points.dtype, n_clusters
        self._job, self._updater, self._is_useful = job, NearestUpdater(job), True
        self._is_forced, self._lost = is_forced, 0.0
        self.counts, self.skipped = Counts(0, 0, 0), 0
        self._points, self._metric, self._workers = points, metric, workers
        labels = np.full(n, -1, dtype=np.int32)
        self._rows = kernels.Rows(points, labels, np.empty(n, dtype), np.empty(n, dtype))
        self._places = np.array([place_of(j, d) for j in range(d)])
        fitting = _BYTES // (k * LANES * d * points.itemsize)
        groups = max(1, min(_GROUPS, -(-(k - 1) // LANES), fitting))
        self._lists = neighbors.Lists(
            aligned((k * groups * d, LANES), dtype), np.empty((k * groups, LANES), dtype=np.int32),
            np.empty((k, groups + 1), dtype), np.empty((k, 4), dtype),
        )  # fmt: skip
        self._columns = aligned((-(-k // COLUMNS) * d, COLUMNS), dtype)
        self._before: FloatArray | None = None
        one, eps = dtype.type, float(np.finfo(dtype).eps)
        slack = 2.0 * metric.relative + 4.0 * eps
        length = np.nextafter(one(2.0 * metric.absolute), one(np.inf))
        self._slack = neighbors.Slack(
            one(1.0 + slack), one(1.0 - slack), length, one(1 + 4 * eps), np.finfo(dtype).tiny
        )
        # Few rows in case nothing is ruled out, since an interrupt waits for a block.
        patient = rows_for(_UNLIKELY * k * pair(points, metric), most=_MOST_ROWS)
        rows = min(n, patient, max(_BLOCK_ROWS, 64 * k))
        self._block_rows = rows
        like = np.empty((k, d), dtype=dtype)
        self._sortings = Reused(lambda: neighbors.sorting(like))
        self._tiles = Reused(lambda: kernels.new_tile(points))
        self._spaces = Reused(lambda: kernels.workspace(points, k, rows))

    def adopt(self, labels: Labels, sums: ExactSums) -> None:
        """See `kseeds.lloyd.base.Assigner`."""
        self._rows.labels[:] = labels
        self._rows.upper[:], self._rows.lower[:] = np.inf, 0.0  # nothing is known of distances
        sums.move(np.arange(len(labels)), np.full(len(labels), -1, dtype=np.int32), labels)

    def assign(self, centers: FloatArray, sums: ExactSums) -> int:
        """See `kseeds.lloyd.base.Assigner`."""
        labels = self._rows.labels
        is_first = self._before is None and (labels[0] < 0 or not self._is_forced)
        if is_first or not self._is_useful:
            changed, former = self._compare(centers)
        else:
            with compile_policy.using("lloyd_bounds", centers.dtype):
                self._list(centers)
                changed, former = self._update(centers)
        sums.move(changed, former, labels[changed])
        self._before = centers
        if is_first and not self._is_forced:
            self._is_useful = self._judge(centers)
        if is_first and self._is_useful:
            self._updater.let_go()  # most fits need it no more
        return len(changed)

    def _compare(self, centers: FloatArray) -> tuple[Numbers, Labels]:
        """Compare all rows with all centres; return those that changed, and what they had."""
        nearest, rows = Nearest.empty(self._points), self._rows
        counts = self._updater_for(len(centers)).update(nearest, centers, 0)
        self.counts = Counts.total([self.counts, counts])
        changed = np.flatnonzero(nearest.labels != rows.labels)
        former = rows.labels[changed]
        rows.labels[:] = nearest.labels
        np.sqrt(nearest.squared, out=rows.upper)
        rows.upper[:] *= self._slack.up
        rows.upper[:] += self._slack.length
        rows.lower[:] = 0.0
        return changed, former

    def _updater_for(self, n_centers: int) -> NearestUpdater:
        """Return what compares all rows: most fits do that once, so little is built for it."""
        if self._before is None:
            once = NearestUpdater(self._job.one_batch(n_centers))
            if once.strategy != self._updater.strategy:
                return once
        return self._updater

    def _judge(self, centers: FloatArray) -> bool:
        """Tell whether bounds will take less time than comparing all rows with all centres."""
        step = max(1, len(self._points) // _SAMPLE)
        labels, upper = self._rows.labels[::step], self._rows.upper[::step].astype(np.float64)
        with one_blas_thread():
            wide = centers - centers.mean(axis=0)
            norms = np.einsum("ij,ij->i", wide, wide)
            table = wide[labels] @ wide.T
        table *= -2.0
        table += norms
        table += norms[labels][:, None]
        in_ball = (table < 4.0 * np.square(upper)[:, None]).sum(axis=1)
        listed = self._lists.numbers.shape[0] // len(centers) * LANES
        # Where a list ends within the ball, others are tried, and then all centres.
        in_ball[in_ball > listed] = kernels.TRIES * listed + len(centers)
        return costs.bounds(self._points, len(centers), float(in_ball.mean())) < self._each()

    def _each(self) -> float:
        """Return what comparing a row with all centres costs."""
        job = self._job
        all_rows = seconds(job, self._updater.strategy) * 1e9 * job.workers.n_threads
        products = costs_of_nearest.products(job.points, job.expected, job.batches, job.keeps_steps)
        return min(all_rows / len(job.points), products) / job.batches

    def _pay(self, n_clusters: int, left: int, computed: int) -> bool:
        """Tell whether bounds may go on, after an iteration that left so many rows open.

        What they have lost, as counted, is kept; what they gain makes up for it.
        """
        n, each = len(self._points), self._each()
        took = costs.bounds_of(self._points, n_clusters, left / n, computed / n)
        self._lost = max(0.0, self._lost + took - each)
        return self._lost <= _PATIENCE * each

    def _list(self, centers: FloatArray) -> None:
        """Make the lists of neighbours."""
        k = len(centers)
        moved = np.zeros(k, dtype=centers.dtype)
        if self._before is not None:
            moved = movement(self._before, centers)
        self._centers = neighbors.Centers(centers, self._columns, moved)
        with self._sortings.one() as space:
            neighbors.set_columns(centers, 0, -(-k // COLUMNS), self._columns, space.numbers)

        def task(start: int, stop: int) -> None:
            with self._sortings.one() as space:
                neighbors.list_neighbors(
                    self._centers, start, stop, self._lists, self._slack, self._places, space
                )

        most = rows_for(_LIST_NS + k * pair(centers, self._metric), least=1)
        shared_out = max(16, -(-k // (4 * self._workers.n_threads)))
        self._workers.over_blocks(task, k, min(most, shared_out))

    def _update(self, centers: FloatArray) -> tuple[Numbers, Labels]:
        """Update all rows; return those that changed, and their former centres."""
        rows, slack = self._rows, self._slack

        def task(start: int, stop: int) -> tuple[Numbers, Labels, int, int]:
            with self._spaces.one() as space, self._tiles.one() as tile:
                left = kernels.check_rows(rows, start, stop, self._lists.steps, slack, space.open)
                kernels.sort_rows(rows.labels, left, space.open, space.places, space.sorted)
                changed, computed = kernels.settle_rows(
                    rows, left, self._centers, self._lists, slack, tile, space
                )
                return space.changed[:changed].copy(), space.former[:changed].copy(), left, computed

        done = self._workers.over_blocks(task, len(self._points), self._block_rows)
        left, computed = sum(part[2] for part in done), sum(part[3] for part in done)
        self.skipped += len(self._points) - left
        self._is_useful = self._is_forced or self._pay(len(centers), left, computed)
        self.counts = Counts.total([self.counts, (computed, 0, computed)])
        return np.concatenate([part[0] for part in done]), np.concatenate(
            [part[1] for part in done]
        )

    def nearest(self, centers: FloatArray) -> Nearest:
        """See `kseeds.lloyd.base.Assigner`."""
        labels = self._rows.labels
        squared = distances_to_own(self._points, centers, labels, self._workers)
        return Nearest(squared, labels.copy(), len(centers))
