"""Selection of items that carry their keys: one array to move, no two items alike.

The upper half of an item orders like a float32 key, the lower half is a row number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kseeds.runtime.compiler import inlined

_SAMPLE = 32
"""Items that a pivot is chosen from, at most."""
_FEW = 12
"""Items that are simply sorted."""
_LOWER = np.int64(0xFFFFFFFF)
_ALL_BUT_SIGN = np.int64(0x7FFFFFFF)


@inlined
def row_of(item: Any) -> Any:
    """Return the row number of an item."""
    return item & _LOWER


@inlined
def packed(bits: Any, row: Any) -> Any:
    """Return the item of a row whose float32 key has these bits."""
    # Negative floats order backwards by their bits: turning the others round mends that.
    wide = np.int64(bits)
    return ((wide ^ ((wide >> 31) & _ALL_BUT_SIGN)) << 32) | row


@inlined
def select(items: Any, low: int, high: int, rank: int) -> None:
    """Partition places low..high-1 so that all items before ``rank`` are less than the rest.

    The pivot is the item of a sample that is likely next to the rank, so that less than two
    passes are needed on average (Floyd and Rivest 1975); a pass has no branch that the
    processor could guess wrong (Lomuto's scheme).
    """
    sample = np.empty(_SAMPLE, np.int64)
    while high - low > _FEW:
        size = high - low
        count = min(_SAMPLE, size // 32 + 3)
        for k in range(count):
            sample[k] = items[low + k * size // count]
        _sort(sample, 0, count)
        pivot = sample[(rank - low) * count // size]
        middle = low
        for i in range(low, high):
            item = items[i]
            items[i] = items[middle]
            items[middle] = item
            middle += item < pivot
        if rank < middle:
            high = middle
        elif middle > low:
            low = middle
        else:  # the pivot is the least of all: it stays out of what follows
            for i in range(low, high):
                if items[i] == pivot:
                    items[i], items[low] = items[low], pivot
            if rank == low:
                return
            low += 1
    _sort(items, low, high)


@inlined
def _sort(items: Any, low: int, high: int) -> None:
    """Sort a few items, by insertion."""
    for k in range(low + 1, high):
        item, at = items[k], k
        while at > low and items[at - 1] > item:
            items[at] = items[at - 1]
            at -= 1
        items[at] = item
