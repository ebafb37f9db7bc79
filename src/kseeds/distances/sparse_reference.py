"""Squared distances of sparse rows in plain NumPy: the definition that every kernel reproduces.

|x − c|² = |x|² + |c|² − 2·x·c, in float64, each sum from the first entry to the last. That loses
digits where the rows are near each other; there the distance is computed once more, entry by entry
of their difference. So it is as exact as a sum of squared differences: with `NEAR` as the
limit the error is below 8·(entries + 4) roundings. In whole numbers (below 2²⁶, say) nothing is
rounded, and the distances are those of dense rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kseeds.distances.arcs import arc_of
from kseeds.distances.metrics import SAME_DIRECTION, Family, FloatArray, Kind
from kseeds.distances.sparse_rows import BLOCK_ENTRIES, Float64Array, IndexArray, SparseRows

NEAR = 0.125
"""Rows are near each other if |x − c|² is below this share of |x|² + |c|²."""

_SEARCHED = 16
"""A centre is looked up by bisection if there are so many more columns than entries to look up."""


def squared_distances(points: SparseRows, center: SparseRows, kind: Kind) -> FloatArray:
    """Return the squared distance of every row to ``center``, one row or one per row."""
    out = np.empty(len(points), dtype=points.dtype)
    alone = len(center) == 1
    looked_up = _Lookup(center, points.size) if alone else None
    for start, stop in points.blocks():
        part = points[start:stop]
        mine = center if alone else center[start:stop]
        if looked_up is not None:
            dots = part.sums(part.entries.astype(np.float64) * looked_up.values(part.columns))
        else:
            dots = _dots_of_pairs(part, mine)
        norms = part.norms + mine.norms

        def pairs(at: IndexArray) -> tuple[IndexArray, IndexArray]:
            return at, np.zeros_like(at) if alone else at

        out[start:stop] = _from_dots(dots, norms, part, mine, pairs, kind)
    return out


class Table:
    """The squared distances of rows to all of several centres."""

    def __init__(self, centers: SparseRows, kind: Kind) -> None:
        self._centers, self._kind = centers, kind
        self._transposed = _in_double(centers).T.tocsr()

    def of(self, points: SparseRows) -> FloatArray:
        """Return the distances of a few rows, one row of the table each."""
        centers, shape = self._centers, (len(points), len(self._centers))
        # Row by row SciPy adds the products in the order of the columns, as `SparseRows.sums` does.
        dots = (_in_double(points) @ self._transposed).toarray().reshape(-1)
        norms = np.add.outer(points.norms, centers.norms).reshape(-1)

        def pairs(at: IndexArray) -> tuple[IndexArray, IndexArray]:
            return np.divmod(at, shape[1])

        return _from_dots(dots, norms, points, centers, pairs, self._kind).reshape(shape)


def products_between(points: SparseRows, centers: SparseRows, first: IndexArray) -> int:
    """Return how many products of rows and centres are not 0, from the ``first`` of each row on."""
    dots = (_in_double(points) @ _in_double(centers).T.tocsr()).tocoo()
    return int(np.count_nonzero((dots.data != 0.0) & (dots.col >= first[dots.row])))


def _in_double(rows: SparseRows) -> Any:
    """Return rows as a matrix of SciPy in float64."""
    from scipy import sparse  # whoever has sparse data has it imported already

    parts = (rows.entries.astype(np.float64), rows.columns, rows.indptr - rows.indptr[0])
    return sparse.csr_array(parts, shape=rows.shape)


class _Lookup:
    """The entries of one row by column."""

    def __init__(self, row: SparseRows, wanted: int) -> None:
        self._columns = row.columns
        self._entries = row.entries.astype(np.float64)
        self._dense: Float64Array | None = None
        if row.shape[1] <= _SEARCHED * wanted:
            self._dense = np.zeros(row.shape[1])
            self._dense[self._columns] = self._entries

    def values(self, columns: IndexArray) -> Float64Array:
        """Return the entries in some columns."""
        if self._dense is not None:
            return self._dense[columns]
        if len(self._columns) == 0:
            return np.zeros(len(columns))
        at = np.minimum(np.searchsorted(self._columns, columns), len(self._columns) - 1)
        found: Float64Array = np.where(self._columns[at] == columns, self._entries[at], 0.0)
        return found


def _keys(rows: SparseRows) -> npt.NDArray[np.int64]:
    """Return a number for each entry that grows with its row, and in a row with its column."""
    keys: npt.NDArray[np.int64] = rows.rows_of_entries * np.int64(rows.shape[1]) + rows.columns
    return keys


def _dots_of_pairs(points: SparseRows, centers: SparseRows) -> Float64Array:
    """Return the scalar product of every row with the centre of the same number."""
    mine, theirs = _keys(points), _keys(centers)
    if len(theirs) == 0:
        return np.zeros(len(points))
    at = np.minimum(np.searchsorted(theirs, mine), len(theirs) - 1)
    values = np.where(theirs[at] == mine, centers.entries[at].astype(np.float64), 0.0)
    return points.sums(points.entries.astype(np.float64) * values)


Pairs: TypeAlias = Callable[[IndexArray], tuple[IndexArray, IndexArray]]
"""Returns the rows and the centres of some pairs, given by number."""


def _from_dots(
    dots: Float64Array,
    norms: Float64Array,
    points: SparseRows,
    centers: SparseRows,
    pairs: Pairs,
    kind: Kind,
) -> FloatArray:
    """Return the squared distances of pairs, given x·c and |x|² + |c|² of each."""
    squared = norms - 2.0 * dots
    near = np.flatnonzero(squared < NEAR * norms)
    squared[near] = _differ(points, centers, *pairs(near), -1.0)
    if kind is Family.EUCLIDEAN:
        return squared.astype(points.dtype)
    # On the unit sphere: see `kseeds.distances.reference`.
    snap = (SAME_DIRECTION * np.finfo(points.dtype).eps) ** 2
    is_far = squared > 2.0
    arc = arc_of(np.where(is_far, 0.0, squared))
    far = np.flatnonzero(is_far)
    if len(far):
        opposite = norms[far] + 2.0 * dots[far]
        near = np.flatnonzero(opposite < NEAR * norms[far])
        opposite[near] = _differ(points, centers, *pairs(far[near]), 1.0)
        arc[far] = np.pi - arc_of(opposite)
    arc[squared <= snap] = 0.0
    arcs: FloatArray = (arc * arc).astype(points.dtype)
    return arcs


def _differ(
    points: SparseRows, centers: SparseRows, rows: IndexArray, which: IndexArray, sign: float
) -> Float64Array:
    """Return |x + sign·c|² of pairs of a row and a centre, entry by entry."""
    squared = np.empty(len(rows))
    if len(rows) == 0:
        return squared
    counts = np.diff(points.indptr)[rows] + np.diff(centers.indptr)[which]
    part = np.cumsum(counts) // BLOCK_ENTRIES
    for block in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(part)) + 1):
        numbers, entries = differences(points[rows[block]], centers[which[block]], sign)
        squared[block] = np.bincount(numbers, entries * entries, minlength=len(block))
    return squared


def differences(
    points: SparseRows, centers: SparseRows, sign: float = -1.0
) -> tuple[IndexArray, Float64Array]:
    """Return the entries of x + sign·c for pairs of rows: the pair of each, and its value.

    In the order of pairs, then of columns; entries that cancel are 0.
    """
    keys = np.concatenate([_keys(points), _keys(centers)])
    values = np.concatenate(
        [points.entries.astype(np.float64), sign * centers.entries.astype(np.float64)]
    )
    if len(keys) == 0:
        return keys, values
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    # At most two numbers each, so that their order does not matter.
    return keys[first] // points.shape[1], np.add.reduceat(values, first)
