"""The seeds of sparse data as they are found: rows, and lists of what is in each column.

The list of a column leads from its newest entry to its oldest, so that a row meets all seeds it was
not compared with by walking the lists of its own columns, each up to the seeds it has met. A list
is a chain of *chunks*, each of twice the room of the one before it: one entry, then two, then four.
So entries of a list stand beside each other, and none is ever moved.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kseeds.distances.sparse_rows import SparseRows

NONE = -1
"""In place of a chunk: the list ends."""


class Lists(NamedTuple):
    """Seeds as kernels take them.

    ``heads`` has the newest chunk of each column, or `NONE`. A row of ``chunks`` says where
    the chunk begins, how many entries it has, how many it has room for, and which chunk was
    before it. ``owners`` and ``values`` have the seeds and the values of entries, the oldest of a
    chunk first. ``used`` are the entries and the chunks in use. ``lengths`` are the norms of seeds,
    not squared, and ``indices`` the rows that became seeds; initial centres have no entry there.
    """

    rows: Any
    lengths: Any
    heads: Any
    chunks: Any
    owners: Any
    values: Any
    used: Any
    indices: Any


class SeedRows:
    """Rows that are appended one by one, with room for so many.

    Stands for the array of centres in `kseeds.methods.plusplus.lazy.state.Centers`.
    """

    def __init__(self, wanted: int, points: SparseRows, initial: SparseRows) -> None:
        room = int(2 * wanted * max(points.per_row, 1.0)) + initial.size + 64
        self.shape = (wanted, points.shape[1])
        self.entries = np.empty(room, dtype=points.dtype)
        self.columns = np.empty(room, dtype=np.int32)
        self.pointers = np.zeros(wanted + 1, dtype=np.int64)
        self.norms = np.zeros(wanted)
        self.lengths = np.zeros(wanted)
        self.heads: npt.NDArray[np.int32] | None = None
        self.chunks = np.empty((0, 4), dtype=np.int64)
        self.owners, self.values = np.empty(0, dtype=np.uint32), self.entries[:0]
        self.used = np.zeros(2, dtype=np.int64)

    def __getitem__(self, which: Any) -> SparseRows:
        if not isinstance(which, slice):
            which = slice(int(which), int(which) + 1)
        start, stop, _ = which.indices(self.shape[0])
        pointers = self.pointers[start : stop + 1].copy()
        return SparseRows(
            self.entries, self.columns, pointers, self.shape[1], self.norms[start:stop]
        )

    def add(self, number: int, row: SparseRows) -> None:
        """Append a row, which is the one of this number."""
        start = int(self.pointers[number])
        stop = start + row.size
        self.reserve(stop)
        self.entries[start:stop], self.columns[start:stop] = row.entries, row.columns
        self.pointers[number + 1], self.norms[number] = stop, row.norms[0]
        self.lengths[number] = np.sqrt(row.norms[0])

    def reserve(self, entries: int) -> None:
        """Make room for so many entries in all."""
        room = len(self.entries)
        if entries <= room:
            return
        more = max(entries, 2 * room)
        self.entries, self.columns = _longer(self.entries, more), _longer(self.columns, more)
        if self.heads is not None:
            self._make_room()

    def make_lists(self) -> None:
        """Make lists without entries."""
        self.heads = np.full(self.shape[1], NONE, dtype=np.int32)
        self._make_room()

    def _make_room(self) -> None:
        """Make room in the lists for all entries there is room for in rows.

        A list has room for less than twice its entries.
        """
        room = len(self.entries)
        self.chunks = _longer(self.chunks, room)
        self.owners, self.values = _longer(self.owners, 2 * room), _longer(self.values, 2 * room)


def _longer(array: npt.NDArray[Any], room: int) -> npt.NDArray[Any]:
    """Return a copy with room for more."""
    new = np.empty((room, *array.shape[1:]), dtype=array.dtype)
    new[: len(array)] = array
    return new
