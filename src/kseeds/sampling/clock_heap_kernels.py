"""A binary heap whose keys may be outdated, but never too large (§3.2 of the paper)."""

from __future__ import annotations

from typing import Any

from kseeds.runtime.compiler import inlined, kernel


@inlined
def _before(key_a: float, item_a: int, key_b: float, item_b: int) -> bool:
    """Order by key, then by item: ties go to the lowest index, as in an argmin."""
    return key_a < key_b or (key_a == key_b and item_a < item_b)


@inlined
def _sift_down(keys: Any, items: Any, size: int, at: int) -> None:
    key, item = keys[at], items[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        right = child + 1
        if right < size and _before(keys[right], items[right], keys[child], items[child]):
            child = right
        if not _before(keys[child], items[child], key, item):
            break
        keys[at], items[at] = keys[child], items[child]
        at = child
    keys[at], items[at] = key, item


@kernel
def heapify(keys: Any, items: Any) -> None:
    """Order the pairs (keys, items) as a heap, in place, in linear time."""
    for at in range(keys.shape[0] // 2 - 1, -1, -1):
        _sift_down(keys, items, keys.shape[0], at)


@inlined
def _push(keys: Any, items: Any, size: int, key: float, item: int) -> None:
    at = size
    while at > 0:
        parent = (at - 1) // 2
        if not _before(key, item, keys[parent], items[parent]):
            break
        keys[at], items[at] = keys[parent], items[parent]
        at = parent
    keys[at], items[at] = key, item


@kernel
def pop_first(keys: Any, items: Any, size: int, true_keys: Any, stack: Any) -> Any:
    """Remove the item whose *true* key is smallest; return it and how many were examined.

    Lines 16 to 23 of Algorithm 2. An item is dirty when its true key is larger than its key in
    the heap. Dirty items are taken off the top until a clean one is on top: nothing below it can
    be earlier, since true keys are never less than the keys in the heap. The dirty items are
    pushed again with their true keys, and the top is the answer. The caller reduces its size by 1.
    """
    total = size
    aside = 0
    while size > 0 and keys[0] < true_keys[items[0]]:
        stack[aside] = items[0]
        aside += 1
        size -= 1
        keys[0], items[0] = keys[size], items[size]
        if size > 0:
            _sift_down(keys, items, size, 0)
    for s in range(aside):
        _push(keys, items, size, true_keys[stack[s]], stack[s])
        size += 1
    first = items[0]
    size -= 1
    keys[0], items[0] = keys[size], items[size]
    if size > 0:
        _sift_down(keys, items, size, 0)
    return first, min(aside + 1, total)
