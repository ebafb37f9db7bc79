"""The dynamic priority queue of §3.2: keys only grow, and are updated only at the top."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


class PreparedQueue:
    """The queue without input checks; `kseeds.ClockQueue` is the public class."""

    def __init__(self, keys: npt.NDArray[np.float64]) -> None:
        from kseeds.sampling.clock_heap_kernels import heapify

        self.keys = keys
        self.examined = 0
        self._heap_keys = self.keys.copy()
        self._items = np.arange(len(self.keys), dtype=np.int64)
        self._stack = np.empty(len(self.keys), dtype=np.int64)
        self._size = len(self.keys)
        heapify(self._heap_keys, self._items)

    def __len__(self) -> int:
        return self._size

    def pop(self) -> int:
        """Remove and return the item with the smallest key; ties go to the lowest index."""
        from kseeds.sampling.clock_heap_kernels import pop_first

        if self._size == 0:
            raise IndexError("pop from an empty ClockQueue; check len(queue) first.")
        item, examined = pop_first(self._heap_keys, self._items, self._size, self.keys, self._stack)
        self._size -= 1
        self.examined = int(examined)
        return int(item)
