"""Sums of the rows of clusters that are exact, so that they depend on no order.

Every value is rounded to a whole multiple of a unit, a power of two, so large that no sum of all
rows exceeds 2⁵³ units: such sums are exact in float64. What rounding leaves is treated likewise,
with a smaller unit, once or twice more (*folds*). So sums are the same whatever the order of rows,
threads and partitions, a row that leaves a cluster leaves no trace, and sums that follow the rows
that change clusters never drift.

The idea is that of J. Demmel and H. D. Nguyen, "Parallel reproducible summation", IEEE Transactions
on Computers 64 (2015).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray
from kseeds.runtime import compile_policy
from kseeds.runtime.aligned import Reused
from kseeds.runtime.blas import one_blas_thread
from kseeds.runtime.threads import Workers, is_worth_sharing, rows_for

_SPARE_BITS = 30
"""Digits kept beyond those of the largest value of a column, for clusters of small values."""
_MOST_FOLDS = 8
_ROWS = 4096
"""Rows that plain NumPy moves at a time."""
_TABLE = 1 << 18
"""Entries of a table of rows and clusters up to which a product takes the least time."""
_TIMES = 2
"""How often a row is moved, about."""
_PLAIN_NS, _COMPILED_NS, _ROW_NS = 12.0, 1.0, 10.0
"""What moving a value costs, and a row."""

Float64Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Labels = npt.NDArray[np.int32]


class ExactSums:
    """Σ w·x and Σ w of every cluster, without rounding errors that depend on an order.

    Parameters
    ----------
    points : ndarray, shape (n, d)
        The rows.
    weights : ndarray of float64 or None
        Their weights, less than 2.
    anchors : ndarray, shape (folds, d + 1)
        Of these rows and all that they are added up with; see `anchors_for`.
    n_clusters : int
        How many clusters there are.
    workers : Workers
        Threads to use.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds.lloyd.sums import ExactSums
    >>> from kseeds.runtime.threads import Workers
    >>> X = np.array([[0.1], [0.2], [5.0], [1e9]])
    >>> sums = ExactSums.of_all(X, None, np.array([1e9]), 2, Workers(1))
    >>> none, labels = np.full(4, -1, np.int32), np.array([0, 0, 1, 0], np.int32)
    >>> sums.move(np.arange(4), none, labels)
    >>> sums.move(np.array([3]), labels[[3]], np.array([1], np.int32))
    >>> sums.totals()[0].tolist()
    [[0.30000000000000004], [1000000005.0]]
    """

    def __init__(
        self,
        points: FloatArray,
        weights: Float64Array | None,
        anchors: Float64Array,
        n_clusters: int,
        workers: Workers,
    ) -> None:
        self._points, self._workers = points, workers
        self.weights = np.empty(0) if weights is None else weights
        """Those of the rows; none, if all weigh the same."""
        self.anchors = anchors
        """Adding one of these, and taking it away, rounds a value of a column to its unit."""
        self._is_compiled: bool | None = None
        folds, width = self.anchors.shape
        self._sums = np.zeros((folds, n_clusters, width))
        self._spaces = Reused(lambda: np.zeros_like(self._sums))

    @classmethod
    def of_all(
        cls,
        points: FloatArray,
        weights: Float64Array | None,
        largest: Float64Array,
        n_clusters: int,
        workers: Workers,
    ) -> ExactSums:
        """Return sums of rows that are all there are, given the largest values of their columns."""
        least = None if weights is None else float(weights[weights > 0.0].min())
        anchors = anchors_for(len(points), points.dtype, largest, least)
        return cls(points, weights, anchors, n_clusters, workers)

    @property
    def folds(self) -> Float64Array:
        """The sums, fold by fold: (folds, clusters, columns and weight).

        Changed by nobody but a thread that moves rows while no other does.
        """
        return self._sums

    def move(self, rows: Rows, old: Labels, new: Labels) -> None:
        """Move rows from their ``old`` clusters to ``new`` ones; those of -1 are none."""
        dtype = self._points.dtype
        if self._is_compiled is None:  # decided by the first rows, which are all, once for all
            values = _TIMES * len(rows) * self.anchors.size
            plain = 1e-9 * _PLAIN_NS * values
            compiled = 1e-9 * (_COMPILED_NS * values + _TIMES * _ROW_NS * len(rows))
            self._is_compiled = compile_policy.pays("lloyd_sums", dtype, plain, compiled)
        if self._is_compiled:
            with compile_policy.using("lloyd_sums", dtype):
                self.move_compiled(rows, old, new)
        else:
            with compile_policy.in_place_of(["lloyd_sums"], dtype), one_blas_thread():
                self._move_plainly(rows, old, new)

    def move_compiled(self, rows: Rows, old: Labels, new: Labels) -> None:
        """Do the same by compiled kernels."""
        from kseeds.lloyd.sums_kernels import move_rows

        def task(start: int, stop: int, sums: Float64Array) -> None:
            move_rows(
                self._points, self.weights, rows, old, new, start, stop, self.anchors,
                np.empty(self.anchors.shape[1]), sums,
            )  # fmt: skip

        cost = _COMPILED_NS * self.anchors.size + _ROW_NS
        # Sums of its own for a thread cost as much as some rows for each cluster.
        size, fewest = rows_for(cost), 2 * self._sums.shape[1]
        if is_worth_sharing(len(rows) * cost):
            parts = min(self._workers.n_threads, len(rows) // fewest)
            size = min(size, -(-len(rows) // max(parts, 1)))
        if len(rows) <= max(size, fewest):
            task(0, len(rows), self._sums)
            return

        def task_of_thread(start: int, stop: int) -> None:
            with self.part() as sums:
                task(start, stop, sums)

        self._workers.over_blocks(task_of_thread, len(rows), size)
        self.merge()

    def part(self) -> AbstractContextManager[Float64Array]:
        """Lend an array of sums that a thread adds to; call `merge` when all have done so."""
        return self._spaces.one()

    def merge(self) -> None:
        """Add up what threads have added to their parts."""
        for sums in self._spaces.idle:
            self._sums += sums
            sums[:] = 0.0

    def _move_plainly(self, rows: Rows, old: Labels, new: Labels) -> None:
        _, k, width = self._sums.shape
        for low in range(0, len(rows), _ROWS):
            part = slice(low, low + _ROWS)
            some, into, out_of = rows[part], new[part], old[part]
            left = out_of >= 0
            table = None
            if len(some) * k <= _TABLE:
                # A product, in whose sums no order matters either.
                clusters = np.arange(k)[:, None]
                table = (into == clusters).astype(np.float64)
                table -= out_of == clusters
            for fold, rounded in enumerate(folded(self.contributions(some), self.anchors)):
                if table is not None:
                    self._sums[fold] += table @ rounded
                    continue
                for j in range(width):
                    column = rounded[:, j]
                    sums = np.bincount(into, column, k)
                    if left.any():
                        sums -= np.bincount(out_of[left], column[left], k)
                    self._sums[fold, :, j] += sums

    def contributions(self, rows: Rows) -> Float64Array:
        """Return w·x of some rows, and w in a last column."""
        found = np.ones((len(rows), self.anchors.shape[1]))
        found[:, :-1] = self._points[rows]
        if len(self.weights):
            found *= self.weights[rows][:, None]
        return found

    def totals(self) -> tuple[Float64Array, Float64Array]:
        """Return Σ w·x and Σ w of every cluster; the weight of an empty one is exactly 0."""
        total = unfolded(self._sums)
        return total[:, :-1], total[:, -1]


def folded(values: Float64Array, anchors: Float64Array) -> Iterator[Float64Array]:
    """Yield what each fold has of ``values``, which are lost; the last axis is that of columns."""
    for anchor in anchors:
        rounded = (values + anchor) - anchor
        values -= rounded
        yield rounded


def unfolded(sums: Float64Array) -> Float64Array:
    """Return the sum of the folds."""
    total: Float64Array = sums[-1].copy()
    for fold in sums[-2::-1]:  # the small ones first
        total += fold
    return total


def anchors_for(
    n_rows: int, dtype: np.dtype[Any], largest: Float64Array, least: float | None
) -> Float64Array:
    """Return 1.5·2⁵² units for every fold and column; the last column is that of the weights.

    Parameters
    ----------
    n_rows : int
        How many rows there are in all.
    dtype : dtype
        Their precision.
    largest : ndarray, shape (d,)
        The largest absolute value of each column, or more.
    least : float or None
        The least positive weight; None if all rows weigh the same.
    """
    exponents = np.frexp(np.append(largest, 1.0))[1]
    if least is not None:
        exponents += 1  # weights are less than 2
    bits = 51 - int(n_rows).bit_length()
    needed = np.finfo(dtype).nmant + 1 + _SPARE_BITS - math.frexp(least or 1.0)[1]
    folds = max(1, min(_MOST_FOLDS, -(-needed // bits)))
    units = exponents - bits * np.arange(1, folds + 1)[:, None]
    # A unit that is no normal number is of no use; columns of nothing but 0 have no exponent.
    anchors: Float64Array = np.ldexp(1.5, np.clip(units, -1022, 900) + 52)
    return anchors
