"""What is known of the nearest centre of every row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray
from kseeds.distances.sparse_rows import Points


class Rows(NamedTuple):
    """Rows as kernels take them.

    Row i is at the squared distance ``squared[i]`` from centre ``labels[i]``, the nearest of the
    first ``n_compared[i]`` centres.
    """

    points: Any
    squared: Any
    labels: Any
    n_compared: Any


class Counts(NamedTuple):
    """What an update took: distances, nodes of trees visited, and exact evaluations.

    Exact evaluations are the (row, centre) pairs that no bound could rule out.
    """

    distances: int
    nodes: int
    exact: int

    @classmethod
    def total(cls, counts: list[tuple[int, int, int]]) -> Counts:
        """Return the sum of the counts of several tasks."""
        return cls(*(int(sum(part)) for part in zip(*counts, strict=True))) if counts else NOTHING


NOTHING = Counts(0, 0, 0)


@dataclass
class Nearest:
    """The nearest centre of every row, among the first ``n_compared`` centres.

    Where rows were compared with different numbers of centres, ``compared_by_row`` has them.
    """

    squared: FloatArray
    labels: npt.NDArray[np.int32]
    n_compared: int
    compared_by_row: npt.NDArray[np.int32] | None = None

    @classmethod
    def empty(cls, points: Points) -> Nearest:
        """Return the state of rows that were compared with no centre yet."""
        n = len(points)
        squared = np.full(n, np.inf, dtype=points.dtype)
        return cls(squared, np.full(n, -1, dtype=np.int32), 0)

    @property
    def oldest(self) -> int:
        """How many centres every row was compared with."""
        by_row = self.compared_by_row
        return self.n_compared if by_row is None else int(by_row.min())

    def copy(self) -> Nearest:
        """Return a copy that may be changed."""
        by_row = None if self.compared_by_row is None else self.compared_by_row.copy()
        return Nearest(self.squared.copy(), self.labels.copy(), self.n_compared, by_row)

    def rows_of(self, points: Points) -> Rows:
        """Return the rows as kernels take them."""
        by_row = self.compared_by_row
        if by_row is None:
            by_row = np.full(len(points), self.n_compared, dtype=np.int32)
        return Rows(points, self.squared, self.labels, by_row)
