"""Seeds of data that scikit-learn has validated: nothing is checked twice."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

from kseeds.api import draw_rows
from kseeds.distances.metrics import FloatArray
from kseeds.inputs import Prepared, Problem, prepare_problem
from kseeds.laws import GREEDY, PLUSPLUS
from kseeds.methods.base import Draw
from kseeds.methods.completion import complete
from kseeds.methods.greedy.rule import trials_for
from kseeds.results import Work
from kseeds.sklearn import small
from kseeds.sklearn.sparse import is_sparse


class Seeds(NamedTuple):
    """Centres in an array, their rows, and the nearest of them for every row if that is known."""

    centers: FloatArray
    indices: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int32] | None


def draw(
    X: Any,
    n_clusters: int,
    sample_weight: npt.NDArray[Any] | None,
    random_state: np.random.RandomState,
    n_local_trials: int | None,
    prepared: Prepared | None = None,
) -> Seeds:
    """Draw seeds by greedy k-means++.

    Parameters
    ----------
    X : ndarray or sparse matrix, shape (n, d)
        Finite numbers, of any kind and order.
    n_clusters : int
        How many seeds to draw, at most as many as there are rows of positive weight.
    sample_weight : ndarray, shape (n,), or None
        Finite weights.
    random_state : RandomState
        Is advanced.
    n_local_trials : int or None
        Candidates per step.
    prepared : Prepared, optional
        The same data, prepared, if that has been done.
    """
    weights, trials = _weights(sample_weight), trials_for(n_clusters, n_local_trials)
    if is_sparse(X):
        rows = X if prepared is None else prepared
        indices, labels = _drawn(rows, n_clusters, weights, random_state, trials)
        return Seeds(X.tocsr()[indices].toarray(), indices, labels)
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
    values: FloatArray = np.ascontiguousarray(X, dtype=dtype)
    if small.is_small(values, weights, trials):
        drawn = small.draw(values, n_clusters, weights, random_state, trials)
        indices = np.array(drawn)
        if len(drawn) < n_clusters:
            indices = _completed(values, n_clusters, weights, random_state, trials, indices)
        return Seeds(values[indices], indices, None)
    rows = values if prepared is None else prepared
    indices, labels = _drawn(rows, n_clusters, weights, random_state, trials)
    return Seeds(values[indices], indices, labels)


def _drawn(
    X: Any,
    n_clusters: int,
    weights: npt.NDArray[np.float64] | None,
    random_state: np.random.RandomState,
    trials: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32] | None]:
    """Return rows drawn by the law, and what the draw knows of the others."""
    # With one trial the laws are the same, and k-means++ is drawn faster.
    law, parameters = (PLUSPLUS, ()) if trials == 1 else (GREEDY, (trials,))
    *_, drawn, indices = draw_rows(
        law, X, n_clusters, "auto", {}, parameters, _say_nothing,
        sample_weight=weights, **_others(random_state),
    )  # fmt: skip
    nearest = drawn.nearest
    is_complete = nearest is not None and nearest.oldest == len(indices)
    return indices, nearest.labels if nearest is not None and is_complete else None


def _weights(sample_weight: npt.NDArray[Any] | None) -> npt.NDArray[np.float64] | None:
    """Return the weights, or None if all are the same, which is what scikit-learn passes mostly."""
    if sample_weight is None or (sample_weight[0] > 0.0 and np.ptp(sample_weight) == 0.0):
        return None
    return np.asarray(sample_weight, dtype=np.float64)


def _completed(
    values: FloatArray,
    n_clusters: int,
    weights: npt.NDArray[np.float64] | None,
    random_state: np.random.RandomState,
    trials: int,
    indices: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Return the rows drawn and those that are missing, though they coincide with the former."""
    problem, prepared, checked = prepare_problem(
        values, n_clusters, sample_weight=weights, **_others(random_state)
    )
    drawn = Draw(indices, Work(), trials=trials)
    return complete(problem, prepared, drawn, checked, _say_nothing)


def _others(random_state: np.random.RandomState) -> dict[str, Any]:
    # As many threads as scikit-learn itself would use: workers of joblib share the cores.
    return {
        "metric": "euclidean", "initial_centers": None, "random_state": random_state,
        "n_threads": _openmp_effective_n_threads(), "progress": False,
    }  # fmt: skip


def _say_nothing(problem: Problem, found: int) -> None:
    """Leave it to scikit-learn, whose estimators warn of clusters that coincide."""
