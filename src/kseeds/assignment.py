"""The exact nearest centre of every row, as a function of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.finishing import exact_centers, in_user_units
from kseeds.inputs import check_threads, check_weights, prepare_together
from kseeds.metrics import FloatArray
from kseeds.nearest import CatchUp
from kseeds.result import Nearest
from kseeds.threads import Workers


@dataclass(frozen=True, repr=False)
class Assignment:
    """Labels and distances of rows; unpacks as ``labels, distances``.

    Attributes
    ----------
    labels : ndarray of int32, shape (n,)
        The nearest centre of every row, the earliest of several.
    distances : ndarray, shape (n,)
        Its distance.
    potential : float
        The sum of weight times squared distance.
    """

    labels: npt.NDArray[np.int32]
    distances: FloatArray
    potential: float

    def __iter__(self) -> Iterator[Any]:
        yield self.labels
        yield self.distances

    def __repr__(self) -> str:
        return (
            f"<Assignment: {len(self.labels)} rows ({self.distances.dtype} distances), "
            f"potential={self.potential:.6g}>"
        )


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
    centers : array-like, shape (m, d)
        The centres, at least one.
    sample_weight : array-like, shape (n,), optional
        Weights of the rows; they count in the potential only.
    metric : str or callable, default "euclidean"
        As for `kmeans_plusplus`.
    n_threads : int, optional
        Threads to use; all cores by default.

    Returns
    -------
    Assignment
        Unpacks as ``labels, distances``; also has the potential.

    Examples
    --------
    >>> from kseeds import assign
    >>> labels, distances = assign([[0.0], [1.0], [7.0]], [[0.0], [6.0]])
    >>> labels.tolist(), distances.tolist()
    ([0, 0, 1], [0.0, 1.0, 1.0])
    """
    prepared, known = prepare_together(X, centers, metric, names=("X", "centers"))
    if len(known) == 0:
        raise ValueError("centers is empty; pass at least one centre.")
    weights = check_weights(sample_weight, len(prepared.points))
    nearest = Nearest.unmet(prepared.points)
    with Workers(check_threads(n_threads)) as workers:
        engine = CatchUp(prepared.points, prepared.metric, workers, len(known))
        engine.meet(nearest, known)
        none = np.empty(0, dtype=np.int64)
        exact = exact_centers(prepared, known, none)
        return Assignment(*in_user_units(nearest, exact, prepared, weights, workers))
