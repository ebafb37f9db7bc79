"""From the arguments of a public function to a seeding, on any backend."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from kseeds.distances.metrics import METRICS
from kseeds.distributed import driver as rounds
from kseeds.distributed.centers import check_centers
from kseeds.distributed.driver import Backend, Driver, Request
from kseeds.errors import FewerDistinctPointsWarning
from kseeds.inputs import check_count, check_positive, check_random_state
from kseeds.methods.parallel.schedule import Schedule
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
    """Check the arguments, then start the backend and draw: k-means|| if there is a schedule.

    ``columns`` and ``dtype`` are those of the data, where they are known without a look at it.
    """
    started = time.perf_counter()
    k = check_count("n_clusters", n_clusters)
    name = check_metric_name(metric)
    initial = None
    if initial_centers is not None:
        initial = check_centers(
            initial_centers, "initial_centers", name, columns, dtype, allow_empty=True
        )
    stream = _stream_of(random_state)
    shown = progress_for(progress)
    try:
        with backend() as running:
            driver = Driver(running, Request(k, name, initial, stream, shown))
            if schedule is None:
                found = rounds.kmeans_plusplus(driver)
            else:
                found = rounds.kmeans_parallel(driver, schedule)
    finally:
        shown.close()
    if found.distinct < k:
        warnings.warn(
            f"X has fewer distinct points than n_clusters={k}: every row coincides with one of "
            f"the {found.distinct} seeds drawn"
            + (" or the initial centers" if initial is not None and len(initial) else "")
            + f". The other {k - found.distinct} are further rows drawn by weight; ask for fewer "
            "seeds to avoid repeated points.",
            FewerDistinctPointsWarning,
            stacklevel=4,  # past the public function and its `with_hints`
        )
    return DistributedSeeding(
        found.values,
        found.indices,
        "k-means++" if schedule is None else "k-means||",
        found.work,
        time.perf_counter() - started,
    )


def _stream_of(random_state: Any) -> Stream | Callable[[], Stream]:
    """Return the stream, or what makes it: a refused call must not advance a generator."""
    if isinstance(random_state, (np.random.Generator, np.random.RandomState)):
        return lambda: check_random_state(random_state)
    return check_random_state(random_state)


def check_schedule(oversampling: Any, n_rounds: Any) -> Schedule:
    """Return how much k-means|| is to draw."""
    return Schedule(check_positive("oversampling", oversampling), check_count("rounds", n_rounds))


def check_metric_name(metric: Any) -> str:
    """Return the name of a metric; a function cannot be sent around safely."""
    if isinstance(metric, str) and metric in METRICS:
        return metric
    raise ValueError(
        f"metric={metric!r} is not possible on a cluster; use one of {', '.join(METRICS)}."
    )
