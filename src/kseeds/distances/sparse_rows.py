"""Rows of which most entries are 0, compressed: only what is not 0 is kept.

They stand wherever an array of points does: they have its shape and precision, and are sliced and
indexed by rows like one. A single row is `SparseRows` of length 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kseeds.runtime.aligned import read_only

IndexArray: TypeAlias = npt.NDArray[Any]
Float64Array: TypeAlias = npt.NDArray[np.float64]

Points: TypeAlias = Any
"""An array of float32 or float64, one row per point, or `SparseRows`."""

_FEW_ENTRIES = 4096
"""Entries below which making a matrix of SciPy takes longer than its product saves."""
_ONE = np.ones(1)
BLOCK_ENTRIES = 1 << 17
"""Entries processed at a time, so that temporaries stay in cache."""

_SINGLE = (1e-12, 1e12)
"""Between these, the largest squared norm lets products be computed in single precision."""


class SparseRows:
    """Rows in compressed form.

    Parameters
    ----------
    data : ndarray, shape (m,)
        Entries of float32 or float64, none of them 0, row by row and in each row by column.
    indices : ndarray of int32, shape (m,)
        The columns of the entries; no column appears twice in a row.
    indptr : ndarray of int64, shape (n + 1,)
        Row i has the entries ``indptr[i]`` to ``indptr[i + 1]``. The first need not be 0.
    n_columns : int
        The number of columns.
    norms : ndarray of float64, shape (n,), optional
        The squared norms of the rows, if they are known.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds.distances.sparse_rows import SparseRows
    >>> rows = SparseRows(np.array([3.0, 4.0, 1.0]), np.array([0, 5, 2]), np.array([0, 2, 3]), 6)
    >>> rows.shape, rows.norms.tolist(), rows[1].columns.tolist()
    ((2, 6), [25.0, 1.0], [2])
    """

    ndim = 2

    def __init__(
        self,
        data: npt.NDArray[Any],
        indices: IndexArray,
        indptr: IndexArray,
        n_columns: int,
        norms: Float64Array | None = None,
    ) -> None:
        # Read-only views, so that kernels are compiled for one type of array only.
        self.data, self.indices = read_only(data), read_only(indices.astype(np.int32, copy=False))
        self.indptr = read_only(indptr.astype(np.int64, copy=False))
        self.shape = (len(indptr) - 1, int(n_columns))
        if norms is not None:
            self.norms = norms

    @cached_property
    def norms(self) -> Float64Array:
        """The squared norms of the rows, each summed from its first entry to its last.

        So are scalar products, which makes the distance of equal rows 0 to the last bit.
        """
        norms = np.empty(len(self))
        for start, stop in self.blocks():
            part = self[start:stop]
            values = part.entries.astype(np.float64)
            norms[start:stop] = part.sums(values * values)
        norms.flags.writeable = False
        return norms

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the entries."""
        return self.data.dtype

    @property
    def itemsize(self) -> int:
        """The bytes of an entry."""
        return self.data.itemsize

    @property
    def size(self) -> int:
        """The number of entries that are kept."""
        return int(self.indptr[-1] - self.indptr[0])

    @property
    def per_row(self) -> float:
        """How many entries a row has on average."""
        return self.size / max(len(self), 1)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[SparseRows]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, rows: Any) -> SparseRows:
        if isinstance(rows, (int, np.integer)):
            rows = slice(int(rows), int(rows) + 1)
        known = self.__dict__.get("norms")
        norms = None if known is None else known[rows]
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            if step == 1:
                pointers = self.indptr[start : max(start, stop) + 1]
                return SparseRows(self.data, self.indices, pointers, self.shape[1], norms)
            rows = np.arange(start, stop, step)
        rows = np.asarray(rows)
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        entries, counts = self.places_of(rows)
        pointers = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
        return SparseRows(self.data[entries], self.indices[entries], pointers, self.shape[1], norms)

    def places_of(self, rows: IndexArray) -> tuple[IndexArray, IndexArray]:
        """Return where the entries of some rows are, row after row, and how many each has."""
        starts = self.indptr[rows]
        counts = self.indptr[rows + 1] - starts
        ends = np.cumsum(counts)
        total = int(ends[-1]) if len(ends) else 0
        return np.repeat(starts - ends + counts, counts) + np.arange(total), counts

    @property
    def entries(self) -> npt.NDArray[Any]:
        """The entries of these rows alone: a slice shares those of all."""
        return self.data[self.indptr[0] : self.indptr[-1]]

    @property
    def columns(self) -> IndexArray:
        """The columns of `entries`."""
        return self.indices[self.indptr[0] : self.indptr[-1]]

    @property
    def rows_of_entries(self) -> IndexArray:
        """The row of each of `entries`."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    def sums(self, values: Float64Array) -> Float64Array:
        """Return the sum of ``values``, one for each of `entries`, over each row.

        Each from the first to the last, as the kernels do; NumPy's own sums are pairwise.
        """
        if self.size < _FEW_ENTRIES:
            sums = np.bincount(self.rows_of_entries, values, minlength=len(self))
            return sums.astype(np.float64, copy=False)  # of no entries NumPy returns whole numbers
        from scipy import sparse  # whoever has sparse data has it imported already

        # Its product with a vector has the same order and needs no row of every entry.
        column = np.zeros(self.size, dtype=np.int32)
        pointers = self.indptr - self.indptr[0]
        found: Float64Array = sparse.csr_array((values, column, pointers), (len(self), 1)) @ _ONE
        return found

    def blocks(self, entries: int = BLOCK_ENTRIES) -> list[tuple[int, int]]:
        """Return consecutive ranges of rows of about so many entries, and at most as many rows."""
        bounds, n = [0], len(self)
        while bounds[-1] < n:
            start = bounds[-1]
            wanted = self.indptr[start] + entries
            stop = int(np.searchsorted(self.indptr, wanted, side="right")) - 1
            bounds.append(min(max(stop, start + 1), start + entries, n))
        return list(itertools.pairwise(bounds))

    def with_entries(self, data: npt.NDArray[Any]) -> SparseRows:
        """Return rows with other entries, in the places of `entries`."""
        return SparseRows(data, self.columns, self.indptr - self.indptr[0], self.shape[1])

    def copy(self) -> SparseRows:
        """Return the rows themselves, which nobody may change."""
        return self

    def astype(self, dtype: Any) -> SparseRows:
        """Return the rows in another precision; themselves if they have it."""
        if self.dtype == dtype:
            return self
        return self.with_entries(self.entries.astype(dtype)).without_zeros()

    def without_zeros(self) -> SparseRows:
        """Return the same rows with only those entries that are not 0."""
        keep = self.entries != 0
        if keep.all():
            return self
        counts = np.bincount(self.rows_of_entries[keep], minlength=len(self))
        pointers = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
        return SparseRows(self.entries[keep], self.columns[keep], pointers, self.shape[1])

    def compact(self) -> SparseRows:
        """Return these rows without those of which they are a slice."""
        if self.indptr[0] == 0 and len(self.data) == self.size:
            return self
        data, columns = self.entries.copy(), self.columns.copy()
        known = self.__dict__.get("norms")
        return SparseRows(data, columns, self.indptr - self.indptr[0], self.shape[1], known)

    def toarray(self) -> npt.NDArray[Any]:
        """Return the rows as a dense array."""
        dense = np.zeros(self.shape, dtype=self.dtype)
        dense[self.rows_of_entries, self.columns] = self.entries
        return dense

    def __getstate__(self) -> dict[str, Any]:
        whole = self.compact()
        return {"rows": (whole.data, whole.indices, whole.indptr, whole.shape[1])}

    def __setstate__(self, state: dict[str, Any]) -> None:
        SparseRows.__init__(self, *state["rows"])


def is_sparse(points: Points) -> bool:
    """Tell whether points are `SparseRows`."""
    return isinstance(points, SparseRows)


def stacked(parts: Sequence[Points]) -> Points:
    """Return the rows of several arrays, or of several `SparseRows`, one below the other."""
    if not any(is_sparse(part) for part in parts):
        return np.concatenate(parts)
    lengths = [np.diff(part.indptr) for part in parts]
    pointers = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.concatenate(lengths))])
    # Those of rows in the user's units may overflow, and are not needed.
    known = [part.__dict__["norms"] for part in parts if "norms" in part.__dict__]
    return SparseRows(
        np.concatenate([part.entries for part in parts]),
        np.concatenate([part.columns for part in parts]),
        pointers,
        parts[0].shape[1],
        np.concatenate(known) if len(known) == len(parts) else None,
    )


def fit_single_precision(*parts: SparseRows) -> bool:
    """Tell whether squares and products of rows neither overflow nor vanish in float32."""
    low, high = _SINGLE
    return low < max(float(part.norms.max()) for part in parts) < high


def entries_per_row(points: Points) -> float:
    """Return how many coordinates of a row have to be read."""
    return max(points.per_row, 1.0) if is_sparse(points) else float(points.shape[1])
