"""Checks of the arguments that only `kmeans` has. Errors name the argument, the value, a remedy."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from kseeds.errors import shown
from kseeds.inputs.arguments import check_metric
from kseeds.results import DistributedSeeding, Seeding

STARTS = ("k-means++", "greedy", "k-means||", "random")
"""What ``init`` may be called."""
METRICS = ("euclidean", "cosine")


def check_start(init: Any, n_clusters: int) -> Any:
    """Return ``init`` if it is the name of a law, a seeding of as many seeds, or else any rows."""
    if isinstance(init, str):
        if init not in STARTS:
            raise ValueError(
                f"init={shown(init)} is unknown to kmeans; use one of {', '.join(STARTS)}, an "
                "array of centres or a seeding."
            )
        return init
    if init is None or callable(init):
        raise TypeError(
            f"init={shown(init)} is no start of kmeans; use one of {', '.join(STARTS)}, an array "
            "of centres or a seeding."
        )
    if isinstance(init, (Seeding, DistributedSeeding)):
        check_rows(init.centers.shape[0], n_clusters)
    return init


def check_rows(found: int, n_clusters: int) -> None:
    """Reject centres that are not as many as were asked for."""
    if found != n_clusters:
        raise ValueError(
            f"init has {found} centres but n_clusters={n_clusters}; pass one row per cluster."
        )


def check_mean_metric(metric: Any) -> str:
    """Return the name of a metric in which k-means has means."""
    known = check_metric(metric)
    if known not in METRICS:
        raise ValueError(
            f"metric={shown(metric)} has no mean that minimises squared distances; kmeans takes "
            f"{' or '.join(repr(name) for name in METRICS)}."
        )
    return str(known)


def check_tolerance(tol: Any) -> float:
    """Return ``tol`` as a finite float of at least 0."""
    if isinstance(tol, (bool, np.bool_)) or not isinstance(tol, numbers.Real):
        raise TypeError(f"tol={shown(tol)} is not a number; pass a number of at least 0.")
    try:
        number = float(tol)
    except OverflowError:
        number = math.inf
    if not 0.0 <= number < math.inf:
        raise ValueError(f"tol={shown(tol)} is out of range; pass a finite number of at least 0.")
    return number


def state_of_run(state: Any, number: int) -> Any:
    """Return the random state of a run; the first has the state that was given."""
    if number == 0 or state is None:
        return state
    if isinstance(state, (np.random.Generator, np.random.RandomState)):
        return state  # every run advances it
    if isinstance(state, np.random.SeedSequence):
        return np.random.SeedSequence(state.entropy, spawn_key=(*state.spawn_key, number))
    return np.random.SeedSequence(int(state), spawn_key=(number,))
