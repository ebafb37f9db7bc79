"""Lloyd's iteration over partitions: the rounds, as the driver runs them.

The iteration itself is `kseeds.lloyd.iteration.iterate`, which runs here on an assigner and on sums
whose rows are in partitions. A step is one communication: the centres are sent out, and every
partition keeps the nearest centre of its rows and returns how the sums of clusters change. Only
empty clusters cost another one, for the rows that are farthest from their centres.

Sums are exact, ties go to the lowest number, and rows are told apart by their number in the data;
so the result does not depend on partitions, backend, or tasks that were run twice.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kseeds.distances.sparse_rows import Points, is_sparse, stacked
from kseeds.distributed import lloyd_tasks as tasks
from kseeds.distributed.cluster_sums import (
    Clusters,
    DenseClusters,
    Float64Array,
    Labels,
    SparseClusters,
    anchors_of,
    change_of,
)
from kseeds.distributed.driver import Driver
from kseeds.distributed.exact_total import ZERO
from kseeds.distributed.lloyd_tasks import Extent, Farthest, Step
from kseeds.lloyd.columns import Columns
from kseeds.lloyd.iteration import Limits, iterate, prepared_again, tolerance
from kseeds.lloyd.sums import anchors_for, unfolded
from kseeds.runtime.progress import SILENT, Progress
from kseeds.runtime.threads import Workers

_STEPS = 16
"""Steps after which partitions begin anew, from their rows and two sets of centres.

A state is computed from that of the step before. What it takes to compute it again, if a worker is
lost, would grow with every step, and Spark and Dask keep all of it.
"""


class Run(NamedTuple):
    """Where a run ended: centres prepared like the rows, and in the user's units."""

    prepared: Points
    centers: Points
    inertia: float
    n_iter: int
    converged: bool


class Partitions:
    """See `kseeds.lloyd.iteration.Assigning`: rows that are in partitions.

    Parameters
    ----------
    driver : Driver
        Asks the partitions.
    anchors : ndarray
        Those of the sums.
    n_compared : int
        With how many of the first centres the rows have been compared by the seeding.
    """

    def __init__(self, driver: Driver, anchors: Float64Array, n_compared: int) -> None:
        self._driver, self._anchors, self._n_compared = driver, anchors, n_compared
        self._before: Points | None = None
        self._steps = 0

    def assign(self, centers: Points, sums: Clusters) -> int:
        """See `Assigning`; in one communication."""
        driver, before = self._driver, None
        if self._steps >= _STEPS:
            driver.forget()
            self._steps, before = 0, self._before
        step = Step(
            driver.plan, self._anchors, centers, self._n_compared, self._before is None, before
        )
        replies = driver.ask(tasks.assign, step, keep=True)
        self._before, self._n_compared, self._steps = centers, 0, self._steps + 1
        for reply in replies:
            driver.work.distances += reply.distances
            if reply.change is not None:
                sums.add(reply.change)
        return sum(reply.rows for reply in replies)


class PartitionMeans:
    """See `kseeds.lloyd.iteration.Moving`: the means of clusters whose rows are in partitions.

    Parameters
    ----------
    driver : Driver
        Asks the partitions.
    sums : Clusters
        The sums of the clusters.
    anchors : ndarray
        Their anchors.
    columns : Columns, optional
        What the columns are like, for an inertia to be shown; of rows that weigh the same.
    """

    def __init__(
        self, driver: Driver, sums: Clusters, anchors: Float64Array, columns: Columns | None
    ) -> None:
        self._driver, self._sums, self._anchors = driver, sums, anchors
        self._columns = columns
        self.inertia: float | None = None
        """See `Moving`."""

    def after(self, centers: Points, assigner: Partitions) -> Points:
        """Return the means; empty clusters take the rows farthest from their centres.

        See `kseeds.lloyd.iteration.Means.after`.
        """
        sums = self._sums
        empty = np.flatnonzero(sums.masses() == 0.0).astype(np.int32)
        if len(empty):
            sums = self._refilled(empty, len(centers))
        if self._columns is not None:
            self.inertia = sums.inertia(self._columns)
        return sums.means(centers, self._driver.plan.metric.is_embedded)

    def _refilled(self, empty: Labels, k: int) -> Clusters:
        """Return sums in which the farthest rows are in the empty clusters."""
        driver = self._driver
        replies = driver.ask(tasks.farthest, (driver.plan, len(empty)))
        found: list[Farthest] = [reply for reply in replies if reply is not None]
        if not found:
            return self._sums
        rows = np.concatenate([part.rows for part in found])
        squared = np.concatenate([part.squared for part in found])
        at = np.lexsort((rows, -squared))[: len(empty)]
        points = stacked([part.points for part in found])[at]
        if not is_sparse(points):
            points.flags.writeable = False  # kernels are compiled for such points
        old = np.concatenate([part.labels for part in found])[at]
        weights = None
        if found[0].weights is not None:
            weights = np.concatenate([part.weights for part in found])[at]
        sums, new = self._sums.copy(), empty[: len(at)]
        sums.add(change_of(points, weights, self._anchors, k, old, new, Workers(1)))
        return sums


class Fitting:
    """Runs of Lloyd's iteration over the same partitions, from one start after the other.

    Parameters
    ----------
    driver : Driver
        Asks the partitions, and counts the work of all runs.
    n_clusters : int
        How many clusters there are.
    limits : Limits
        When to stop; ``tol`` as users give it, relative to the variance of the columns.
    progress : Progress
        Is told of every iteration.
    """

    def __init__(
        self, driver: Driver, n_clusters: int, limits: Limits, progress: Progress = SILENT
    ) -> None:
        self._driver, self._n_clusters, self._progress = driver, n_clusters, progress
        self._is_sparse, self._width = is_sparse(driver.values), driver.values.shape[1]
        plan = driver.plan
        replies = driver.ask(tasks.extent, plan)
        extents: list[Extent] = [reply for reply in replies if reply is not None]
        largest = np.max([one.largest for one in extents], axis=0)
        weights = [one.least for one in extents if one.least is not None]
        self._anchors = anchors_of(
            driver.work.rows, plan.dtype, largest, min(weights) if weights else None,
            sparse=self._is_sparse,
        )  # fmt: skip
        # In the user's units, and if rows weigh the same.
        is_shown = progress is not SILENT and plan.metric.scale == 1.0 and not weights
        self._columns: Columns | None = None
        tol = 0.0
        if limits.tol > 0.0 or is_shown:
            columns = self._columns_of(largest, extents)
            tol = tolerance(columns, limits.tol)
            self._columns = columns if is_shown and not self._is_sparse else None
        self._limits = limits._replace(tol=tol)

    def _columns_of(self, largest: Float64Array, extents: list[Extent]) -> Columns:
        """Return what the columns are like, the same for any partitioning.

        The variances of sparse columns are all their mean, which is what matters.
        """
        driver, n, d = self._driver, self._driver.work.rows, self._width
        origin: Any = extents[0].first[:1]
        most, length = sum(one.entries for one in extents), d + 1 + origin.size
        if not self._is_sparse:
            origin, most, length = origin[0].astype(np.float64), n, 2 * d
        reach = 2.0 * largest
        bounds = np.concatenate([reach, np.square(reach)])
        anchors = anchors_for(most, np.dtype(np.float64), bounds, None)[:, :-1]
        sums = np.zeros((len(anchors), length))
        for change in driver.ask(tasks.spread, (driver.plan, anchors, origin)):
            if change is not None:
                sums[:, change.places] += change.values
        total = unfolded(sums)
        first, second = total[:d] / n, total[d:] / n
        if self._is_sparse:
            at, values = origin.columns, origin.entries.astype(np.float64)
            absent = 1.0 - second[1:]  # the share of zeros that are not stored
            first[at] -= absent * values
            squares = second[0] + float((absent * values * values).sum())
            variance = max(float(squares - np.square(first).sum()), 0.0) / d
            first[at] += values
            return Columns(np.broadcast_to(largest, d), first, np.full(d, variance))
        return Columns(largest, origin + first, np.maximum(second - first * first, 0.0))

    def run(self, centers: Points, n_compared: int = 0) -> Run:
        """Iterate from centres, prepared like the rows; keep labels and distances as states.

        Partitions know the nearest of the first ``n_compared`` of them.
        """
        driver, k, anchors = self._driver, self._n_clusters, self._anchors
        sums = (
            SparseClusters(k, self._width, anchors)
            if self._is_sparse
            else DenseClusters(k, anchors)
        )
        assigner = Partitions(driver, anchors, n_compared)
        means = PartitionMeans(driver, sums, anchors, self._columns)
        fit = iterate(assigner, sums, means, centers, self._limits, progress=self._progress)
        driver.work.rounds += fit.n_iter
        final = prepared_again(driver.plan.metric, fit.centers)
        if final is not fit.centers:
            assigner.assign(final, sums)
        exact = self._in_units(fit.centers)
        return Run(final, exact, self._finish(exact), fit.n_iter, fit.converged)

    def label(self, run: Run) -> None:
        """Make the labels and distances of an earlier run the states of the partitions."""
        driver = self._driver
        driver.forget()
        step = Step(driver.plan, self._anchors, run.prepared, 0, is_first=True)
        replies = driver.ask(tasks.assign, step, keep=True)
        driver.work.distances += sum(reply.distances for reply in replies)
        self._finish(run.centers)

    def _finish(self, centers: Points) -> float:
        """Turn states into labels and distances; return the inertia."""
        driver = self._driver
        replies = driver.ask(tasks.finish, (driver.plan, centers), keep=True)
        return float(sum(replies, start=ZERO))

    def _in_units(self, centers: Points) -> Points:
        """Return centres in the user's units."""
        metric = self._driver.plan.metric
        scale = centers.dtype.type(1.0 if metric.is_embedded else metric.scale)
        if is_sparse(centers):
            return centers.with_entries(centers.entries * scale)
        return centers * scale
