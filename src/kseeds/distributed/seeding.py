"""The shared body of the public functions of `kseeds.dask` and `kseeds.spark`."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from kseeds.distances.metrics import METRICS
from kseeds.distributed.backend import Backend
from kseeds.distributed.centers import check_centers
from kseeds.distributed.driver import Driver, Request, Seeds, kmeans_parallel, kmeans_plusplus
from kseeds.errors import FewerDistinctPointsWarning
from kseeds.inputs import check_choice, check_count, check_positive, check_random_state
from kseeds.inputs.sparse import to_scipy
from kseeds.methods.parallel.schedule import REDUCTIONS, Schedule
from kseeds.results import DistributedSeeding
from kseeds.runtime.progress import progress_for
from kseeds.sampling.streams import Stream


def seed(
    backend: Callable[[], AbstractContextManager[Backend]],
    n_clusters: Any,
    *,
    metric: Any,
    initial_centers: Any,
    random_state: Any,
    progress: Any,
    schedule: Schedule | None = None,
    columns: int | None = None,
    dtype: np.dtype[Any] | None = None,
) -> DistributedSeeding:
    """Check the arguments, start the backend, and draw; by k-means|| if there is a schedule.

    ``columns`` and ``dtype`` are those of the data, if known without reading it.
    """
    started = time.perf_counter()
    k = check_count("n_clusters", n_clusters)
    name = check_metric_name(metric)
    initial = None
    if initial_centers is not None:
        initial = check_centers(
            initial_centers, "initial_centers", name, columns, dtype, allow_empty=True
        )
    stream = stream_of(random_state)
    shown = progress_for(progress)
    try:
        with backend() as running:
            driver = Driver(running, Request(k, name, initial, stream, shown))
            if schedule is None:
                found = kmeans_plusplus(driver)
            else:
                found = kmeans_parallel(driver, schedule)
    finally:
        shown.close()
    has_initial = initial is not None and len(initial) > 0
    warn_of_repeated_points(found, k, has_initial=has_initial)
    law = "k-means++" if schedule is None else "k-means||"
    return seeding_of(driver, found, law, time.perf_counter() - started)


def seeding_of(driver: Driver, found: Seeds, law: str, seconds: float) -> DistributedSeeding:
    """Return seeds as users get them."""
    centers = to_scipy(found.values, driver.form) if driver.form else found.values
    return DistributedSeeding(centers, found.indices, law, found.work, seconds)


def warn_of_repeated_points(found: Seeds, n_clusters: int, *, has_initial: bool = False) -> None:
    """Warn if there were fewer distinct points than seeds; called by the body of a function."""
    if found.distinct >= n_clusters:
        return
    warnings.warn(
        f"X has fewer distinct points than n_clusters={n_clusters}: every row coincides with one "
        f"of the {found.distinct} seeds drawn"
        + (" or the initial centers" if has_initial else "")
        + f". The other {n_clusters - found.distinct} are further rows drawn by weight; ask for "
        "fewer seeds to avoid repeated points.",
        FewerDistinctPointsWarning,
        stacklevel=5,  # the caller of the public function, above `with_hints`
    )


def stream_of(random_state: Any) -> Stream | Callable[[], Stream]:
    """Return the stream, or for a generator a function that creates it after all checks."""
    if isinstance(random_state, (np.random.Generator, np.random.RandomState)):
        return lambda: check_random_state(random_state)
    return check_random_state(random_state)


def check_schedule(oversampling: Any, n_rounds: Any, reduction: Any) -> Schedule:
    """Check ``oversampling``, ``rounds`` and ``reduction`` of k-means||."""
    return Schedule(
        check_positive("oversampling", oversampling),
        check_count("rounds", n_rounds),
        check_choice("reduction", reduction, REDUCTIONS),
    )


def check_metric_name(metric: Any) -> str:
    """Return the name of a metric; functions are not supported, as workers may not have them."""
    if isinstance(metric, str) and metric in METRICS:
        return metric
    raise ValueError(
        f"metric={metric!r} is not possible with Dask or Spark; use one of {', '.join(METRICS)}."
    )
