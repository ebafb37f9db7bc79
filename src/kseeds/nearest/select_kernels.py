"""Hoare's selection: the items of smallest key first, in linear time."""

from __future__ import annotations

from typing import Any

from kseeds.runtime.compiler import inlined


@inlined
def select(items: Any, keys: Any, low: int, high: int, rank: int) -> None:
    """Partition places low..high-1 so that no key before ``rank`` exceeds one after it.

    Keys and items move together. Equal keys are shared out to both sides, so that many of
    them cost no more than distinct ones.
    """
    first, last = low, high - 1
    while first < last:
        pivot = keys[(first + last) // 2]
        a, b = first, last
        while a <= b:
            while keys[a] < pivot:
                a += 1
            while keys[b] > pivot:
                b -= 1
            if a <= b:
                keys[a], keys[b] = keys[b], keys[a]
                items[a], items[b] = items[b], items[a]
                a += 1
                b -= 1
        if rank <= b:
            last = b
        elif rank >= a:
            first = a
        else:
            break
