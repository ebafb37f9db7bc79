"""`KMeans`: scikit-learn's estimator, computed by kseeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import sklearn.cluster
from sklearn.base import _fit_context
from sklearn.cluster import _kmeans
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from kseeds.sklearn import replacement
from kseeds.sklearn.assigning import labels_inertia
from kseeds.sklearn.fitting import fit_model


class KMeans(sklearn.cluster.KMeans):  # type: ignore[misc]
    """k-means clustering: ``sklearn.cluster.KMeans``, with the seeds and the iteration of kseeds.

    It has the parameters, attributes, methods and warnings of scikit-learn's, of which it is a
    subclass, and takes its place in pipelines, searches and pickles. From the same start it finds
    the same clusters, but for ties within rounding; the start itself is another draw from the same
    distribution.

    With little data or few clusters scikit-learn's own loop is faster, and is used, from the seeds
    of kseeds. Everywhere else the same ``random_state`` has the same answer, to the last bit, on
    any number of threads, and the data, dense or sparse, is neither copied nor changed, whatever
    ``copy_x`` says.

    Parameters
    ----------
    n_clusters : int, default 8
        How many clusters to find.
    init : {"k-means++", "random"}, callable or array-like, default "k-means++"
        Where to start: seeds by greedy k-means++, distinct rows, the result of a function
        (`Init`, say), or centres.
    n_init : "auto" or int, default "auto"
        How often to start; "auto" is 10 for "random" and for a callable, else 1.
    max_iter : int, default 300
        How often the centres may be moved.
    tol : float, default 1e-4
        Stop when the squared movements of the centres sum up to at most this multiple of the mean
        variance of the columns.
    verbose : int, default 0
        1 prints every iteration, which takes time: the inertia has to be computed.
    random_state : int, RandomState or None
        The randomness of the seeds.
    copy_x : bool, default True
        False allows data to be changed during a fit, and back again.
    algorithm : {"lloyd", "elkan"}, default "lloyd"
        Which of its own loops scikit-learn uses where it has to. Both find what kseeds finds.

    Attributes
    ----------
    cluster_centers_ : ndarray, shape (n_clusters, d)
        The centres.
    labels_ : ndarray of int32, shape (n,)
        The nearest centre of every row.
    inertia_ : float
        The sum of weight times squared distance over all rows.
    n_iter_ : int
        How often the centres were moved.
    n_features_in_ : int
        Columns of the data.
    feature_names_in_ : ndarray of str
        Their names, if they are strings.

    Examples
    --------
    >>> from kseeds.sklearn import KMeans
    >>> X = [[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]]
    >>> model = KMeans(2, random_state=0).fit(X)
    >>> sorted(model.cluster_centers_.tolist())
    [[1.0, 2.0], [10.0, 2.0]]
    >>> bool(model.predict([[0, 0]])[0] == model.labels_[0])
    True
    """

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Find clusters.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n, d)
            The data.
        y : Ignored
            Not used, as everywhere in scikit-learn.
        sample_weight : array-like, shape (n,), optional
            Weights of the rows; not passed to ``init`` if that is a callable.

        Returns
        -------
        KMeans
            The estimator itself.
        """
        fit_model(self, X, sample_weight)
        return self

    def predict(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the nearest centre of every row.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n, d)
            The rows.
        """
        check_is_fitted(self)
        data = self._check_test_data(X)
        weights = np.ones(data.shape[0], dtype=data.dtype)
        labels: npt.NDArray[np.int32] = _labels_inertia(
            data, weights, self.cluster_centers_, self._n_threads, return_inertia=False
        )
        return labels

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the inertia of rows, negative, so that more is better.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n, d)
            The rows.
        y : Ignored
            Not used.
        sample_weight : array-like, shape (n,), optional
            Weights of the rows.
        """
        check_is_fitted(self)
        data = self._check_test_data(X)
        weights = _check_sample_weight(sample_weight, data, dtype=data.dtype)
        _, inertia = _labels_inertia(data, weights, self.cluster_centers_, self._n_threads)
        return -float(inertia)

    def _init_centroids(
        self, X: Any, x_squared_norms: Any, init: Any, random_state: Any, sample_weight: Any,
        **others: Any,
    ) -> Any:  # fmt: skip
        if isinstance(init, str) and init == "k-means++" and not others:
            centers, _ = _seeds(X, self.n_clusters, x_squared_norms, sample_weight, random_state)
            return centers
        return super()._init_centroids(
            X, x_squared_norms, init, random_state, sample_weight, **others
        )


_labels_inertia = labels_inertia(_kmeans._labels_inertia_threadpool_limit)
_seeds = replacement.private(_kmeans._kmeans_plusplus)
