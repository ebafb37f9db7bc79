"""The public function `assign`: the exact nearest centre of every row."""

from __future__ import annotations

import logging
from typing import Any

from kseeds.inputs import check_threads, check_weights, prepare_together, with_hints
from kseeds.inputs.sparse import is_sparse_data
from kseeds.nearest.finish import exact_centers, finish
from kseeds.results import Assignment
from kseeds.runtime.threads import Workers

_LOGGER = logging.getLogger("kseeds")


@with_hints
def assign(
    X: Any,
    centers: Any,
    *,
    sample_weight: Any = None,
    metric: Any = "euclidean",
    n_threads: int | None = None,
) -> Assignment:
    """Find the exact nearest centre of every row.

    Parameters
    ----------
    X : array-like, shape (n, d)
        The rows, as for `kmeans_plusplus`.
    centers : array-like or sparse matrix, shape (m, d)
        The centres, at least one.
    sample_weight : array-like, shape (n,), optional
        Weights of the rows; only the potential depends on them.
    metric : str or callable, default "euclidean"
        As for `kmeans_plusplus`.
    n_threads : int, optional
        Threads to use; all cores by default.

    Returns
    -------
    Assignment
        Unpacks as ``labels, distances``; also has ``potential`` (inertia in scikit-learn).

    Examples
    --------
    >>> from kseeds import assign
    >>> labels, distances = assign([[0.0], [1.0], [7.0]], [[0.0], [6.0]])
    >>> labels.tolist(), distances.tolist()
    ([0, 0, 1], [0.0, 1.0, 1.0])
    """
    _say_what_is_dense(X, centers)
    threads = check_threads(n_threads)
    with Workers(threads) as workers:
        prepared, known = prepare_together(
            X, centers, metric, names=("X", "centers"), workers=workers
        )
        if len(known) == 0:
            raise ValueError("centers is empty; pass at least one centre.")
        weights = check_weights(sample_weight, len(prepared.points))
        exact = exact_centers(prepared, known)
        return Assignment(*finish(prepared, weights, None, known, exact, workers))


def _say_what_is_dense(X: Any, centers: Any) -> None:
    """Log what dense centres for sparse rows weigh, if it is more than the rows do."""
    if not is_sparse_data(X) or is_sparse_data(centers) or not hasattr(centers, "nbytes"):
        return
    weight, of_rows = centers.nbytes / 2**20, X.nnz * (X.dtype.itemsize + 4) / 2**20
    if weight > of_rows:
        _LOGGER.info(
            "centers are dense and weigh %.0f MiB, more than the %.0f MiB of the sparse X; as many "
            "again may be needed for their entries that are not 0. Pass them sparse if most are 0",
            weight, of_rows,
        )  # fmt: skip
