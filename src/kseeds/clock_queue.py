"""The dynamic priority queue of §3.2: keys that only grow, looked at only when they matter."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


class ClockQueue:
    """Items in order of their keys, where keys may grow but never shrink.

    A grown key leaves the queue's heap out of date, on the optimistic side. `pop` repairs
    just those stale items that could have been first.

    Parameters
    ----------
    keys : array of float64, shape (n,)
        The key of each item. The queue keeps this very array: raise a key by writing to it.

    Attributes
    ----------
    keys : ndarray
        The true keys.
    examined : int
        How many items the last `pop` looked at.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds import ClockQueue
    >>> queue = ClockQueue(np.array([0.3, 0.1, 0.2]))
    >>> queue.keys[1] = 5.0
    >>> queue.pop(), queue.examined
    (2, 2)
    >>> len(queue)
    2
    """

    def __init__(self, keys: npt.ArrayLike) -> None:
        from kseeds.inputs.tables import to_array
        from kseeds.kernels.clock_heap import heapify

        self.keys: npt.NDArray[np.float64] = np.ascontiguousarray(
            to_array(keys, "keys"), dtype=np.float64
        )
        if self.keys.ndim != 1:
            raise ValueError(
                f"keys has {self.keys.ndim} dimensions; pass a one-dimensional array of keys."
            )
        if np.isnan(self.keys).any():
            where = int(np.flatnonzero(np.isnan(self.keys))[0])
            raise ValueError(f"keys has NaN at position {where}; give every item a number.")
        self.examined = 0
        self._heap_keys = self.keys.copy()
        self._items = np.arange(len(self.keys), dtype=np.int64)
        self._stack = np.empty(len(self.keys), dtype=np.int64)
        self._size = len(self.keys)
        heapify(self._heap_keys, self._items)

    def __len__(self) -> int:
        return self._size

    def pop(self) -> int:
        """Remove and return the item with the smallest key; ties go to the smaller item."""
        from kseeds.kernels.clock_heap import pop_first

        if self._size == 0:
            raise IndexError("pop from an empty ClockQueue; check len(queue) first.")
        item, examined = pop_first(self._heap_keys, self._items, self._size, self.keys, self._stack)
        self._size -= 1
        self.examined = int(examined)
        return int(item)
