"""Rows compared with a batch of centres in plain NumPy: no compiler, so no waiting for one.

Euclidean distances go through matrix products, over blocks whose table fits the cache, so that the
least entries are found while it is hot. Products lose digits, so they only pick candidates: what
lies within the error bound of the least is computed again, difference by difference.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import Family, FloatArray, Kind, Metric
from kseeds.distances.reference import squared_distances
from kseeds.distances.sparse_reference import Table
from kseeds.distances.sparse_rows import Points, SparseRows, is_sparse
from kseeds.nearest.state import Counts, Nearest
from kseeds.nearest.whole_numbers import are_whole, exact_up_to
from kseeds.runtime.blas import one_blas_thread
from kseeds.runtime.block_sizes import LANES
from kseeds.runtime.threads import Workers, blocks_of, rows_for
from kseeds.simd.lane_order import lane_sum

_ENTRIES = 1 << 20
"""Entries of a table: few enough for a cache, and so many that threads, which take turns between
any two operations of NumPy, work side by side."""
_SPARSE_ENTRIES = 1 << 18
"""Those of a table of sparse rows, each of which has more to be kept than its distance."""
_MOST_ROWS = 8192
_CENTERS = 2048
_FEW_CENTERS = 2
"""Centres up to which differences take less time than a product and what it leaves to do; every
k-means|| begins with one."""
_FEW_ENTRIES = 1 << 12
"""Pairs up to which preparing a product costs more than it saves, in few dimensions."""

Labels = npt.NDArray[np.int32]


class Plain:
    """See `kseeds.nearest.base.Strategy`; every metric, functions too."""

    def __init__(self, points: Points, metric: Metric) -> None:
        self._points, self._metric = points, metric

    def update(self, nearest: Nearest, centers: Points, first: int, workers: Workers) -> Counts:
        """See `kseeds.nearest.base.Strategy`."""
        if is_sparse(self._points):
            for low, high in blocks_of(len(centers), _CENTERS):
                self._by_tables(nearest, centers[low:high], first + low, workers)
        elif self._metric.kind is Family.EUCLIDEAN and len(centers) > _FEW_CENTERS:
            with one_blas_thread():
                for low, high in blocks_of(len(centers), _CENTERS):
                    self._by_products(nearest, centers[low:high], first + low, workers)
        else:
            self._by_rows(nearest, centers, first, workers)
        computed = len(self._points) * len(centers)
        return Counts(computed, 0, computed)

    def _by_products(
        self, nearest: Nearest, centers: FloatArray, first: int, workers: Workers
    ) -> None:
        factors = _Factors.of(centers)

        def task(start: int, stop: int) -> None:
            part = slice(start, stop)
            _compare_by_product(
                self._points[part], factors, first, nearest.squared[part], nearest.labels[part]
            )

        rows = max(64, min(_MOST_ROWS, _ENTRIES // len(centers)))
        workers.over_blocks(task, len(self._points), rows)

    def _by_tables(
        self, nearest: Nearest, centers: SparseRows, first: int, workers: Workers
    ) -> None:
        table = Table(centers, self._metric.kind)

        def task(start: int, stop: int) -> None:
            part = slice(start, stop)
            _least_of(
                table.of(self._points[part]), first, nearest.squared[part], nearest.labels[part]
            )

        rows = max(16, min(_MOST_ROWS, _SPARSE_ENTRIES // len(centers)))
        workers.over_blocks(task, len(self._points), rows)

    def _by_rows(self, nearest: Nearest, centers: FloatArray, first: int, workers: Workers) -> None:
        def task(start: int, stop: int) -> None:
            part = slice(start, stop)
            nearest.squared[part], nearest.labels[part] = _one_by_one(
                self._points[part], centers, first, self._metric.kind, nearest.squared[part],
                nearest.labels[part],
            )  # fmt: skip

        rows = rows_for(20.0 * len(centers) * self._points.shape[1], most=_MOST_ROWS)
        # A user's function may not like to be called by several threads at once.
        threads = Workers(1) if self._metric.function is not None else workers
        threads.over_blocks(task, len(self._points), rows)


def compare(
    points: Points,
    centers: Points,
    first: int,
    kind: Kind,
    best: FloatArray,
    labels: Labels,
) -> tuple[FloatArray, Labels]:
    """Compare rows with centres numbered from ``first``; return their nearest, ties to the lowest.

    ``best`` and ``labels`` are what is known of the rows; a centre that they were compared with
    before changes nothing.
    """
    if is_sparse(points):
        best, labels = best.copy(), labels.copy()
        _least_of(Table(centers, kind).of(points), first, best, labels)
        return best, labels
    if kind is not Family.EUCLIDEAN:
        return _one_by_one(points, centers, first, kind, best, labels)
    if points.shape[1] < LANES and len(points) * len(centers) <= _FEW_ENTRIES:
        table = np.zeros((len(points), len(centers)), dtype=points.dtype)
        for j in range(points.shape[1]):
            table += np.square(points[:, j, None] - centers[:, j])
        best, labels = best.copy(), labels.copy()
        _least_of(table, first, best, labels)
        return best, labels
    best, labels = best.copy(), labels.copy()
    _compare_by_product(points, _Factors.of(centers), first, best, labels)
    return best, labels


def _least_of(table: FloatArray, first: int, best: FloatArray, labels: Labels) -> None:
    """Keep the least distance of each row of a table where that is nearer, in place."""
    near = table.argmin(axis=1)
    _keep_nearer(table[np.arange(len(table)), near], near, first, best, labels)


def _keep_nearer(
    distances: FloatArray,
    near: npt.NDArray[np.int64],
    first: int,
    best: FloatArray,
    labels: Labels,
) -> None:
    """Keep distances to centres ``near`` where those are nearer than what rows have, in place."""
    nearer = distances < best
    np.copyto(best, distances, where=nearer)
    np.copyto(labels, near + first, where=nearer, casting="same_kind")


def _one_by_one(
    points: FloatArray,
    centers: FloatArray,
    first: int,
    kind: Kind,
    best: FloatArray,
    labels: Labels,
) -> tuple[FloatArray, Labels]:
    """Do what `compare` does, one centre after the other."""
    for s, center in enumerate(centers, first):
        distances = squared_distances(points, center, kind)
        nearer = distances < best
        best, labels = np.where(nearer, distances, best), np.where(nearer, s, labels)
    return best, labels.astype(np.int32)


class _Factors(NamedTuple):
    """Centres made ready for products: about their mean, times −2, with their squared norms below.

    So that (x − mean, 1) times a column is |x − c|² − |x − mean|², but for rounding. That is exact
    for rows of whole numbers whose squared norm is at most ``whole``.
    """

    centers: FloatArray
    mean: FloatArray
    columns: FloatArray
    largest: float
    whole: float

    @classmethod
    def of(cls, centers: FloatArray) -> _Factors:
        # The mean as origin keeps norms, and with them the error, small.
        mean, is_whole = centers.mean(axis=0, dtype=np.float64), are_whole(centers)
        mean = (np.rint(mean) if is_whole else mean).astype(centers.dtype)
        moved = centers - mean
        norms = np.einsum("ij,ij->i", moved, moved)
        with np.errstate(over="ignore"):  # of numbers that are then not multiplied
            moved *= -2.0
        columns = np.concatenate([moved.T, norms[None, :]])
        whole = exact_up_to(norms, centers.dtype) if is_whole else -1.0
        return cls(centers, mean, columns, float(norms.max()), whole)


def error_of_products(
    d: int, dtype: np.dtype[np.floating], norms: FloatArray, largest: float
) -> FloatArray:
    """Return what squared distances err by, given the squared norms of rows and the largest one.

    |x − c|² = |x|² + |c|² − 2·x·c errs by less than (1.5d + 4)·eps·(|x|² + |c|²) as a product (see
    `kseeds.nearest.gemm`; here |c|² has the precision of the points), and as a sum of squares by
    less than (d + 2)·eps·(|x|² + |c|²); a tenth more for products of errors. So a centre whose
    product is larger by twice as much is farther away, whichever way distances are computed.
    """
    error: FloatArray = (2.75 * (d + 4) * np.finfo(dtype).eps) * (norms + dtype.type(largest))
    return error


def largest_norm(dtype: np.dtype[np.floating]) -> float:
    """Return the squared norm up to which no product, nor any part of its sum, overflows."""
    return float(np.finfo(dtype).max) / 16.0


def _compare_by_product(
    points: FloatArray, factors: _Factors, first: int, best: FloatArray, labels: Labels
) -> None:
    """Do what `compare` does, in place."""
    n, d = points.shape
    rows, every = np.empty((n, d + 1), dtype=points.dtype), np.arange(n)
    np.subtract(points, factors.mean, out=rows[:, :d])
    norms = np.einsum("ij,ij->i", rows[:, :d], rows[:, :d])
    most = largest_norm(points.dtype)
    if not (norms.max() <= most and factors.largest <= most):
        best[:], labels[:] = _one_by_one(
            points, factors.centers, first, Family.EUCLIDEAN, best, labels
        )
        return
    rows[:, d] = 1.0
    table = rows @ factors.columns
    near = table.argmin(axis=1)
    least = table[every, near]
    # The points, since what makes them not whole may be lost about the mean.
    if norms.max() <= factors.whole and are_whole(points):
        _keep_nearer(least + norms, near, first, best, labels)
        return
    error = error_of_products(d, points.dtype, norms, factors.largest)
    is_possible = least + norms - error < best
    table[every, near] = np.inf
    next_least = table[every, table.argmin(axis=1)]
    is_certain = next_least > least + 2.0 * error
    chosen = np.flatnonzero(is_possible & is_certain)
    _take(points, factors.centers, chosen, near[chosen], first, best, labels)
    doubtful = np.flatnonzero(is_possible & ~is_certain)
    if len(doubtful):
        table[every, near] = least
        most = (least + 2.0 * error)[doubtful]
        # Flat, since looking for what is true in two dimensions takes many times as long.
        entries = np.flatnonzero(table[doubtful] <= most[:, None])
        at, near = np.divmod(entries, table.shape[1])
        _take(points, factors.centers, doubtful[at], near, first, best, labels)


def _take(
    points: FloatArray,
    centers: FloatArray,
    at: npt.NDArray[np.int64],
    near: npt.NDArray[np.int64],
    first: int,
    best: FloatArray,
    labels: Labels,
) -> None:
    """Compute the distances of pairs, and keep the least of each row where that is nearer."""
    if len(at) == 0:
        return
    distances = lane_sum(np.square(points[at] - centers[near]))
    if len(at) > 1 and (at[1:] == at[:-1]).any():
        # Per row the smallest distance, and of equal ones the lowest number, comes first.
        order = np.lexsort((near, distances, at))
        at, of_row = np.unique(at[order], return_index=True)
        near, distances = near[order][of_row], distances[order][of_row]
    nearer = distances < best[at]
    best[at[nearer]], labels[at[nearer]] = distances[nearer], near[nearer] + first
