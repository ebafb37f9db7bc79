"""`KMeans.fit`: the checks, starts, messages and attributes of scikit-learn, our iteration.

Data goes through Lloyd's iteration of kseeds wherever that takes less time; what is left to
scikit-learn's own loop, which is fast for few rows or clusters, only has its seeds from kseeds.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.cluster import _kmeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from sklearn.utils.extmath import row_norms
from sklearn.utils.validation import _check_sample_weight, _is_arraylike_not_scalar

from kseeds.clustering.fitting import Fitting, Run
from kseeds.distances.sparse_rows import SparseRows
from kseeds.inputs import Prepared, check_weights, prepare_like, prepare_together
from kseeds.lloyd.iteration import Limits
from kseeds.runtime.threads import Workers
from kseeds.sklearn import costs
from kseeds.sklearn.drawing import draw
from kseeds.sklearn.loading import loaded_if_repaid
from kseeds.sklearn.sparse import dense_if_cheap, is_sparse
from kseeds.sklearn.telling import Told

try:
    from sklearn.utils.validation import validate_data
except ImportError:  # scikit-learn 1.5

    def validate_data(model: Any, X: Any, **keywords: Any) -> Any:
        """Do what later versions do by the same name."""
        return model._validate_data(X, **keywords)


PRIVATE = (
    "_check_params_vs_input", "_check_mkl_vcomp", "_init_centroids", "_validate_center_shape",
)  # fmt: skip
"""What `fit_model` calls of an estimator of scikit-learn."""


def fit_model(model: Any, X: Any, sample_weight: Any, depth: int = 3) -> None:
    """Fit an estimator of scikit-learn whose parameters are validated.

    Parameters
    ----------
    model : KMeans
        Gets the attributes that a fit of scikit-learn's sets.
    X : array-like or sparse matrix, shape (n, d)
        The data, not checked yet.
    sample_weight : array-like, shape (n,), or None
        The weights, likewise.
    depth : int
        Where warnings point to, counted from here.
    """
    # No copy: nothing is written to it.
    data = validate_data(
        model, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C",
        accept_large_sparse=False,
    )  # fmt: skip
    is_ours = _pays(data, model.n_clusters)
    # Theirs looks at the variances, which takes several passes; the iteration has them anyway.
    model._check_params_vs_input(data[: model.n_clusters] if is_ours else data)
    state = check_random_state(model.random_state)
    weights = None
    if sample_weight is not None or not is_ours:
        weights = _check_sample_weight(sample_weight, data, dtype=data.dtype)
    model._n_threads = _openmp_effective_n_threads()
    init = model.init
    if _is_arraylike_not_scalar(init):
        init = check_array(init, dtype=data.dtype, copy=True, order="C")
        model._validate_center_shape(data, init)
    if is_ours and not _are_ordinary(weights, model.n_clusters):
        is_ours, model._tol = False, _kmeans._tolerance(data, model.tol)
    if is_ours:
        with loaded_if_repaid():
            best = _by_ours(model, data, weights, init, state)
    else:
        best = _by_theirs(model, data, weights, init, state)
    found = np.count_nonzero(np.bincount(best.labels, minlength=model.n_clusters))
    if found < model.n_clusters:
        warnings.warn(
            f"Number of distinct clusters ({found}) found smaller than n_clusters "
            f"({model.n_clusters}). Possibly due to duplicate points in X.",
            ConvergenceWarning,
            stacklevel=depth,
        )
    model.cluster_centers_ = best.centers
    model._n_features_out = len(best.centers)
    model.labels_ = best.labels
    model.inertia_ = best.inertia
    model.n_iter_ = best.n_iter


def _pays(data: Any, n_clusters: int) -> bool:
    """Tell whether a fit is for the iteration of kseeds."""
    if is_sparse(data):
        return costs.sparse_assign_pays(data.nnz, n_clusters)
    return costs.lloyd_pays(data.shape, n_clusters)


def _are_ordinary(weights: npt.NDArray[Any] | None, n_clusters: int) -> bool:
    """Tell whether weights are those of k-means, some positive and none negative."""
    if weights is None:
        return True
    return bool(weights.min() >= 0.0 and np.count_nonzero(weights) >= n_clusters)


def _by_ours(model: Any, X: Any, weights: npt.NDArray[Any] | None, init: Any, state: Any) -> Run:
    """Return the best run of the iteration of kseeds."""
    is_array, k = isinstance(init, np.ndarray), model.n_clusters
    prepared, given = prepare_together(
        X, init if is_array else None, "euclidean", names=("X", "init")
    )
    checked = check_weights(weights, X.shape[0])
    limits = Limits(model.max_iter, float(model.tol))
    watch = None
    if model.verbose:
        watch = partial(Told, prepared, checked, algorithm=model._algorithm)
    best: Run | None = None
    with Workers(model._n_threads) as workers:
        fitting = Fitting(prepared, checked, workers, k, "auto", limits, watch=watch)
        model._tol = fitting.limits.tol * prepared.metric.scale**2
        for _ in range(model._n_init):
            labels = None
            if not is_array:
                centers, labels = _start(model, X, prepared, weights, init, state)
                given, _ = prepare_like(prepared, centers, name="init")
            if model.verbose:
                print("Initialization complete")
                labels = None  # the first iteration is told of, too
            run = fitting.run(given, labels)
            if best is None or run.is_better_than(best):
                best = run
    assert best is not None  # at least one run
    if isinstance(best.centers, SparseRows):  # scikit-learn's are always dense
        best = best._replace(centers=best.centers.toarray())
    return best


def _start(
    model: Any,
    X: Any,
    prepared: Prepared,
    weights: npt.NDArray[Any] | None,
    init: Any,
    state: Any,
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32] | None]:
    """Return starting centres, and the labels of all rows if they are known."""
    if isinstance(init, str) and init == "k-means++":
        rows = dense_if_cheap(X)  # so that little sparse data has the seeds of an array
        known = prepared if rows is X else None
        centers, _, labels = draw(rows, model.n_clusters, weights, state, None, known)
        return centers, labels
    mean = X.dtype.type(0.0)
    if callable(init) and not is_sparse(X):  # is promised data whose mean is 0
        mean = X.mean(axis=0)
        X = X - mean
    masses = np.ones(X.shape[0], dtype=X.dtype) if weights is None else weights
    return _centers(model, X, None, init, state, masses) + mean, None


def _by_theirs(model: Any, X: Any, weights: npt.NDArray[Any] | None, init: Any, state: Any) -> Run:
    """Return the best run of scikit-learn's own loop, in the units of the data."""
    if is_sparse(X):
        return _runs(model, X, weights, init, state)
    mean = X.mean(axis=0)
    if isinstance(init, np.ndarray):
        init -= mean
    if model.copy_x or not X.flags.writeable:
        best = _runs(model, X - mean, weights, init, state)
    else:
        X -= mean
        try:
            best = _runs(model, X, weights, init, state)
        finally:
            X += mean
    return best._replace(centers=best.centers + mean)


def _runs(model: Any, X: Any, weights: npt.NDArray[Any] | None, init: Any, state: Any) -> Run:
    norms = row_norms(X, squared=True)
    if model._algorithm == "elkan":
        single = _kmeans._kmeans_single_elkan
    else:
        single = _kmeans._kmeans_single_lloyd
        model._check_mkl_vcomp(X, X.shape[0])
    best: Run | None = None
    for _ in range(model._n_init):
        centers = _centers(model, X, norms, init, state, weights)
        if model.verbose:
            print("Initialization complete")
        labels, inertia, centers, n_iter = single(
            X, weights, centers, max_iter=model.max_iter, verbose=model.verbose, tol=model._tol,
            n_threads=model._n_threads,
        )  # fmt: skip
        run = Run(centers, labels, np.empty(0), inertia, n_iter, True, model._algorithm)
        if best is None or run.is_better_than(best):
            best = run
    assert best is not None  # at least one run
    return best


def _centers(model: Any, X: Any, norms: Any, init: Any, state: Any, weights: Any) -> Any:
    return model._init_centroids(
        X, x_squared_norms=norms, init=init, random_state=state, sample_weight=weights
    )
