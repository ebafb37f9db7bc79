"""Which rows empty clusters take."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray


def farthest_rows(
    squared: FloatArray, weights: npt.NDArray[np.float64] | None, count: int
) -> npt.NDArray[np.int64]:
    """Return the rows of positive distance and weight that are farthest, ties by number.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds.lloyd.farthest import farthest_rows
    >>> farthest_rows(np.array([1.0, 9.0, 0.0, 9.0]), np.array([1.0, 0.0, 1.0, 2.0]), 2)
    array([3, 0])
    """
    possible = squared > 0.0
    if weights is not None:
        possible &= weights > 0.0
    rows = np.flatnonzero(possible)
    if len(rows) > count:
        least = np.partition(squared[rows], len(rows) - count)[len(rows) - count]
        rows = rows[squared[rows] >= least]
    found: npt.NDArray[np.int64] = rows[np.argsort(-squared[rows], kind="stable")[:count]]
    return found
