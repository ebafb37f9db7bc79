"""Sparse data: SciPy's matrices and arrays of any format, and pandas frames of sparse columns.

Its rows are kept compressed, as `kseeds.distances.sparse_rows.SparseRows`: sorted by column,
duplicates summed, without stored zeros. What is in that form already is not copied.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import METRICS, Dissimilarity, definition_of
from kseeds.distances.sparse_rows import SparseRows
from kseeds.errors import shown
from kseeds.inputs.dtypes import float_dtype, numeric
from kseeds.inputs.finite import cast, counted
from kseeds.inputs.frames import is_sparse_frame
from kseeds.inputs.places import place_of
from kseeds.inputs.sorting import is_sorted, sorted_rows

_MOST_COLUMNS = 2**31 - 1
_DENSE_BLOCK = 1 << 20
"""Entries of dense rows looked through at a time."""


def is_sparse_data(data: Any) -> bool:
    """Tell whether data is sparse, of SciPy or of pandas; neither is imported."""
    module = type(data).__module__.partition(".")[0]
    if module == "scipy" or hasattr(data, "tocsr"):
        return hasattr(data, "tocsr") and hasattr(data, "nnz")
    return is_sparse_frame(data)


def sparse_rows(
    data: Any, name: str, *, allow_empty: bool = False, n_threads: int = 1
) -> SparseRows:
    """Return sparse data as rows; ``data`` itself is left as it is."""
    matrix = data.sparse.to_coo() if is_sparse_frame(data) else data
    if matrix.ndim != 2:
        raise ValueError(
            f"{name} has {matrix.ndim} dimensions, not 2; use {name}.reshape(1, -1) for one row."
        )
    n, d = (int(size) for size in matrix.shape)
    if d == 0 or (n == 0 and not allow_empty):
        raise ValueError(f"{name} is empty (shape {n, d}); pass at least one row and one column.")
    if d > _MOST_COLUMNS:
        raise ValueError(
            f"{name} has {d} columns, more than the {_MOST_COLUMNS} that sparse data may have; "
            "leave out those that are 0 everywhere."
        )
    numeric(np.empty(0, dtype=matrix.dtype), name)  # raises for dtypes that are no numbers
    if matrix.format != "csr":
        matrix = _checked_coordinates(matrix, name).tocsr()
    entries, columns, pointers = _checked(matrix, name, n, d)
    entries = numeric(entries, name)
    entries = np.ascontiguousarray(entries, dtype=float_dtype(entries.dtype))
    if not is_sorted(columns, pointers):
        entries, columns, pointers = sorted_rows(entries, columns, pointers, d, n_threads)
        if matrix.dtype == np.bool_:  # twice true is true
            entries = (entries != 0).astype(entries.dtype)
    return SparseRows(entries, columns, pointers, d).without_zeros()


def _checked_coordinates(matrix: Any, name: str) -> Any:
    """Return a matrix whose format is not CSR, if its places are sound as far as SciPy checks."""
    try:
        check = getattr(matrix, "check_format", None) or getattr(matrix, "_check", None)
        if check is not None:
            check()
    except (TypeError, ValueError) as error:
        raise _damaged(name, str(error)) from error
    return matrix


def _checked(
    matrix: Any, name: str, n: int, d: int
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the three arrays of a CSR matrix; what they say of places is checked.

    Kernels read where they point to.
    """
    entries, columns, pointers = (
        np.asarray(part).reshape(-1) for part in (matrix.data, matrix.indices, matrix.indptr)
    )
    if len(pointers) != n + 1 or pointers[0] != 0 or (np.diff(pointers) < 0).any():
        raise _damaged(name, "indptr does not grow from 0 to the number of entries")
    stored = int(pointers[-1])
    if min(len(entries), len(columns)) < stored:
        raise _damaged(name, f"indptr ends at {stored}, past the last of its entries")
    entries, columns = entries[:stored], columns[:stored]
    if stored and (columns.min() < 0 or columns.max() >= d):
        raise _damaged(name, f"a column index is not between 0 and {d - 1}")
    return (
        np.ascontiguousarray(entries),
        np.ascontiguousarray(columns, dtype=np.int32),
        np.ascontiguousarray(pointers, dtype=np.int64),
    )


def _damaged(name: str, why: str) -> ValueError:
    return ValueError(f"{name} is a damaged sparse matrix ({why}); build it again.")


def rows_like(reference: SparseRows, data: Any, name: str, values: Any = None) -> SparseRows:
    """Return more rows, possibly none, in the precision of ``reference``; check their columns.

    ``data`` is sparse, or ``values`` is what it is as an array.
    """
    rows = sparse_rows(data, name, allow_empty=True) if values is None else None
    columns = values.shape[1] if rows is None else rows.shape[1]
    if columns != reference.shape[1]:
        raise ValueError(
            f"{name} has {columns} columns but the data has {reference.shape[1]}; pass rows of "
            "the same kind."
        )
    holder, remedy = f"the {reference.dtype} of the data", "pass the data as float64"
    if rows is None:
        return from_dense(cast(values, reference.dtype, name, holder, remedy, data))
    return cast_entries(rows, reference.dtype, name, holder, remedy)


def cast_entries(
    rows: SparseRows, dtype: np.dtype[Any], name: str, holder: str, remedy: str
) -> SparseRows:
    """Do for sparse rows what `kseeds.inputs.finite.cast` does for an array."""
    with np.errstate(over="ignore"):
        entries = rows.entries.astype(dtype, copy=False)
    lost = np.flatnonzero(np.isinf(entries) & np.isfinite(rows.entries))
    if len(lost):
        place = place_of(_position(rows, int(lost[0])))
        raise ValueError(
            f"{name} has {rows.entries[lost[0]]!s} at {place}, which is more than {holder} holds; "
            f"{remedy}."
        )
    return rows.with_entries(entries).without_zeros()


def from_dense(values: npt.NDArray[Any]) -> SparseRows:
    """Return the rows of an array; what is not 0 in a few rows at a time is copied."""
    n, d = values.shape
    step = max(1, _DENSE_BLOCK // d)
    entries, columns = [np.empty(0, values.dtype)], [np.empty(0, np.int32)]
    counts = [np.zeros(1, dtype=np.int64)]
    for lo in range(0, n, step):
        block = np.ascontiguousarray(values[lo : lo + step]).reshape(-1)
        # Of a mask, and in one dimension: NumPy is several times slower otherwise.
        at = np.flatnonzero(block != 0)
        rows, places = np.divmod(at, d)
        entries.append(block[at])
        columns.append(places.astype(np.int32))
        counts.append(np.bincount(rows, minlength=len(block) // d))
    pointers = np.cumsum(np.concatenate(counts))
    return SparseRows(np.concatenate(entries), np.concatenate(columns), pointers, d)


def check_sparse_metric(metric: str | Dissimilarity, name: str) -> None:
    """Reject a metric that sparse rows have not."""
    if definition_of(metric).sparse:
        return
    known = [repr(each) for each, record in METRICS.items() if record.sparse]
    given = "a function" if callable(metric) else shown(metric)
    raise ValueError(
        f"metric={given} is not available for sparse {name}; use {', '.join(known[:-1])} or "
        f"{known[-1]}, or pass {name}.toarray() if it fits in memory."
    )


def not_finite_entry(rows: SparseRows, name: str) -> ValueError:
    """Return the error for sparse rows that have a NaN or an infinite value."""
    bad = np.flatnonzero(~np.isfinite(rows.entries))
    places = [_position(rows, int(bad[0]))]
    count = len(np.unique(np.searchsorted(rows.indptr - rows.indptr[0], bad, side="right")))
    found = counted(str(rows.entries[bad[0]]), count, place_of(places[0]))
    return ValueError(f"{name} has {found}; drop or fill such rows first.")


def _position(rows: SparseRows, entry: int) -> tuple[int, int]:
    row = int(np.searchsorted(rows.indptr - rows.indptr[0], entry, side="right")) - 1
    return row, int(rows.columns[entry])


def form_of(data: Any) -> str:
    """Return which of SciPy's forms sparse data has: "array" or "matrix"."""
    is_array = any(base.__name__ == "sparray" for base in type(data).__mro__)
    return "array" if is_array else "matrix"


def to_scipy(rows: SparseRows, form: str) -> Any:
    """Return rows as a CSR array or a CSR matrix of SciPy."""
    from scipy import sparse

    whole = rows.compact()
    kind = sparse.csr_array if form == "array" else sparse.csr_matrix
    pointers = whole.indptr.astype(np.int32) if whole.size < 2**31 else whole.indptr.copy()
    made = kind((whole.data.copy(), whole.indices.copy(), pointers), shape=whole.shape)
    made.has_canonical_format = True
    return made
