"""What every strategy for nearest centres does."""

from __future__ import annotations

from typing import Protocol

from kseeds.distances.sparse_rows import Points
from kseeds.nearest.state import Counts, Nearest
from kseeds.runtime.threads import Workers


class Strategy(Protocol):
    """Compares all rows with batches of centres, exactly.

    It is made of the rows once, with whatever structure it builds over them. Every strategy leaves
    the same labels, and the same squared distances to the last bit.
    """

    def update(self, nearest: Nearest, centers: Points, first: int, workers: Workers) -> Counts:
        """Overwrite what ``nearest`` has of the rows to which one of ``centers`` is nearer.

        The centres are numbered from ``first``. Strictly nearer: ties go to the lowest number. A
        centre that a row was compared with before changes nothing. How many centres the rows were
        compared with is for the caller to note, when all of it is done.
        """
