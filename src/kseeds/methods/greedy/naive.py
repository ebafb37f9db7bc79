"""Greedy k-means++ in plain NumPy: the oracle.

Every step computes the distance of every row to every candidate. Nothing is skipped, so nothing
can be skipped wrongly.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import Family, FloatArray
from kseeds.distances.reference import squared_by_columns, squared_distances
from kseeds.distances.sparse_rows import Points, entries_per_row, is_sparse
from kseeds.inputs.problem import Problem
from kseeds.methods.base import Draw, Method
from kseeds.methods.greedy import steps
from kseeds.methods.greedy.proposals import Proposals
from kseeds.methods.greedy.rule import overtakes, trials_for, winner
from kseeds.nearest.state import Nearest
from kseeds.runtime.block_sizes import LANES
from kseeds.runtime.threads import Workers, rows_for
from kseeds.sampling import sum_tree
from kseeds.sampling.streams import Purpose
from kseeds.sampling.sum_tree import Masses

_FEW = 1 << 14
"""Distances of a step up to which all are computed at once: calls of NumPy cost more than they."""
_MOST_ROWS = 16_384


def draw(
    problem: Problem, n_local_trials: int | None = None, purpose: Purpose = Purpose.GREEDY
) -> Draw:
    """Draw up to ``n_clusters`` rows; fewer if the rest coincide with centres.

    Parameters
    ----------
    problem : Problem
        What to seed.
    n_local_trials : int, optional
        Candidates drawn per step; 2 + ⌊ln k⌋ by default.
    purpose : Purpose
        Which random numbers to use.

    References
    ----------
    D. Arthur, S. Vassilvitskii, "k-means++: The Advantages of Careful Seeding", SODA 2007, §7.
    """
    trials = trials_for(problem.n_clusters, n_local_trials)
    with Workers(problem.n_threads) as workers:
        return steps.draw(problem, trials, purpose, rows_of(problem, trials, workers), workers)


def rows_of(problem: Problem, trials: int, workers: Workers) -> steps.Rows:
    """Return the rows of a problem, ready for steps."""
    return _Rows(problem, trials, workers)


class _Rows(steps.OneByOne):
    """See `kseeds.methods.greedy.steps.Rows`.

    The column of a candidate is what α² of all rows would be with it as a centre. Many rows have
    room for two columns, that of the candidate which wins so far and that of the next, so that
    memory does not grow with the candidates.
    """

    def __init__(self, problem: Problem, trials: int, workers: Workers) -> None:
        self.nearest = Nearest.empty(problem.points)
        self._points, self._kind = problem.points, problem.metric.kind
        self._weights = np.empty(0) if problem.weights is None else problem.weights
        n = len(self._points)
        self._sums = sum_tree.new_sums(n)
        is_function = problem.metric.function is not None
        # A user's function may not like to be called by several threads at once.
        self._workers = Workers(1) if is_function else workers
        self._block = rows_for(
            1000.0 if is_function else 4.0 * entries_per_row(self._points), most=_MOST_ROWS
        )
        self._copies = self._coordinates = self._columns = np.empty((0, 0), self._points.dtype)
        self._is_small = n * trials <= _FEW and not is_function and not is_sparse(self._points)
        is_narrow = self._kind is Family.EUCLIDEAN and self._points.shape[1] < LANES
        if self._is_small and is_narrow:
            self._coordinates = np.ascontiguousarray(self._points.T)
        elif self._is_small:
            self._copies = np.tile(self._points, (trials, 1))
        else:
            self._columns = np.empty((2, n), dtype=self._points.dtype)

    @property
    def total(self) -> float:
        """Σ w·α² over all rows."""
        return float(self._sums[1])

    @property
    def _masses(self) -> Masses:
        return Masses(self.nearest.squared, self._weights, self._sums)

    def candidates(self, proposals: Proposals) -> list[int]:
        """Return the candidates of the next step."""
        return proposals.of_step(self._masses)

    def add_centers(self, centers: Points) -> int:
        """Compare all rows with the first centres; return the distances computed."""
        nearest = self.nearest

        def task(start: int, stop: int) -> None:
            squared, labels = nearest.squared[start:stop], nearest.labels[start:stop]
            for number, center in enumerate(centers):
                found = squared_distances(self._points[start:stop], center, self._kind)
                nearer = found < squared
                np.copyto(squared, found, where=nearer)
                np.copyto(labels, number, where=nearer)
            sum_tree.sum_rows(self._masses, start, stop)

        self._workers.over_blocks(task, len(self._points), self._block)
        sum_tree.sum_inner(self._sums)
        nearest.n_compared = len(centers)
        return len(self._points) * len(centers)

    def add_best(self, candidates: list[int]) -> tuple[int, int]:
        """Make the best of some rows a centre, and compare all rows with it."""
        compare = self._at_once if self._is_small else self._one_by_one
        at, column, passes = compare(candidates)
        self._take(column)
        return candidates[at], passes * len(self._points)

    def _at_once(self, candidates: list[int]) -> tuple[int, FloatArray, int]:
        """Return which candidate wins, its column, and how many columns were computed."""
        n, squared = len(self._points), self.nearest.squared
        if len(self._copies):
            centers = np.repeat(self._points[candidates], n, axis=0)
            found = squared_distances(self._copies[: len(centers)], centers, self._kind)
            columns = found.reshape(-1, n)
        else:
            columns = squared_by_columns(self._coordinates, self._points[candidates])
        np.minimum(columns, squared, out=columns)
        at = winner(_gains(squared, columns, self._weights).tolist())
        return at, columns[at], len(candidates)

    def _one_by_one(self, candidates: list[int]) -> tuple[int, FloatArray, int]:
        """Do the same, keeping one column."""
        (best, other), kept = self._columns, -1
        gains: list[float] = []
        largest = -math.inf
        for row in candidates:
            gains.append(self._compare(row, other))
            if overtakes(gains[-1], largest):
                best, other, kept = other, best, len(gains) - 1
            largest = max(largest, gains[-1])
        at = winner(gains)
        if at == kept:
            return at, best, len(candidates)
        # The one kept was overtaken by more than a tie, but not the one in between.
        self._compare(candidates[at], best)
        return at, best, len(candidates) + 1

    def _compare(self, row: int, column: FloatArray) -> float:
        """Compute the column of a row; return its gain."""

        def task(start: int, stop: int) -> float:
            squared, mine = self.nearest.squared[start:stop], column[start:stop]
            found = squared_distances(self._points[start:stop], self._points[row], self._kind)
            np.minimum(found, squared, out=mine)
            return float(_gains(squared, mine, self._weights[start:stop]))

        return sum(self._workers.over_blocks(task, len(self._points), self._block))

    def _take(self, column: FloatArray) -> None:
        """Make a candidate a centre, given its column."""
        nearest = self.nearest

        def task(start: int, stop: int) -> None:
            squared, mine = nearest.squared[start:stop], column[start:stop]
            np.putmask(nearest.labels[start:stop], mine < squared, nearest.n_compared)
            squared[:] = mine
            sum_tree.sum_rows(self._masses, start, stop)

        self._workers.over_blocks(task, len(self._points), self._block)
        sum_tree.sum_inner(self._sums)
        nearest.n_compared += 1


def _gains(squared: FloatArray, columns: FloatArray, weights: npt.NDArray[np.float64]) -> Any:
    """Return the gain of every column, or of the only one."""
    lowered = np.subtract(squared, columns, dtype=np.float64)
    if len(weights):
        lowered *= weights
    return lowered.sum(axis=-1)


METHOD = Method(draw, takes_sparse=True)
