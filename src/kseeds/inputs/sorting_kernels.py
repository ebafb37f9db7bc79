"""Sorting the entries of sparse rows by column: see `kseeds.inputs.sorting`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kseeds.runtime.compiler import inlined, kernel

DIGIT = 11
"""Bits of a digit of columns."""
_MASK = np.uint32((1 << DIGIT) - 1)


class Entries(NamedTuple):
    """Columns, rows and values of some entries."""

    columns: Any
    rows: Any
    values: Any


@inlined
def _count(columns: Any, start: int, stop: int, shift: Any, ends: Any) -> None:
    """Write where the entries of each digit begin, if they stand one after the other."""
    ends[:] = 0
    for p in range(start, stop):
        ends[(columns[p] >> shift) & _MASK] += np.uint32(1)
    total = np.uint32(0)
    for value in range(ends.shape[0]):
        count = ends[value]
        ends[value] = total
        total += count


@kernel
def sort_block(
    columns: Any, values: Any, pointers: Any, start: int, stop: int, digits: int, ends: Any,
    here: Entries, there: Entries, sorted_columns: Any, sorted_values: Any,
) -> None:  # fmt: skip
    """Sort rows ``start`` to ``stop`` by column, entries of the same column as they come.

    Digit by digit, the last first, and by row in the end, which is where they were: each time
    entries go where those of their digit are, in the order they are in. ``here`` and ``there`` are
    workspaces for all their entries, and ``ends`` for a place for each digit. All places are
    unsigned: else every use of one would look whether it counts from the end.
    """
    low = pointers[start]
    count = pointers[stop] - low
    _count(columns, low, pointers[stop], np.uint32(0), ends)
    for i in range(start, stop):
        for p in range(pointers[i], pointers[i + 1]):
            which = columns[p] & _MASK
            place = ends[which]
            ends[which] = place + np.uint32(1)
            here.columns[place], here.values[place] = columns[p], values[p]
            here.rows[place] = i - start
    for digit in range(1, digits):
        shift = np.uint32(digit * DIGIT)
        _count(here.columns, 0, count, shift, ends)
        for at in range(count):
            which = (here.columns[at] >> shift) & _MASK
            place = ends[which]
            ends[which] = place + np.uint32(1)
            there.columns[place], there.rows[place] = here.columns[at], here.rows[at]
            there.values[place] = here.values[at]
        here, there = there, here
    for i in range(start, stop):
        there.rows[i - start] = pointers[i] - low
    for at in range(count):
        row = here.rows[at]
        place = there.rows[row]
        there.rows[row] = place + np.uint32(1)
        sorted_columns[place], sorted_values[place] = here.columns[at], here.values[at]
