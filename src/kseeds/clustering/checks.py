"""Checks of the arguments that only `kmeans` has. Errors name the argument, the value, a remedy."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from kseeds.errors import shown
from kseeds.inputs import check_metric
from kseeds.laws import GREEDY, PARALLEL, PLUSPLUS, RANDOM, Law
from kseeds.methods.parallel.schedule import Schedule
from kseeds.results import Seeding

STARTS: dict[str, tuple[Law, tuple[Any, ...]]] = {
    "k-means++": (PLUSPLUS, ()),
    "greedy": (GREEDY, (None,)),
    "k-means||": (PARALLEL, (Schedule(2.0, 5),)),
    "random": (RANDOM, ()),
}
"""What ``init`` may be called, the law of each, and its parameters."""
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
    if isinstance(init, Seeding):
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
    number = float(tol)
    if not 0.0 <= number < math.inf:
        raise ValueError(f"tol={shown(tol)} is out of range; pass a finite number of at least 0.")
    return number
