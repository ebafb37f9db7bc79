"""The means of clusters of sparse rows: as sparse as their rows together.

A mean is summed anew whenever the rows of its cluster have changed, in the order of the rows and in
float64. So it depends on the rows of the cluster only, and not on what they were before, nor on
threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.distances.sparse_rows import SparseRows, stacked
from kseeds.lloyd.base import Assigner
from kseeds.lloyd.farthest import farthest_rows
from kseeds.runtime import compile_policy
from kseeds.runtime.aligned import Reused
from kseeds.runtime.threads import Workers

_PLAIN_NS, _COMPILED_NS = 60.0, 5.0
"""What an entry takes to be summed."""
_BLOCK_NS = 4e7

Float64Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Labels = npt.NDArray[np.int32]


class SparseSums:
    """Which cluster every row is in, and which clusters have changed; see `ExactSums`."""

    def __init__(self, n_rows: int, n_clusters: int) -> None:
        self.labels: Labels = np.full(n_rows, -1, dtype=np.int32)
        self.changed = np.ones(n_clusters, dtype=bool)
        """Clusters whose rows are others than when their means were last taken."""

    def move(self, rows: Rows, old: Labels, new: Labels) -> None:
        """Move rows from their ``old`` clusters to ``new`` ones; those of -1 are none."""
        self.labels[rows] = new
        self.changed[old[old >= 0]] = True
        self.changed[new] = True


class SparseMeans:
    """The centres that clusters of sparse rows have; see `kseeds.lloyd.iteration.Means`.

    Parameters
    ----------
    sums : SparseSums
        The clusters.
    points : SparseRows
        The rows.
    weights : ndarray of float64 or None
        Their weights.
    spherical : bool
        Whether centres are divided by their norms, as for the metric "cosine".
    workers : Workers
        Threads to use.
    """

    inertia: float | None = None
    """Not known."""

    def __init__(
        self,
        sums: SparseSums,
        points: SparseRows,
        weights: Float64Array | None,
        spherical: bool,
        workers: Workers,
    ) -> None:
        self._sums, self._points, self._workers = sums, points, workers
        self._weights, self._spherical = weights, spherical
        n_words = -(-points.shape[1] // 64)
        self._spaces = Reused(
            lambda: (np.zeros(points.shape[1]), np.zeros(n_words, dtype=np.uint64))
        )

    def after(self, centers: SparseRows, assigner: Assigner) -> SparseRows:
        """Return the means of the clusters to which rows were assigned by ``centers``."""
        sums, k = self._sums, len(centers)
        masses = self._masses(k)
        empty = np.flatnonzero(masses == 0.0)
        back: tuple[Rows, Labels, Labels] | None = None
        if len(empty):
            nearest = assigner.nearest(centers)
            rows = farthest_rows(nearest.squared, self._weights, len(empty))
            old, new = sums.labels[rows].copy(), empty[: len(rows)].astype(np.int32)
            sums.move(rows, old, new)
            back = rows, new, old
            masses = self._masses(k)
        wanted = np.flatnonzero(sums.changed & (masses > 0.0))
        sums.changed[:] = False
        means = self._means(wanted, masses[wanted])
        moved = replaced(centers, wanted, means, self._spherical)
        if back is not None:
            sums.move(*back)
        return moved

    def _masses(self, n_clusters: int) -> Float64Array:
        """Return Σ w of every cluster."""
        masses = np.bincount(self._sums.labels, self._weights, minlength=n_clusters)
        return masses.astype(np.float64, copy=False)

    def _means(self, wanted: Rows, masses: Float64Array) -> SparseRows:
        """Return the means of some clusters."""
        number = np.full(len(self._sums.changed), -1, dtype=np.int32)
        number[wanted] = np.arange(len(wanted))
        labels = number[self._sums.labels]
        order = np.argsort(labels, kind="stable")
        starts = np.searchsorted(labels[order], np.arange(len(wanted) + 1))
        dtype = self._points.dtype
        entries = int(np.diff(self._points.indptr)[order[starts[0] :]].sum()) if len(wanted) else 0
        plain, compiled = 1e-9 * _PLAIN_NS * entries, 1e-9 * _COMPILED_NS * entries
        if compile_policy.pays("sparse_means", dtype, plain, compiled):
            with compile_policy.using("sparse_means", dtype):
                totals = self.totals_compiled(order, starts)
        else:
            with compile_policy.in_place_of(["sparse_means"], dtype):
                totals = self._totals_plainly(order, starts)
        pointers, columns, values = totals
        sums = SparseRows(values, columns, pointers, self._points.shape[1])
        return means_of(sums, masses, dtype, self._spherical)

    def totals_compiled(
        self, order: Rows, starts: Rows
    ) -> tuple[Rows, npt.NDArray[np.int32], Float64Array]:
        """Return the sums of clusters, given by their rows: pointers, columns and values."""
        from kseeds.distances.sparse_kernels import SparseArrays
        from kseeds.lloyd.sparse_means_kernels import count_columns, sum_rows

        arrays = SparseArrays.of(self._points)
        weights = np.empty(0) if self._weights is None else self._weights
        k = len(starts) - 1
        counts = np.zeros(k + 1, dtype=np.int64)

        def count(start: int, stop: int) -> None:
            with self._spaces.one() as (_, words):
                count_columns(arrays, order, starts, start, stop, words, counts)

        per_cluster = self._points.size / max(len(starts) - 1, 1) + self._points.shape[1] / 64
        size = max(1, int(_BLOCK_NS / (_COMPILED_NS * per_cluster)))
        size = max(1, min(size, -(-k // (4 * self._workers.n_threads))))
        self._workers.over_blocks(count, k, size)
        pointers = np.cumsum(counts)
        columns = np.empty(pointers[-1], dtype=np.int32)
        values = np.empty(pointers[-1])

        def add(start: int, stop: int) -> None:
            with self._spaces.one() as (dense, words):
                sum_rows(
                    arrays, weights, order, starts, start, stop, dense, words, pointers, columns,
                    values,
                )  # fmt: skip

        self._workers.over_blocks(add, k, size)
        return pointers, columns, values

    def _totals_plainly(
        self, order: Rows, starts: Rows
    ) -> tuple[Rows, npt.NDArray[np.int32], Float64Array]:
        """Return what `totals_compiled` returns, in NumPy."""
        k, d = len(starts) - 1, np.int64(self._points.shape[1])
        members = order[starts[0] :]
        rows = self._points[members]
        cluster = np.repeat(np.arange(k), np.diff(starts))[rows.rows_of_entries]
        values = rows.entries.astype(np.float64)
        if self._weights is not None:
            values *= self._weights[members][rows.rows_of_entries]
        keys, place = np.unique(cluster * d + rows.columns, return_inverse=True)
        sums = np.bincount(place.reshape(-1), values, minlength=len(keys)).astype(np.float64)
        numbers, columns = np.divmod(keys, d)
        pointers = np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=k))])
        return pointers.astype(np.int64), columns.astype(np.int32), sums


def means_of(
    sums: SparseRows, masses: Float64Array, dtype: np.dtype[Any], spherical: bool
) -> SparseRows:
    """Return sums divided by their weights, and with ``spherical`` by their norms."""
    rows, values = sums.rows_of_entries, sums.entries / masses[sums.rows_of_entries]
    if spherical:
        norms = np.sqrt(np.bincount(rows, values * values, minlength=len(sums)))
        with np.errstate(invalid="ignore", divide="ignore"):
            values = values / norms[rows]
    return sums.with_entries(values.astype(dtype))


def replaced(centers: SparseRows, wanted: Rows, means: SparseRows, spherical: bool) -> SparseRows:
    """Return centres with some of them replaced by means, unless these have no direction."""
    if spherical:
        lost = np.bincount(means.rows_of_entries, ~np.isfinite(means.entries), len(means)) > 0
        keep = np.flatnonzero(~lost & (np.diff(means.indptr) > 0))
        wanted, means = wanted[keep], means[keep]
    place = np.arange(len(centers))
    place[wanted] = len(centers) + np.arange(len(wanted))
    moved: SparseRows = stacked([centers, means.without_zeros()])[place]
    return moved


def squared_shift(before: SparseRows, after: SparseRows) -> float:
    """Return the sum of the squared movements of centres."""
    from kseeds.distances.sparse_reference import differences

    _, entries = differences(after, before)
    return float((entries * entries).sum())
