"""Sums of clusters whose rows are in partitions: what partitions send, and how it adds up.

A partition tells by how much the sums change, of those clusters only that rows have left or joined.
The folds of `kseeds.lloyd.sums` make that exact, with the same anchors for all partitions; so the
sums are the same bits whatever the partitioning.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray
from kseeds.distances.sparse_rows import Points, SparseRows, is_sparse
from kseeds.lloyd import sparse_means
from kseeds.lloyd.columns import Columns
from kseeds.lloyd.iteration import means_of, rest_of_variance
from kseeds.lloyd.sums import ExactSums, anchors_for, folded, unfolded
from kseeds.runtime.threads import Workers

Float64Array: TypeAlias = npt.NDArray[np.float64]
Rows: TypeAlias = npt.NDArray[np.int64]
Labels: TypeAlias = npt.NDArray[np.int32]


class Change(NamedTuple):
    """By how much sums change, fold by fold.

    Of dense rows, ``places`` are clusters and ``values`` (folds, clusters, columns and weight). Of
    sparse rows, place c·(d + 1) + j is column j of cluster c, and column d has the weight.
    """

    places: Rows
    values: Float64Array


def anchors_of(
    n_rows: int, dtype: np.dtype[Any], largest: Float64Array, least: float | None, *, sparse: bool
) -> Float64Array:
    """Return the anchors of all columns, or one for all columns of sparse rows; of weights last."""
    if not sparse:
        return anchors_for(n_rows, dtype, largest, least)
    # Columns may be millions. More digits make up for what is small beside the largest of all.
    return anchors_for(n_rows, np.dtype(np.float64), largest.max(initial=0.0, keepdims=True), least)


def change_of(
    points: Points,
    weights: Float64Array | None,
    anchors: Float64Array,
    n_clusters: int,
    old: Labels,
    new: Labels,
    workers: Workers,
) -> Change:
    """Return what changes when rows move from their ``old`` clusters (-1: none) to ``new`` ones."""
    rows = np.flatnonzero(old != new)
    old, new = old[rows], new[rows]
    if is_sparse(points):
        some = points[rows]
        return _sparse_change(some, None if weights is None else weights[rows], anchors, old, new)
    sums = ExactSums(points, weights, anchors, n_clusters, workers)
    sums.move(rows, old, new)
    places = np.flatnonzero(np.bincount(old[old >= 0], minlength=n_clusters))
    places = np.union1d(places, new)
    return Change(places, sums.folds[:, places])


def _sparse_change(
    rows: SparseRows, weights: Float64Array | None, anchors: Float64Array, old: Labels, new: Labels
) -> Change:
    n, d = rows.shape
    owners = np.concatenate([rows.rows_of_entries, np.arange(n)])
    columns = np.concatenate([rows.columns, np.full(n, d)]).astype(np.int64)
    values = np.concatenate([rows.entries.astype(np.float64), np.ones(n)])
    if weights is not None:
        values *= weights[owners]
    left = old[owners] >= 0
    into, out_of = (clusters[owners] * np.int64(d + 1) + columns for clusters in (new, old))
    places, at = np.unique(np.concatenate([into, out_of[left]]), return_inverse=True)
    kind = (columns == d).astype(np.int64)
    folds = [
        np.bincount(at.reshape(-1), np.concatenate([part, -part[left]]), len(places))
        for part in folded(values, anchors[:, kind])
    ]
    return Change(places, np.array(folds))


class DenseClusters:
    """The sums of all clusters of dense rows.

    Parameters
    ----------
    n_clusters : int
        How many clusters there are.
    anchors : ndarray, shape (folds, d + 1)
        See `kseeds.lloyd.sums.anchors_for`.
    """

    def __init__(self, n_clusters: int, anchors: Float64Array) -> None:
        folds, width = anchors.shape
        self._sums = np.zeros((folds, n_clusters, width))

    def add(self, change: Change) -> None:
        """Add what a partition has sent."""
        self._sums[:, change.places] += change.values

    def copy(self) -> DenseClusters:
        """Return a copy that may be changed."""
        twin = DenseClusters.__new__(DenseClusters)
        twin._sums = self._sums.copy()
        return twin

    def masses(self) -> Float64Array:
        """Return Σ w of every cluster."""
        return unfolded(self._sums[:, :, -1])

    def means(self, centers: FloatArray, spherical: bool) -> FloatArray:
        """Return the means of clusters; those of no weight keep their ``centers``."""
        total = unfolded(self._sums)
        return means_of(total[:, :-1], total[:, -1], centers, spherical)

    def inertia(self, columns: Columns) -> float | None:
        """Return that of rows and means, to a few digits."""
        total = unfolded(self._sums)
        return rest_of_variance(total[:, :-1], total[:, -1], columns)


class SparseClusters:
    """The sums of all clusters of sparse rows: as sparse as their rows together.

    Parameters
    ----------
    n_clusters, n_columns : int
        How many clusters and columns there are.
    anchors : ndarray, shape (folds, 2)
        See `anchors_of`.
    """

    def __init__(self, n_clusters: int, n_columns: int, anchors: Float64Array) -> None:
        self._shape = (n_clusters, n_columns)
        self._places = np.empty(0, dtype=np.int64)
        self._sums = np.empty((len(anchors), 0))

    def add(self, change: Change) -> None:
        """Add what a partition has sent."""
        both = np.concatenate([self._places, change.places])
        places, at = np.unique(both, return_inverse=True)
        values = np.concatenate([self._sums, change.values], axis=1)
        sums = np.array([np.bincount(at.reshape(-1), fold, len(places)) for fold in values])
        kept = np.flatnonzero(sums.any(axis=0))  # rows that left leave nothing behind
        self._places, self._sums = places[kept], sums[:, kept]

    def copy(self) -> SparseClusters:
        """Return a copy that may be changed."""
        twin = SparseClusters.__new__(SparseClusters)
        twin._shape, twin._places, twin._sums = self._shape, self._places, self._sums
        return twin

    def masses(self) -> Float64Array:
        """Return Σ w of every cluster."""
        return self._totals()[0]

    def _totals(self) -> tuple[Float64Array, SparseRows]:
        k, d = self._shape
        clusters, columns = np.divmod(self._places, d + 1)
        totals, of_weights = unfolded(self._sums), columns == d
        masses = np.zeros(k)
        masses[clusters[of_weights]] = totals[of_weights]
        counts = np.bincount(clusters[~of_weights], minlength=k)
        pointers = np.concatenate([[0], np.cumsum(counts)])
        sums = SparseRows(totals[~of_weights], columns[~of_weights], pointers, d)
        return masses, sums

    def means(self, centers: SparseRows, spherical: bool) -> SparseRows:
        """Return the means of clusters; those of no weight keep their ``centers``."""
        masses, sums = self._totals()
        wanted = np.flatnonzero(masses > 0.0)
        means = sparse_means.means_of(sums[wanted], masses[wanted], centers.dtype, spherical)
        return sparse_means.replaced(centers, wanted, means, spherical)

    def inertia(self, columns: Columns) -> float | None:
        """Return nothing: it is not known."""
        return None


Clusters: TypeAlias = DenseClusters | SparseClusters
