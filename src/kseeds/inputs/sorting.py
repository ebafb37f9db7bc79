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
from kseeds.runtime.threads import Workers

_ENTRIES = 1 << 15
"""Entries that a call of the kernel sorts."""
_LOOKED_AT = 1 << 16
"""Entries looked at together, to see whether they are in order."""
_PLAIN_NS, _COMPILED_NS = 24.0, 6.0
"""What SciPy takes for an entry, and the kernel."""

Sorted = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]


def sorted_rows(
    entries: npt.NDArray[Any],
    columns: npt.NDArray[np.int32],
    pointers: npt.NDArray[np.int64],
    n_columns: int,
    n_threads: int = 1,
) -> Sorted:
    """Return entries, columns and pointers of rows in order; entries of the same place are summed.

    What is given is left as it is.
    """
    dtype, seconds = entries.dtype, 1e-9 * len(entries)
    if compile_policy.pays("sparse_sorting", dtype, _PLAIN_NS * seconds, _COMPILED_NS * seconds):
        with compile_policy.using("sparse_sorting", dtype):
            values, places, is_done = sort_compiled(
                entries, columns, pointers, n_columns, n_threads
            )
        if is_done:
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
    """Tell whether the columns of every row grow, none of them twice.

    Of entries in no order the first few tell.
    """
    for low in range(0, len(columns), _LOOKED_AT):
        part = columns[low : low + _LOOKED_AT + 1]
        falls = part[1:] <= part[:-1]
        if not falls.any():
            continue
        first, last = np.searchsorted(pointers, [low + 1, low + len(part)])
        falls[pointers[first:last] - low - 1] = False  # from one row to the next
        if falls.any():
            return False
    return True


def sort_compiled(
    entries: npt.NDArray[Any],
    columns: npt.NDArray[np.int32],
    pointers: npt.NDArray[np.int64],
    n_columns: int,
    n_threads: int = 1,
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32], bool]:
    """Return entries and columns in order, by the compiled kernel; tell whether all is done.

    It is not if a column is in a row twice; those are not summed.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds.inputs.sorting import sort_compiled
    >>> columns = np.array([5, 0, 4], dtype=np.int32)
    >>> sort_compiled(np.array([1.0, 2.0, 3.0]), columns, np.array([0, 2, 3]), 6)
    (array([2., 1., 3.]), array([0, 5, 4], dtype=int32), True)
    """
    from kseeds.inputs import sorting_kernels as kernels

    rows = SparseRows(entries, columns, pointers, n_columns)
    blocks = rows.blocks(_ENTRIES)
    places, values = np.empty_like(rows.indices), np.empty_like(entries)

    def task(first: int, last: int) -> bool:
        ends, is_strict = np.empty(kernels.MOST_BUCKETS, dtype=np.uint32), True
        for start, stop in blocks[first:last]:
            is_strict &= kernels.sort_rows(
                rows.indices.view(np.uint32), rows.data, rows.indptr, start, stop, n_columns, ends,
                places.view(np.uint32), values,
            )  # fmt: skip
        return is_strict

    with Workers(n_threads) as workers:
        return values, places, all(workers.over_blocks(task, len(blocks), 4))
