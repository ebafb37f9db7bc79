"""What is known of the nearest centre of every row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray


@dataclass
class Nearest:
    """The nearest centre of every row, among the first ``met`` centres.

    Where rows have met different numbers of centres, ``met_by_row`` says how many.
    """

    squared: FloatArray
    labels: npt.NDArray[np.int32]
    n_compared: int
    compared_by_row: npt.NDArray[np.int32] | None = None

    @classmethod
    def empty(cls, points: FloatArray) -> Nearest:
        """Return the state of rows that have met no centre yet."""
        n = len(points)
        squared = np.full(n, np.inf, dtype=points.dtype)
        return cls(squared, np.full(n, -1, dtype=np.int32), 0)

    def copy(self) -> Nearest:
        """Return a copy that may be changed."""
        by_row = None if self.compared_by_row is None else self.compared_by_row.copy()
        return Nearest(self.squared.copy(), self.labels.copy(), self.n_compared, by_row)
