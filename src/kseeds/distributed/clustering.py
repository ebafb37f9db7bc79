"""The shared body of `kseeds.dask.kmeans` and `kseeds.spark.kmeans`."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from kseeds.distances.sparse_rows import Points
from kseeds.distributed import starts
from kseeds.distributed.backend import Backend
from kseeds.distributed.centers import check_centers
from kseeds.distributed.driver import Driver, Request, Seeds
from kseeds.distributed.lloyd import Fitting, Run
from kseeds.distributed.partition import Plan
from kseeds.distributed.seeding import seeding_of, stream_of, warn_of_repeated_points
from kseeds.inputs import check_count, restored_on_error
from kseeds.inputs.arguments import check_random_state, known_random_state
from kseeds.inputs.clustering import (
    check_mean_metric,
    check_rows,
    check_start,
    check_tolerance,
    state_of_run,
)
from kseeds.inputs.sparse import to_scipy
from kseeds.lloyd.iteration import Limits
from kseeds.results import DistributedClustering, DistributedSeeding, Seeding
from kseeds.runtime.progress import Progress, progress_for
from kseeds.sampling.streams import Stream

_B = TypeVar("_B", bound=Backend)
_LAWS = {
    "k-means++": "k-means++",
    "greedy": "greedy k-means++",
    "k-means||": "k-means||",
    "random": "random rows",
}
"""What the law of a start is called."""


def cluster(
    backend: Callable[[], AbstractContextManager[_B]],
    n_clusters: Any,
    *,
    init: Any,
    n_init: Any,
    metric: Any,
    max_iter: Any,
    tol: Any,
    random_state: Any,
    progress: Any,
    columns: int | None,
    dtype: np.dtype[Any] | None,
    take: Callable[[_B, Plan, int], Any] = lambda *_: None,
) -> tuple[DistributedClustering, Any]:
    """Check the arguments, start the backend, draw seeds and iterate.

    ``columns`` and ``dtype`` are those of the data, if known without reading it. ``take`` is called
    while the backend runs, with it, the plan and the number of rows: the states are then the labels
    and distances. What it returns is returned, too.
    """
    started = time.perf_counter()
    k = check_count("n_clusters", n_clusters)
    runs, most = check_count("n_init", n_init), check_count("max_iter", max_iter)
    known, limit = check_mean_metric(metric), check_tolerance(tol)
    start, state = check_start(init, k), known_random_state(random_state)
    centers = None
    if not isinstance(start, str):
        given = getattr(start, "centers", start)
        centers = check_centers(given, "init", known, columns, dtype)
        check_rows(len(centers), k)
        runs = 1
    shown = progress_for(progress)
    stream = stream_of(random_state) if centers is None else Stream.from_random_state(0)
    request = Request(k, known, centers, stream, name="init", wanted="clusters")
    with closing(shown), restored_on_error(random_state), backend() as running:
        driver = Driver(running, request)
        if centers is not None:
            runner = _Runner(driver, Limits(most, limit), shown)
            run = runner.from_centers(driver.centers)
            seeding = start if isinstance(start, (Seeding, DistributedSeeding)) else None
        else:
            runner = _Runner(driver.again(), Limits(most, limit), shown)
            run, seeding = runner.best_of(driver, start, state, runs, progress is True)
            if runner.repeated is not None:
                warn_of_repeated_points(runner.repeated, k)
        taken = take(running, driver.plan, driver.work.rows)
        found = to_scipy(run.centers, driver.form) if driver.form else run.centers
        seconds = time.perf_counter() - started
        return DistributedClustering(
            found, run.inertia, run.n_iter, run.converged, seeding, runner.work, seconds
        ), taken


class _Runner:
    """Runs from centres, or from seeds that are drawn on the same partitions."""

    def __init__(self, driver: Driver, limits: Limits, progress: Progress) -> None:
        self._driver, self._limits, self._progress = driver, limits, progress
        self.work = driver.work
        """What all runs together have cost, without their seedings."""
        self.repeated: Seeds | None = None
        """Seeds among which points are repeated, if any were drawn."""

    def from_centers(self, centers: Points) -> Run:
        """Run once."""
        return self._fitting().run(centers)

    def _fitting(self) -> Fitting:
        k = self._driver.request.n_clusters
        return Fitting(self._driver, k, self._limits, self._progress)

    def best_of(
        self, first: Driver, start: str, state: Any, runs: int, has_bar: bool
    ) -> tuple[Run, DistributedSeeding]:
        """Run several times; return the run of the lowest inertia, the first of equal ones."""
        fitting: Fitting | None = None
        found: list[tuple[Run, DistributedSeeding]] = []
        for number in range(runs):
            began, driver = time.perf_counter(), first
            if number:
                first.forget()
                driver = first.again(check_random_state(state_of_run(state, number)))
            # A bar for the first seeds; later ones would tear that of the iterations apart.
            with closing(progress_for(has_bar and number == 0)) as shown:
                driver.request = replace(driver.request, progress=shown)
                seeds, n_compared = starts.draw(driver, start)
            if seeds.distinct < driver.request.n_clusters:
                self.repeated = self.repeated or seeds
            seeding = seeding_of(driver, seeds, _LAWS[start], time.perf_counter() - began)
            fitting = fitting or self._fitting()
            run = fitting.run(driver.plan.points(seeds.values), n_compared)
            found.append((run, seeding))
        assert fitting is not None  # at least one run
        best = min(found, key=lambda one: one[0].inertia)
        if best is not found[-1]:
            fitting.label(best[0])
        return best
