"""The seeds of sparse data as they are found: rows, and lists of what is in each column.

The list of a column leads from its newest entry to its oldest, so that a row meets all seeds it was
not compared with by walking the lists of its own columns, each up to the seeds it has met. Links
lead all over the memory; so now and then all lists are copied one after the other, and links are
followed for the newest seeds only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kseeds.distances.sparse_rows import SparseRows

_NONE = -1
_FEW = 256
"""Seeds whose lists are in the cache anyway."""


class Lists(NamedTuple):
    """Seeds as kernels take them.

    The entries of ``rows`` are linked by column: ``heads`` has the newest entry of each column,
    ``following`` the next older one of each entry, -1 for none; ``owners`` has the seed of
    each entry. ``copies`` and ``copied_owners`` have the entries of the seeds up to some number,
    those of column j from ``bounds[j, 0]`` to ``bounds[j, 1]``, the newest first. ``indices`` are
    the rows that became seeds; initial centres have no entry there.
    """

    rows: Any
    owners: Any
    following: Any
    heads: Any
    copies: Any
    copied_owners: Any
    bounds: Any
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
        self.owners = self.following = np.empty(0, dtype=np.int64)
        self.heads: npt.NDArray[np.int64] | None = None
        self.copies, self.copied_owners = self.entries[:0], np.empty(0, dtype=np.int32)
        self.bounds = np.empty((0, 2), dtype=np.int64)
        self.n_copied = 0

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

    def reserve(self, entries: int) -> None:
        """Make room for so many entries in all."""
        room = len(self.entries)
        if entries <= room:
            return
        more = max(entries, 2 * room)
        for name in ("entries", "columns", "owners", "following"):
            old = getattr(self, name)
            if len(old):
                new = np.empty(more, dtype=old.dtype)
                new[:room] = old
                setattr(self, name, new)

    def link(self, known: int) -> None:
        """Make the lists of the rows known so far, if there are none yet."""
        if self.heads is not None:
            return
        self.heads = np.full(self.shape[1], _NONE, dtype=np.int64)
        self.owners = np.empty(len(self.entries), dtype=np.int32)
        self.following = np.empty(len(self.entries), dtype=np.int64)
        self.bounds = np.zeros((self.shape[1], 2), dtype=np.int64)
        for number in range(known):
            mine = slice(int(self.pointers[number]), int(self.pointers[number + 1]))
            columns = self.columns[mine]
            self.owners[mine], self.following[mine] = number, self.heads[columns]
            self.heads[columns] = np.arange(mine.start, mine.stop)

    def copying_is_due(self, known: int) -> bool:
        """Tell whether so many seeds were added since lists were copied that it pays again.

        All the copies together cost three times the last one.
        """
        return known >= _FEW and 2 * known >= 3 * self.n_copied
