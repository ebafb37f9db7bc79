"""Sorting the entries of sparse rows by column.

Vectorisers leave the words of a text in the order in which they met them first, and SciPy takes
longer to sort them than k-means++ takes to draw a hundred seeds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.distances.sparse_rows import SparseRows
from kseeds.runtime import compile_policy

_ENTRIES = 1 << 15
"""Entries sorted together: with their workspaces they stay in cache."""
_PLAIN_NS, _COMPILED_NS = 24.0, 9.0
"""What SciPy takes for an entry, and the kernel."""

Sorted = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]


def sorted_rows(
    entries: npt.NDArray[Any],
    columns: npt.NDArray[np.int32],
    pointers: npt.NDArray[np.int64],
    n_columns: int,
) -> Sorted:
    """Return entries, columns and pointers of rows in order; entries of the same place are summed.

    What is given is left as it is.
    """
    dtype, seconds = entries.dtype, 1e-9 * len(entries)
    if compile_policy.pays("sparse_sorting", dtype, _PLAIN_NS * seconds, _COMPILED_NS * seconds):
        with compile_policy.using("sparse_sorting", dtype):
            values, places = sort_compiled(entries, columns, pointers, n_columns)
        if is_sorted(places, pointers):
            return values, places, pointers
        # Entries of the same place: their sum depends on their order, which is left to SciPy.
    from scipy import sparse  # whoever has sparse data has it imported already

    with compile_policy.in_place_of(["sparse_sorting"], dtype):
        # A new matrix, since SciPy would sort the user's in place, and believes what it was told.
        shape = (len(pointers) - 1, n_columns)
        copied = sparse.csr_array((entries, columns, pointers), shape=shape, copy=True)
        copied.has_canonical_format = copied.has_sorted_indices = False
        copied.sum_duplicates()
    return copied.data, copied.indices, copied.indptr


def is_sorted(columns: npt.NDArray[Any], pointers: npt.NDArray[Any]) -> bool:
    """Tell whether the columns of every row grow, none of them twice."""
    falls = columns[1:] <= columns[:-1]
    if not falls.any():
        return True
    starts = pointers[1:-1]
    starts = starts[(starts > 0) & (starts < len(columns))]
    falls[starts - 1] = False  # from one row to the next
    return not falls.any()


def sort_compiled(
    entries: npt.NDArray[Any],
    columns: npt.NDArray[np.int32],
    pointers: npt.NDArray[np.int64],
    n_columns: int,
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    """Return entries and columns in order, none of them summed, by the compiled kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds.inputs.sorting import sort_compiled
    >>> columns = np.array([5, 0, 4], dtype=np.int32)
    >>> sort_compiled(np.array([1.0, 2.0, 3.0]), columns, np.array([0, 2, 3]), 6)
    (array([2., 1., 3.]), array([0, 5, 4], dtype=int32))
    """
    from kseeds.inputs import sorting_kernels as kernels

    rows = SparseRows(entries, columns, pointers, n_columns)
    blocks = rows.blocks(_ENTRIES)
    most = max((int(pointers[stop] - pointers[start]) for start, stop in blocks), default=0)
    most = max([most, *(stop - start for start, stop in blocks)])

    def workspace() -> kernels.Entries:
        return kernels.Entries(
            np.empty(most, dtype=np.uint32),
            np.empty(most, dtype=np.uint32),
            np.empty(most, dtype=entries.dtype),
        )

    here, there, ends = workspace(), workspace(), np.empty(1 << kernels.DIGIT, dtype=np.uint32)
    digits = -(-max(1, (n_columns - 1).bit_length()) // kernels.DIGIT)
    places, values = np.empty_like(rows.indices), np.empty_like(entries)
    for start, stop in blocks:
        mine = slice(pointers[start], pointers[stop])
        kernels.sort_block(
            rows.indices.view(np.uint32), rows.data, rows.indptr, start, stop, digits, ends, here,
            there, places[mine], values[mine],
        )  # fmt: skip
    return values, places
