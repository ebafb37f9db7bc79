"""What the iteration has to know of the columns: how large their values get, how much they vary."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray
from kseeds.distances.sparse_rows import Points, SparseRows
from kseeds.runtime import compile_policy
from kseeds.runtime.threads import Workers

_VALUES = 1 << 15
"""Values looked at together, few enough to stay in cache."""
_ROWS, _BLOCKS = 4096, 64
"""Rows of a block at least, and blocks at most, so that few sums have to be kept."""
_PLAIN_NS = 10.0
"""What plain NumPy takes for a value, compared with kernels."""

Float64Array = npt.NDArray[np.float64]


class Columns(NamedTuple):
    """The largest absolute value of each column, its mean, and its variance (unweighted)."""

    largest: Float64Array
    means: Float64Array
    variances: Float64Array


def columns_of(points: Points, workers: Workers) -> Columns:
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
    if isinstance(points, SparseRows):
        return _of_sparse(points)
    seconds = 1e-9 * points.size
    if compile_policy.pays("lloyd_sums", points.dtype, _PLAIN_NS * seconds, seconds):
        return columns_by_kernels(points, workers)
    return _columns_of(points, workers, _look_plainly)


def _of_sparse(points: SparseRows) -> Columns:
    n, d = points.shape
    largest, first, second = np.zeros((3, d))
    for start, stop in points.blocks():
        part = points[start:stop]
        values = part.entries.astype(np.float64)
        np.maximum.at(largest, part.columns, np.abs(values))
        first += np.bincount(part.columns, values, minlength=d)
        second += np.bincount(part.columns, values * values, minlength=d)
    first, second = first / n, second / n
    return Columns(largest, first, np.maximum(second - first * first, 0.0))


def columns_by_kernels(points: FloatArray, workers: Workers) -> Columns:
    """Return the same, by compiled kernels."""
    from kseeds.lloyd.sums_kernels import look_at_columns

    return _columns_of(points, workers, look_at_columns)


def _columns_of(points: FloatArray, workers: Workers, look: Callable[..., None]) -> Columns:
    n, d = points.shape
    origin = points[0].astype(np.float64)  # near the mean, as far as that matters to rounding

    def task(start: int, stop: int) -> Float64Array:
        found = np.zeros((3, d))
        look(points, start, stop, origin, *found)
        return found

    done = workers.over_blocks(task, n, max(_ROWS, -(-n // _BLOCKS)))
    largest = np.max([part[0] for part in done], axis=0)
    first, second = (np.sum([part[which] for part in done], axis=0) / n for which in (1, 2))
    return Columns(largest, origin + first, np.maximum(second - first * first, 0.0))


def _look_plainly(
    points: FloatArray,
    start: int,
    stop: int,
    origin: Float64Array,
    largest: Float64Array,
    first: Float64Array,
    second: Float64Array,
) -> None:
    """Add what some rows have: see `kseeds.lloyd.sums_kernels.look_at_columns`."""
    d = len(origin)
    rows = max(1, _VALUES // d)
    for low in range(start, stop, rows):
        block = points[low : min(low + rows, stop)]
        np.maximum(largest, block.max(axis=0), out=largest)
        np.maximum(largest, -block.min(axis=0), out=largest)
        # Row after row, as the kernel does it. NumPy adds up a single column in another order.
        moved = np.zeros((1 + len(block), max(2, d)))
        np.subtract(block, origin, out=moved[1:, :d])
        moved[0, :d] = first
        first[:] = moved.sum(axis=0)[:d]
        np.square(moved, out=moved)
        moved[0, :d] = second
        second[:] = moved.sum(axis=0)[:d]
