"""Sparse rows compared with centres by lists of what the centres have in each column.

A row meets only the entries of centres in its own columns. Columns in which many centres have an
entry are kept as one dense run each, which is added at the speed of vector instructions.

References
----------
The inverted index of information retrieval: J. Zobel, A. Moffat, "Inverted files for text search
engines", ACM Computing Surveys 38(2), 2006.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kseeds.distances.metrics import Metric
from kseeds.distances.sparse_kernels import SparseArrays
from kseeds.distances.sparse_rows import Points, SparseRows, fit_single_precision
from kseeds.nearest import inverted_kernels as kernels
from kseeds.nearest.state import Counts, Nearest
from kseeds.runtime.aligned import Reused, aligned
from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.threads import Workers, blocks_of, rows_for

_CENTERS = 4096
"""Centres compared at a time: their products fit the first cache."""
_ROWS, _TASKS = 16_384, 8
"""Rows of a task, at most, and tasks, at least: centres are written out once in each."""


class Inverted:
    """See `kseeds.nearest.base.Strategy`; for sparse rows."""

    def __init__(self, points: SparseRows, metric: Metric) -> None:
        self._points, self._metric = points, metric
        self._arrays = SparseArrays.of(points)

    def update(self, nearest: Nearest, centers: Points, first: int, workers: Workers) -> Counts:
        """See `kseeds.nearest.base.Strategy`."""
        for low, high in blocks_of(len(centers), _CENTERS):
            self._compare(nearest, centers[low:high], first + low, workers)
        computed = len(self._points) * len(centers)
        return Counts(computed, 0, computed)

    def _compare(self, nearest: Nearest, centers: SparseRows, first: int, workers: Workers) -> None:
        precision = self._precision_for(centers)
        columns = _by_column(centers, precision)
        theirs, family = SparseArrays.of(centers), self._metric.kernel_family
        rows = nearest.rows_of(self._points)._replace(points=self._arrays)
        m = len(centers)
        halves = aligned((_width(m),), precision)
        halves[:m], halves[m:] = 0.5 * centers.norms, np.inf
        largest = float(centers.norms.max())
        share = min(1.0, 8.0 * centers.per_row / centers.shape[1])  # frequent columns meet more
        cost = 0.2 * m + self._points.per_row * (2.0 + m * share / 16)
        size = rows_for(cost, most=min(_ROWS, max(COLUMNS, len(self._points) // _TASKS)))
        spaces = Reused(lambda: _new_space(m, centers.shape[1], size, precision))

        def task(start: int, stop: int) -> None:
            with spaces.one() as space:
                kernels.compare(
                    rows, theirs, columns, halves, largest, first, family, start, stop, space
                )

        workers.over_blocks(task, len(self._points), size)

    def _precision_for(self, centers: SparseRows) -> np.dtype[Any]:
        """Return the precision of the products that rule centres out.

        Single is twice as fast.
        """
        is_single = fit_single_precision(self._points, centers)
        return np.dtype(np.float32) if is_single else self._points.dtype


def _width(n_centers: int) -> int:
    return -(-n_centers // COLUMNS) * COLUMNS


def _new_space(n_centers: int, n_columns: int, n_rows: int, dtype: np.dtype[Any]) -> kernels.Space:
    """Return a workspace for one thread."""
    return kernels.Space(
        aligned((_width(n_centers),), dtype),
        np.empty(kernels.RUNS_AT_ONCE, dtype=np.int32),
        np.empty(kernels.RUNS_AT_ONCE, dtype=dtype),
        np.empty(1, dtype=dtype),
        np.empty(n_rows, dtype=np.int32),
        np.empty(n_rows, dtype=np.int32),
        np.empty(n_centers + 1, dtype=np.int32),
        np.zeros(n_columns),
    )


def _by_column(centers: SparseRows, precision: np.dtype[Any]) -> kernels.Columns:
    """Return the entries of centres by column, and runs for the columns that have many."""
    m = len(centers)
    # Only columns of centres count: there may be millions of others.
    is_used = np.zeros(centers.shape[1], dtype=bool)
    is_used[centers.columns] = True
    used = np.flatnonzero(is_used)
    slots = np.full(centers.shape[1], -1, dtype=np.int32)
    slots[used] = np.arange(len(used))
    counts = np.bincount(slots[centers.columns], minlength=len(used))
    is_run = counts * kernels.RUN_SHARE > m
    runs = np.where(is_run, np.cumsum(is_run) - 1, -1).astype(np.int32)
    starts = np.zeros(len(used) + 1, dtype=np.int64)
    np.cumsum(np.where(is_run, 0, counts), out=starts[1:])
    table = aligned((int(is_run.sum()), _width(m)), centers.dtype)
    table[:] = 0.0
    rough = table if precision == table.dtype else aligned(table.shape, precision)
    rough[:] = 0.0
    owners = np.empty(starts[-1], dtype=np.uint32)
    values = np.empty(starts[-1], dtype=centers.dtype)
    columns = kernels.Columns(slots, starts, runs, owners, values, table, rough)
    kernels.fill(SparseArrays.of(centers), columns, starts[:-1].copy())
    return columns
