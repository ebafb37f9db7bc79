"""What an algorithm of Lloyd's iteration does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray
from kseeds.distances.sparse_rows import Points
from kseeds.nearest.state import Counts, Nearest
from kseeds.runtime.threads import Workers, rows_for

Labels = npt.NDArray[np.int32]
Sums: TypeAlias = Any
"""What is told of the rows that change clusters: `ExactSums`, or `SparseSums` of sparse rows."""


class Assigner(Protocol):
    """Knows the nearest centre of every row while centres move.

    It is made of the rows once, with whatever structure it builds over them. Every assigner finds
    the same labels, ties to the lowest number, and the same squared distances to the last bit; so
    all of them go through the same iterations.
    """

    @property
    def name(self) -> str:
        """What the algorithm is called."""

    @property
    def counts(self) -> Counts:
        """What it has cost so far."""

    @property
    def skipped(self) -> int:
        """Rows that bounds have kept from being looked at, all iterations together."""

    def adopt(self, labels: Labels, sums: Sums) -> None:
        """Begin with labels that are known to be right for the first centres."""

    def assign(self, centers: Points, sums: Sums) -> int:
        """Find the nearest of ``centers`` for every row; return how many rows have another now.

        What those rows add to the sums of their clusters is moved in ``sums``. At first all rows
        are in none.
        """

    def nearest(self, centers: Points) -> Nearest:
        """Return labels and squared distances; ``centers`` are those of the last `assign`."""


class Anew(ABC):
    """An assigner that keeps nothing from one iteration to the next but the labels."""

    name = ""

    def __init__(self, n_rows: int) -> None:
        self.counts, self.skipped = Counts(0, 0, 0), 0
        self._labels: Labels = np.full(n_rows, -1, dtype=np.int32)
        self._nearest: Nearest | None = None

    @abstractmethod
    def find(self, centers: Points) -> tuple[Nearest, Counts]:
        """Return the nearest centre of every row, and what it took."""

    def adopt(self, labels: Labels, sums: Sums) -> None:
        """See `Assigner`."""
        self._move(labels, sums)
        self._nearest = None

    def assign(self, centers: Points, sums: Sums) -> int:
        """See `Assigner`."""
        self._nearest, counts = self.find(centers)
        self.counts = Counts.total([self.counts, counts])
        return self._move(self._nearest.labels, sums)

    def continue_from(self, labels: Labels) -> None:
        """Begin with the labels of another assigner, whose sums are there already."""
        self._labels, self._nearest = labels, None

    def _move(self, labels: Labels, sums: Sums) -> int:
        changed = np.flatnonzero(labels != self._labels)
        sums.move(changed, self._labels[changed], labels[changed])
        self._labels = labels
        return len(changed)

    def nearest(self, centers: Points) -> Nearest:
        """See `Assigner`."""
        if self._nearest is None:  # labels were adopted, and no distances
            self._nearest, counts = self.find(centers)
            self.counts = Counts.total([self.counts, counts])
        return self._nearest


def movement(before: FloatArray, centers: Points) -> FloatArray:
    """Return how far centres have moved, at most."""
    apart = centers.astype(np.float64) - before
    length = np.sqrt(np.einsum("ij,ij->i", apart, apart)) * (1.0 + 1e-9)
    infinity = centers.dtype.type(np.inf)
    found: FloatArray = np.nextafter(length.astype(centers.dtype), infinity)
    return np.where(apart.any(axis=1), found, centers.dtype.type(0.0))


def distances_to_own(
    points: FloatArray, centers: Points, labels: Labels, workers: Workers
) -> FloatArray:
    """Return the squared distances of rows to their centres, by a compiled kernel."""
    from kseeds.lloyd.own_kernels import own_distances

    squared = np.empty(len(points), dtype=points.dtype)

    def task(start: int, stop: int) -> None:
        own_distances(points, centers, labels, start, stop, squared)

    workers.over_blocks(task, len(points), rows_for(10.0 + points.shape[1]))
    return squared
