"""What stands in for scikit-learn's functions while it is patched, and when theirs still run.

All its estimators seed by one private function, which is given validated arrays. So is its public
function, which passes on whatever it was given: a list ends in an error there, integers become
integer centres. The public stand-in makes an array of floats of it first.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_array

from kseeds.sklearn.drawing import draw
from kseeds.sklearn.fitting import fit_model
from kseeds.sklearn.sparse import dense_if_cheap, is_sparse, theirs_is_faster

_LOGGER = logging.getLogger("kseeds")

Function = Callable[..., tuple[Any, Any]]

PARAMETERS = (
    "X", "n_clusters", "x_squared_norms", "sample_weight", "random_state", "n_local_trials",
)  # fmt: skip
"""The parameters of the private function that `private` stands in for."""
FIT = ("self", "X", "y", "sample_weight")
"""The parameters of `KMeans.fit`."""

FEW = "little sparse data, or few seeds of it,"

_SAID: set[str] = set()
"""The reasons for using theirs that were logged; each is logged once."""


def private(theirs: Function) -> Function:
    """Return what stands in for the private function, from which all estimators get seeds."""

    @functools.wraps(theirs)
    def _kmeans_plusplus(
        X: Any,
        n_clusters: int,
        x_squared_norms: Any,
        sample_weight: Any,
        random_state: Any,
        n_local_trials: int | None = None,
    ) -> tuple[Any, Any]:
        data = dense_if_cheap(X)
        reason = not_covered(data, n_clusters, sample_weight)
        if reason is not None:
            say_once(reason)
            return theirs(
                X, n_clusters, x_squared_norms, sample_weight, random_state, n_local_trials
            )
        centers, indices, _ = draw(data, n_clusters, sample_weight, random_state, n_local_trials)
        return centers, indices

    return _kmeans_plusplus


def public(theirs: Function, is_patched: Callable[[], bool]) -> Function:
    """Return what stands in for the public function.

    It may have been imported from scikit-learn by others, who keep it when the patch is undone:
    from then on it does what theirs does.
    """

    @functools.wraps(theirs)
    def kmeans_plusplus(X: Any, n_clusters: int, **keywords: Any) -> tuple[Any, Any]:
        return theirs(floats(X) if is_patched() else X, n_clusters, **keywords)

    return kmeans_plusplus


def fit(theirs: Callable[..., Any]) -> Callable[..., Any]:
    """Return what stands in for ``KMeans.fit``."""

    @functools.wraps(theirs)
    def fit(self: Any, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        fit_model(self, X, sample_weight)
        return self

    method: Callable[..., Any] = _fit_context(prefer_skip_nested_validation=True)(fit)
    return method


def floats(X: Any) -> Any:
    """Return data as floats, if it is neither that nor sparse; theirs says what is wrong."""
    if is_sparse(X) or getattr(X, "dtype", None) in (np.float32, np.float64):
        return X
    try:
        return check_array(X, dtype=[np.float64, np.float32])
    except (TypeError, ValueError):
        return X


def not_covered(X: Any, n_clusters: int, sample_weight: Any) -> str | None:
    """Return why theirs has to draw these seeds, or None."""
    if not (isinstance(X, np.ndarray) or is_sparse(X)):
        return f"data of type {type(X).__name__}"
    if is_sparse(X) and theirs_is_faster(X, n_clusters):
        return FEW
    if sample_weight is not None and np.min(sample_weight) < 0.0:
        return "negative weights"
    if n_clusters > (X.shape[0] if sample_weight is None else np.count_nonzero(sample_weight)):
        return "more clusters than rows of positive weight"
    return None


def say_once(reason: str) -> None:
    """Log why theirs draws the seeds, unless it was logged before."""
    if reason not in _SAID:
        _SAID.add(reason)
        _LOGGER.info("kseeds.sklearn leaves %s to scikit-learn's own k-means++", reason)
