"""A seeding problem: the checked input of every method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import Metric, definition_of
from kseeds.distances.sparse_rows import Points
from kseeds.errors import shown
from kseeds.inputs.arguments import check_count, check_metric, check_threads, known_random_state
from kseeds.inputs.points import Prepared, prepare_together
from kseeds.inputs.weights import Weights, check_weights
from kseeds.runtime.progress import Progress, progress_for
from kseeds.runtime.threads import Workers
from kseeds.sampling.streams import Stream


@dataclass(frozen=True)
class Problem:
    """The input of a method; valid by construction.

    Attributes
    ----------
    points : ndarray or SparseRows, shape (n, d)
        Prepared points, C-contiguous and read-only.
    weights : ndarray of float64, shape (n,), or None
        Weights, divided by a power of two so that all are less than 2; None when none were given.
    initial : ndarray, shape (m, d)
        Prepared initial centres; m may be 0.
    n_clusters : int
        How many new seeds to draw.
    metric : Metric
        The metric bound to the points.
    stream : Stream
        The random stream of this call.
    n_threads : int
        Threads to use.
    progress : Progress
        Is called with every step.
    checked : bool
        Whether the values are known to be finite, and their squares not to overflow or underflow.
        If not, the method must find out, and raise `UncheckedValuesError` if they may be bad.
    """

    points: Points
    weights: npt.NDArray[np.float64] | None
    initial: Points
    n_clusters: int
    metric: Metric
    stream: Stream
    n_threads: int
    progress: Progress
    checked: bool = True


class UncheckedValuesError(Exception):
    """Raised by a method when unchecked values may be bad; the caller then checks all values."""


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
    """Check all arguments; return the problem, the points and the weights.

    ``X`` may be prepared, in the metric that is asked for; then there are no initial centres.

    Without ``check_values`` the pass over the values is left to the method, if the metric makes
    every distance of a bad value NaN or infinite.
    """
    k = check_count("n_clusters", n_clusters)
    metric = check_metric(metric)
    state = known_random_state(random_state)
    threads = check_threads(n_threads)
    shown = progress_for(progress)
    # A single seed is drawn without computing a distance, so nothing else would find bad values.
    check_values = check_values or k == 1 or not definition_of(metric).shows_bad_values
    if isinstance(X, Prepared):
        prepared, initial = X, X.points[:0]
    else:
        with Workers(threads) as workers:
            prepared, initial = prepare_together(
                X, initial_centers, metric, names=("X", "initial_centers"),
                check_values=check_values, same_units=True, workers=workers,
            )  # fmt: skip
    n = len(prepared.points)
    check_enough(k, n, n)
    weights = check_weights(sample_weight, n)
    check_enough(k, n, weights.positive)
    # Last, so that a call that raises draws nothing from the caller's generator.
    stream = Stream.from_random_state(state)
    problem = Problem(
        prepared.points, weights.scaled, initial, k, prepared.metric, stream, threads, shown,
        prepared.checked,
    )  # fmt: skip
    return problem, prepared, weights


def check_enough(k: int, n: int, positive: int, wanted: str = "seeds") -> None:
    """Reject more seeds, or whatever is wanted, than rows, or than rows of positive weight."""
    if k > n:
        raise ValueError(
            f"n_clusters={shown(k)} is more than the {n} rows of X; ask for at most {n} {wanted}."
        )
    if k > positive:
        raise ValueError(
            f"n_clusters={k} is more than the {positive} rows with positive sample_weight; ask "
            f"for at most {positive} {wanted}."
        )
