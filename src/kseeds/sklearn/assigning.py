"""Labels and inertia of new rows: what `predict` and `score` of scikit-learn's estimators call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from kseeds.inputs import check_weights, prepare_together
from kseeds.nearest.finish import exact_centers, finish
from kseeds.runtime.threads import Workers
from kseeds.sklearn import costs
from kseeds.sklearn.sparse import is_sparse

PARAMETERS = ("X", "sample_weight", "centers", "n_threads", "return_inertia")
"""The parameters of the private function that `labels_inertia` stands in for."""


def labels_inertia(theirs: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands in for the private function, which is given validated arrays."""

    @functools.wraps(theirs)
    def _labels_inertia(
        X: Any, sample_weight: Any, centers: Any, n_threads: int = 1, return_inertia: bool = True
    ) -> Any:
        if is_sparse(X):
            is_ours = costs.sparse_assign_pays(X.nnz, len(centers))
        else:
            is_ours = costs.assign_pays(X.shape, len(centers))
        if is_ours and return_inertia:
            is_ours = sample_weight.min() >= 0.0 and sample_weight.max() > 0.0
        if not is_ours or X.dtype != centers.dtype:
            return theirs(X, sample_weight, centers, n_threads, return_inertia)
        with Workers(n_threads) as workers:
            prepared, known = prepare_together(
                X, centers, "euclidean", names=("X", "centers"), workers=workers
            )
            weights = check_weights(sample_weight if return_inertia else None, X.shape[0])
            exact = exact_centers(prepared, known)
            labels, _, inertia = finish(prepared, weights, None, known, exact, workers)
        return (labels, inertia) if return_inertia else labels

    return _labels_inertia
