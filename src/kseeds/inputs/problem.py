"""A seeding problem: all that a method needs, checked and in one form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray, Metric, definition_of
from kseeds.inputs.arguments import check_count, check_metric, check_threads, known_random_state
from kseeds.inputs.points import Prepared, prepare_together
from kseeds.inputs.weights import Weights, check_weights
from kseeds.messages import shown
from kseeds.runtime.progress import Progress, progress_for
from kseeds.sampling.streams import Stream


@dataclass(frozen=True)
class Problem:
    """What a method works on; valid by construction.

    Attributes
    ----------
    points : ndarray, shape (n, d)
        Prepared points, C-contiguous and read-only.
    weights : ndarray of float64, shape (n,), or None
        Weights scaled by a power of two to less than 2; None when all are equal.
    initial : ndarray, shape (m, d)
        Prepared centres that exist already; m may be 0.
    n_clusters : int
        How many new seeds to draw.
    metric : Metric
        The metric bound to the points.
    stream : Stream
        The randomness of this call.
    n_threads : int
        Threads to use.
    progress : Progress
        Told about every step.
    checked : bool
        Whether the values are known to be finite and of a size whose squares are safe. If
        not, the method must raise `UncheckedValuesError` unless it sees that they are.
    """

    points: FloatArray
    weights: npt.NDArray[np.float64] | None
    initial: FloatArray
    n_clusters: int
    metric: Metric
    stream: Stream
    n_threads: int
    progress: Progress
    checked: bool = True


class UncheckedValuesError(Exception):
    """Raised by a method when values that were not checked look as if they should be."""


def prepare_problem(
    X: Any,
    n_clusters: Any,
    *,
    sample_weight: Any,
    metric: Any,
    initial_centers: Any,
    random_state: Any,
    n_threads: Any,
    progress: Any,
    check_values: bool = True,
) -> tuple[Problem, Prepared, Weights]:
    """Check everything; return the problem, the user's points and the weights.

    Without ``check_values`` the reading of all values that a check needs is left to the
    method, where the metric lets a bad value show.
    """
    k = check_count("n_clusters", n_clusters)
    metric = check_metric(metric)
    state = known_random_state(random_state)
    threads = check_threads(n_threads)
    shown = progress_for(progress)
    # A single seed is drawn without looking at the values at all.
    check_values = check_values or k == 1 or not definition_of(metric).shows_bad_values
    prepared, initial = prepare_together(
        X, initial_centers, metric, names=("X", "initial_centers"), check_values=check_values,
        same_units=True,
    )  # fmt: skip
    n = len(prepared.points)
    check_enough(k, n, n)
    weights = check_weights(sample_weight, n)
    check_enough(k, n, weights.positive)
    # Last, so that a call that is refused draws nothing from the caller's generator.
    stream = Stream.from_random_state(state)
    problem = Problem(
        prepared.points, weights.scaled, initial, k, prepared.metric, stream, threads, shown,
        prepared.checked,
    )  # fmt: skip
    return problem, prepared, weights


def check_enough(k: int, n: int, positive: int) -> None:
    """Refuse more seeds than rows, or than rows of positive weight."""
    if k > n:
        raise ValueError(
            f"n_clusters={shown(k)} is more than the {n} rows of X; ask for at most {n} seeds."
        )
    if k > positive:
        raise ValueError(
            f"n_clusters={k} is more than the {positive} rows with positive sample_weight; ask "
            f"for at most {positive} seeds."
        )
