"""Sorting the entries of sparse rows by column: see `kseeds.inputs.sorting`."""

from __future__ import annotations

from typing import Any

import numpy as np

from kseeds.runtime.compiler import inlined, kernel

MOST_BUCKETS = 2048
_SHORT = 12
"""Entries of a row that are not sorted into buckets first."""
_CROWDED = 24
"""Entries of a bucket from which on moving them one by one takes too long."""
_GAPS = 2.25
"""How much smaller each gap is than the one before it, where it does."""


@kernel
def sort_rows(
    columns: Any, values: Any, pointers: Any, start: int, stop: int, n_columns: int, ends: Any,
    sorted_columns: Any, sorted_values: Any,
) -> bool:  # fmt: skip
    """Sort rows ``start`` to ``stop`` by column; tell whether no column is in a row twice.

    Entries of a row go into buckets, more than they are, each of as many columns; then
    there is little to do but to move some past their neighbours. ``ends`` is a workspace for the
    buckets.
    """
    is_strict = True
    for i in range(start, stop):
        low, high = pointers[i], pointers[i + 1]
        crowd = high - low
        if crowd <= _SHORT:
            for p in range(low, high):
                sorted_columns[p], sorted_values[p] = columns[p], values[p]
        else:
            crowd = _into_buckets(
                columns, values, low, high, n_columns, ends, sorted_columns, sorted_values
            )
        gap = 1
        if crowd > _CROWDED:
            gap = (high - low) // 2
        while gap >= 1:
            _move(sorted_columns, sorted_values, low, high, gap)
            gap = 0 if gap == 1 else max(1, int(gap / _GAPS))
        for p in range(low + 1, high):
            is_strict &= sorted_columns[p] != sorted_columns[p - 1]
    return is_strict


@inlined
def _into_buckets(
    columns: Any, values: Any, low: int, high: int, n_columns: int, ends: Any, sorted_columns: Any,
    sorted_values: Any,
) -> int:  # fmt: skip
    """Write the entries of a row bucket after bucket; return how many the fullest one has."""
    buckets = 16
    while buckets < 2 * (high - low) and buckets < ends.shape[0]:
        buckets *= 2
    # Column j has the bucket j·buckets/n_columns, without a division; it grows with j.
    factor = np.uint64((buckets << 32) // n_columns)
    shift = np.uint64(32)
    ends[:buckets] = 0
    for p in range(low, high):
        ends[(np.uint64(columns[p]) * factor) >> shift] += np.uint32(1)
    total, most = np.uint32(0), np.uint32(0)
    for bucket in range(buckets):
        count = ends[bucket]
        ends[bucket] = total
        total += count
        most = max(most, count)
    for p in range(low, high):
        which = (np.uint64(columns[p]) * factor) >> shift
        place = np.uint64(low) + np.uint64(ends[which])
        ends[which] += np.uint32(1)
        sorted_columns[place], sorted_values[place] = columns[p], values[p]
    return int(most)


@inlined
def _move(columns: Any, values: Any, low: int, high: int, gap: int) -> None:
    """Move entries forward by ``gap`` while they are out of order with those they pass."""
    for p in range(low + gap, high):
        column = columns[p]
        if columns[p - gap] <= column:
            continue
        value, place = values[p], p
        while place >= low + gap and columns[place - gap] > column:
            columns[place], values[place] = columns[place - gap], values[place - gap]
            place -= gap
        columns[place], values[place] = column, value
