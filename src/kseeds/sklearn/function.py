"""`kmeans_plusplus` as scikit-learn has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from kseeds.api import greedy_kmeans_plusplus
from kseeds.distances.metrics import FloatArray
from kseeds.errors import kind_of
from kseeds.sklearn.sparse import dense_if_cheap, is_sparse


def kmeans_plusplus(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: Any = None,
    x_squared_norms: Any = None,
    random_state: Any = None,
    n_local_trials: int | None = None,
) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """Draw the starting centres of k-means as ``sklearn.cluster.kmeans_plusplus`` does.

    The same arguments, the same results and the same distribution (greedy k-means++), but not the
    same seeds for the same ``random_state``. No row is returned twice: if there are fewer distinct
    points than ``n_clusters``, the others are further rows drawn by weight.

    Parameters
    ----------
    X : array-like or sparse matrix, shape (n, d)
        One row per point. Integers give centres of floats. Sparse data stays sparse, unless there
        is little of it, or at least a quarter of it is stored.
    n_clusters : int
        How many seeds to draw.
    sample_weight : array-like, shape (n,), optional
        Non-negative weights of the rows. A row of weight 0 is never drawn.
    x_squared_norms : array-like, shape (n,), optional
        Not needed and not used; only its length is checked.
    random_state : int, RandomState, Generator, SeedSequence or None
        None means NumPy's global state, which ``numpy.random.seed`` sets.
    n_local_trials : int, optional
        Candidates drawn per seed, of which the best becomes the seed; 2 + ⌊ln k⌋ by default.
        1 is k-means++ as it was published.

    Returns
    -------
    centers : ndarray, shape (n_clusters, d)
        The seeds; dense, also those of sparse data.
    indices : ndarray of int64, shape (n_clusters,)
        Their rows in X; no row appears twice.

    Warns
    -----
    FewerDistinctPointsWarning
        If fewer distinct points than seeds exist.

    Examples
    --------
    >>> from kseeds.sklearn import kmeans_plusplus
    >>> X = [[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]]
    >>> centers, indices = kmeans_plusplus(X, 2, random_state=0)
    >>> centers.shape, centers.dtype, indices.shape
    ((2, 2), dtype('float64'), (2,))
    """
    X = dense_if_cheap(X)
    _check_norms(x_squared_norms, X)
    seeding = greedy_kmeans_plusplus(
        X, n_clusters, n_local_trials=n_local_trials, sample_weight=sample_weight,
        random_state=_state_of(random_state),
    )  # fmt: skip
    centers: Any = seeding.centers
    return (centers.toarray() if is_sparse(centers) else centers), seeding.indices


def _check_norms(norms: Any, X: Any) -> None:
    if norms is None:
        return
    if not hasattr(norms, "__len__"):
        raise TypeError(f"x_squared_norms is {kind_of(norms)}; leave it out, it is not used.")
    rows = X.shape[0] if is_sparse(X) else len(X)
    if len(norms) != rows:
        # In words that scikit-learn's own tests look for.
        raise ValueError(
            f"The length of x_squared_norms ({len(norms)}) should be equal to the length of "
            f"n_samples ({rows}); leave it out, it is not used."
        )


def _state_of(random_state: Any) -> Any:
    """Return a random state that means what it means in scikit-learn, or what only we know."""
    if isinstance(random_state, (np.random.Generator, np.random.SeedSequence)):
        return random_state
    return check_random_state(random_state)
