"""A tree that is given up where it turns out to be of no use."""

from __future__ import annotations

from collections.abc import Callable

from kseeds.distances.metrics import FloatArray
from kseeds.lloyd.base import Anew, Labels
from kseeds.lloyd.sums import ExactSums
from kseeds.lloyd.tree import TreeAssigner
from kseeds.nearest.state import Counts, Nearest


class Switching:
    """See `kseeds.lloyd.base.Assigner`: a tree, or what takes its place after the first iteration.

    Parameters
    ----------
    tree : TreeAssigner
        The tree.
    other : callable
        Returns what takes its place.
    most : float
        Distances that the tree may have to compute for a row.
    """

    def __init__(self, tree: TreeAssigner, other: Callable[[], Anew], most: float) -> None:
        self._tree: TreeAssigner | None = tree
        self._at_work: TreeAssigner | Anew = tree
        self._other, self._most = other, most
        self._before = Counts(0, 0, 0)

    @property
    def name(self) -> str:
        """What the algorithm at work is called."""
        return self._at_work.name

    @property
    def counts(self) -> Counts:
        """What both have cost so far."""
        return Counts.total([self._before, self._at_work.counts])

    @property
    def skipped(self) -> int:
        """See `kseeds.lloyd.base.Assigner`."""
        return self._at_work.skipped

    def adopt(self, labels: Labels, sums: ExactSums) -> None:
        """See `kseeds.lloyd.base.Assigner`."""
        self._at_work.adopt(labels, sums)

    def assign(self, centers: FloatArray, sums: ExactSums) -> int:
        """See `kseeds.lloyd.base.Assigner`."""
        changed = self._at_work.assign(centers, sums)
        if self._tree is not None:
            labels, self._before = self._tree.labels(), self._tree.counts
            if self._before.distances > self._most * len(labels):
                self._at_work = self._other()
                self._at_work.continue_from(labels)
            else:
                self._before = Counts(0, 0, 0)
            self._tree = None
        return changed

    def nearest(self, centers: FloatArray) -> Nearest:
        """See `kseeds.lloyd.base.Assigner`."""
        return self._at_work.nearest(centers)
