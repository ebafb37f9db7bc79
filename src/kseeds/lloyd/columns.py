"""What the iteration has to know of the columns: how large their values get, how much they vary."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray
from kseeds.runtime.threads import Workers

_VALUES = 1 << 17
"""Values looked at together, few enough to stay in cache."""
_BLOCKS = 64
"""At most so many blocks, so that few sums have to be kept."""

Float64Array = npt.NDArray[np.float64]


class Columns(NamedTuple):
    """The largest absolute value of each column, its mean, and its variance (unweighted)."""

    largest: Float64Array
    means: Float64Array
    variances: Float64Array


def columns_of(points: FloatArray, workers: Workers) -> Columns:
    """Return what the columns are like, the same on any number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds.lloyd.columns import columns_of
    >>> from kseeds.runtime.threads import Workers
    >>> found = columns_of(np.array([[1.0, -5.0], [3.0, -5.0]]), Workers(1))
    >>> found.largest.tolist(), found.means.tolist(), found.variances.tolist()
    ([3.0, 5.0], [2.0, -5.0], [1.0, 0.0])
    """
    n, d = points.shape
    origin = points[0].astype(np.float64)  # near the mean, as far as that matters to rounding
    rows = max(1, _VALUES // d)

    def task(start: int, stop: int) -> tuple[Float64Array, Float64Array, Float64Array]:
        largest, first, second = np.zeros((3, d))
        for low in range(start, stop, rows):
            block = points[low : min(low + rows, stop)]
            np.maximum(largest, block.max(axis=0), out=largest)
            np.maximum(largest, -block.min(axis=0), out=largest)
            moved = block - origin
            first += moved.sum(axis=0)
            second += np.einsum("ij,ij->j", moved, moved)
        return largest, first, second

    size = max(rows, -(-n // _BLOCKS))
    done = workers.over_blocks(task, n, size)
    largest = np.max([part[0] for part in done], axis=0)
    first, second = (np.sum([part[which] for part in done], axis=0) / n for which in (1, 2))
    return Columns(largest, origin + first, np.maximum(second - first * first, 0.0))
