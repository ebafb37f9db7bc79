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
_WIDTH = 256
"""Values that are summed up side by side, of several rows if these are short."""
_PLAIN_NS = 3.0
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
    with compile_policy.in_place_of(["lloyd_sums"], points.dtype):
        return _columns_of(points, workers, _look_plainly)


def _of_sparse(points: SparseRows) -> Columns:
    n, d = points.shape
    origin = points[:1].toarray()[0].astype(np.float64)  # as for dense rows
    largest, first, second, stored = np.zeros((4, d))
    for start, stop in points.blocks():
        part = points[start:stop]
        values = part.entries.astype(np.float64)
        np.maximum.at(largest, part.columns, np.abs(values))
        values -= origin[part.columns]
        stored += np.bincount(part.columns, minlength=d)
        first += np.bincount(part.columns, values, minlength=d)
        second += np.bincount(part.columns, values * values, minlength=d)
    first = (first - (n - stored) * origin) / n
    second = (second + (n - stored) * origin * origin) / n
    return Columns(largest, origin + first, np.maximum(second - first * first, 0.0))


def columns_by_kernels(points: FloatArray, workers: Workers) -> Columns:
    """Return the same, by compiled kernels."""
    from kseeds.lloyd.sums_kernels import look_at_columns

    return _columns_of(points, workers, look_at_columns)


def _columns_of(points: FloatArray, workers: Workers, look: Callable[..., None]) -> Columns:
    n, d = points.shape
    abreast = max(1, _WIDTH // d)
    start = points[0].astype(np.float64)  # near the mean, as far as that matters to rounding
    origin = np.tile(start, abreast)

    def task(start: int, stop: int) -> Float64Array:
        found = np.zeros((3, abreast * d))
        look(np.ascontiguousarray(points[start:stop]).reshape(-1), origin, *found)
        parts = found.reshape(3, abreast, d)
        # Sums one after the other, in any version of NumPy.
        parts[1:, 0] = np.add.accumulate(parts[1:], axis=1)[:, -1]
        parts[0, 0] = parts[0].max(axis=0)
        return parts[:, 0]

    done = workers.over_blocks(task, n, max(_ROWS, -(-n // _BLOCKS)))
    largest = np.max([part[0] for part in done], axis=0)
    first, second = (np.sum([part[which] for part in done], axis=0) / n for which in (1, 2))
    return Columns(largest, start + first, np.maximum(second - first * first, 0.0))


def _look_plainly(
    values: FloatArray,
    origin: Float64Array,
    largest: Float64Array,
    first: Float64Array,
    second: Float64Array,
) -> None:
    """Add what some rows have: see `kseeds.lloyd.sums_kernels.look_at_columns`."""
    width = len(origin)
    size = max(1, _VALUES // width) * width
    moved = np.empty((1 + min(size, len(values)) // width, width))
    for low in range(0, len(values), size):
        part = values[low : low + size]
        whole = len(part) // width
        block, rest = part[: whole * width].reshape(whole, width), part[whole * width :]
        if whole:
            np.maximum(largest, block.max(axis=0), out=largest)
            np.maximum(largest, -block.min(axis=0), out=largest)
            # Row after row, as the kernel does it.
            some = moved[: 1 + whole]
            np.subtract(block, origin, out=some[1:])
            some[0] = first
            some.sum(axis=0, out=first)
            np.square(some, out=some)
            some[0] = second
            some.sum(axis=0, out=second)
        if len(rest):
            ends = slice(len(rest))
            np.maximum(largest[ends], np.abs(rest), out=largest[ends])
            apart = rest - origin[ends]
            first[ends] += apart
            second[ends] += np.square(apart)
