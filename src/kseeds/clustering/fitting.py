"""Runs of Lloyd's iteration over the same rows, from one start after the other."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray
from kseeds.distances.sparse_rows import Points, is_sparse
from kseeds.inputs import Prepared, Weights
from kseeds.lloyd.base import Assigner
from kseeds.lloyd.choice import Job, build, in_place_of_short
from kseeds.lloyd.columns import columns_of
from kseeds.lloyd.iteration import Limits, Means, iterate, prepared_again, tolerance
from kseeds.lloyd.sparse_means import SparseMeans, SparseSums
from kseeds.lloyd.sums import ExactSums
from kseeds.nearest.finish import in_user_units
from kseeds.results import Work
from kseeds.runtime.blas import one_blas_thread
from kseeds.runtime.progress import SILENT, Progress
from kseeds.runtime.threads import Workers

_SHORT = 1 << 20
"""Pairs of rows and centres, or coordinates, up to which an iteration is short."""


class Run(NamedTuple):
    """Where a run ended, in the user's units."""

    centers: Points
    labels: npt.NDArray[np.int32]
    distances: FloatArray
    inertia: float
    n_iter: int
    converged: bool
    algorithm: str

    def is_better_than(self, other: Run) -> bool:
        """Tell whether it has a lower inertia, and not just the same clusters in another order."""
        if not self.inertia < other.inertia:
            return False
        ours, theirs = self.labels, other.labels
        renamed = np.zeros(int(theirs.max()) + 1, dtype=np.int32)
        renamed[theirs] = ours
        return not np.array_equal(renamed[theirs], ours)


class Fitting:
    """What all runs share: the rows, what is known of them, and what is built over them.

    Parameters
    ----------
    prepared : Prepared
        The rows.
    weights : Weights
        Their weights.
    workers : Workers
        Threads to use.
    n_clusters : int
        How many clusters there are.
    algorithm : str
        One of `kseeds.lloyd.choice.ALGORITHMS`, or "auto".
    limits : Limits
        When to stop; ``tol`` as users give it, relative to the variance of the columns.
    progress : Progress
        Is told of every iteration.
    watch : callable, optional
        Is given the assigner of every run, and `limits`; returns what is used in its place.
    """

    def __init__(
        self,
        prepared: Prepared,
        weights: Weights,
        workers: Workers,
        n_clusters: int,
        algorithm: str,
        limits: Limits,
        progress: Progress = SILENT,
        watch: Callable[[Assigner, Limits], Assigner] | None = None,
    ) -> None:
        self._prepared, self._weights, self._workers = prepared, weights, workers
        self._n_clusters, self._progress, self._watch = n_clusters, progress, watch
        self._job = Job(prepared.points, prepared.metric, workers, n_clusters, limits.max_iter)
        self._columns = columns_of(prepared.points, workers)
        self._algorithm = algorithm
        self.limits = limits._replace(tol=tolerance(self._columns, limits.tol))
        """When to stop, in the units of the prepared points."""
        self.work = Work(rows=len(prepared.points))
        """What all runs together have cost."""

    def run(self, centers: Points, labels: npt.NDArray[np.int32] | None = None) -> Run:
        """Iterate from centres, prepared like the rows; the labels may be known."""
        # Short iterations would take less time than limiting BLAS in each of them.
        n, d = self._prepared.points.shape
        is_short = n * max(d, self._n_clusters) <= _SHORT
        with one_blas_thread() if is_short else nullcontext():
            return self._run(centers, labels)

    def _run(self, centers: Points, labels: npt.NDArray[np.int32] | None) -> Run:
        prepared = self._prepared
        sums, means = self._clusters()
        assigner = build(self._job, self._algorithm)
        used = assigner if self._watch is None else self._watch(assigner, self.limits)
        if labels is not None:
            used.adopt(labels, sums)
        is_assigned = labels is not None
        with in_place_of_short(self._job, assigner):
            fit = iterate(used, sums, means, centers, self.limits, is_assigned, self._progress)
        final = prepared_again(prepared.metric, fit.centers)
        if final is not fit.centers:
            used.assign(final, sums)
        nearest = used.nearest(final)
        if is_assigned:
            nearest = nearest.copy()  # its labels may still be those of a seeding
        self.work.distances += assigner.counts.distances
        self.work.tree_nodes += assigner.counts.nodes
        self.work.rows_skipped += assigner.skipped
        self.work.rounds += fit.n_iter
        name = assigner.name
        del assigner, used, sums, means  # room for what follows
        found_centers = self._in_units(fit.centers)
        exact = final if prepared.metric.is_embedded else found_centers
        found = in_user_units(nearest, exact, prepared, self._weights, self._workers)
        return Run(found_centers, *found, fit.n_iter, fit.converged, name)

    def _clusters(self) -> tuple[ExactSums | SparseSums, Means | SparseMeans]:
        """Return clusters that no row is in yet, and what makes centres of them."""
        points, weights = self._prepared.points, self._weights.scaled
        k, workers, spherical = self._n_clusters, self._workers, self._prepared.metric.is_embedded
        if is_sparse(points):
            clusters = SparseSums(len(points), k)
            return clusters, SparseMeans(clusters, points, weights, spherical, workers)
        sums = ExactSums.of_all(points, weights, self._columns.largest, k, workers)
        # In the user's units, unless values had to be scaled.
        is_shown = self._progress is not SILENT and self._prepared.metric.scale == 1.0
        return sums, Means(sums, weights, spherical, self._columns if is_shown else None)

    def _in_units(self, centers: Points) -> Points:
        """Return centres in the user's units."""
        metric = self._prepared.metric
        if is_sparse(centers) and not metric.is_embedded:
            return centers.with_entries(centers.entries * centers.dtype.type(metric.scale))
        return centers if metric.is_embedded else centers * centers.dtype.type(metric.scale)
