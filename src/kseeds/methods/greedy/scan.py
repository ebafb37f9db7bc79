"""Greedy k-means++ by one pass over all rows a step.

In plain NumPy, the products of all rows with all candidates of a step give every squared distance
but for rounding, and so bounds of every gain from both sides. Mostly they decide which candidate
wins; only where two are too close to call are exact distances computed, and only of the rows that
either may be nearer to. So are the distances of the rows that the winner may be nearer to. By
metrics that are not Euclidean, compiled kernels compute all distances.

With u the unit roundoff, |x|² + |c|² − 2·x·c errs by less than ε·(|x|² + |c|²), ε = 8(d + 12)u,
where x and c are about a common mean (by much less: see `kseeds.nearest.gemm`), and a computed
squared distance by less than the relative error of the metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import Family, FloatArray
from kseeds.inputs.problem import Problem
from kseeds.methods.greedy.proposals import Proposals
from kseeds.methods.greedy.rule import TIE, winner
from kseeds.methods.greedy.steps import OneByOne
from kseeds.nearest.choice import Job
from kseeds.nearest.projection import center_of
from kseeds.nearest.state import Nearest
from kseeds.nearest.update import NearestUpdater
from kseeds.runtime.threads import Workers
from kseeds.sampling import sum_tree
from kseeds.sampling.sum_tree import Masses

SUMMING = 2e-6
"""Rounding of the terms of a gain in single precision, and of sums in double, as a share of it."""
MOST = 16
"""Candidates of a step that have a bit each."""

Float64Array = npt.NDArray[np.float64]


class Step(NamedTuple):
    """The candidates of a step: whole, and about the mean.

    ``errors[q]`` is what the products of candidate q add to those of the rows.
    """

    centers: FloatArray
    moved: FloatArray
    squares: FloatArray
    errors: FloatArray


class State:
    """The rows, the nearest centre of each, and what bounds gains.

    Attributes
    ----------
    norms : ndarray
        The squared norms of the points about ``mean``; of the Euclidean metric only.
    within : ndarray of uint16
        Bit q tells whether candidate q may be nearer than what a row has.
    epsilon, of_squared : float
        A squared distance errs by at most epsilon times the squared norms, and of_squared times
        what the row has.
    """

    def __init__(self, problem: Problem) -> None:
        self.points, self.metric = problem.points, problem.metric
        n, dtype = len(self.points), self.points.dtype
        self.is_euclidean = self.metric.family is Family.EUCLIDEAN
        self.nearest = Nearest.empty(self.points)
        self.weights = np.empty(0) if problem.weights is None else problem.weights
        self.masses = Masses(self.nearest.squared, self.weights, sum_tree.new_sums(n))
        eps, d = float(np.finfo(dtype).eps), self.points.shape[1]
        self.of_squared = 2.0 * (self.metric.relative + 4.0 * eps)
        self.epsilon = 4.0 * (d + 12) * eps * 1.01
        self.mean = np.zeros(d, dtype=dtype)
        if self.is_euclidean:
            self.mean = center_of(self.points).astype(dtype)
        self.norms = np.empty(n if self.is_euclidean else 0, dtype=dtype)
        self.within = np.empty(n, dtype=np.uint16)  # costs nothing until it is written

    def step_of(self, candidates: list[int]) -> Step:
        """Return what is needed of some rows as candidates."""
        moved = self.points[candidates] - self.mean
        squares = np.einsum("ij,ij->i", moved, moved)
        errors = (self.epsilon * squares).astype(squares.dtype)
        return Step(self.points[candidates], moved, squares, errors)


class Tier(Protocol):
    """What the plain and the compiled tier do, to the same effect on the state."""

    def start(self, state: State) -> None:
        """Compute the norms of the rows, and sum the masses."""

    def candidates(self, state: State, proposals: Proposals) -> list[int]:
        """Return the candidates of the next step."""

    def gain_bounds(self, state: State, step: Step) -> tuple[Float64Array, Float64Array]:
        """Return the gain of every candidate, and by how much it may be wrong; set the bits."""

    def exact_gains(self, state: State, step: Step, which: Sequence[int]) -> list[float]:
        """Return the gains of some of the candidates."""

    def take(self, state: State, step: Step, which: int) -> None:
        """Make a candidate a centre: compare the rows with it, and sum the masses again."""


class ScannedRows(OneByOne):
    """See `kseeds.methods.greedy.steps.Rows`."""

    def __init__(self, problem: Problem, workers: Workers, tier: Tier) -> None:
        self._state = State(problem)
        self._workers, self._tier = workers, tier

    @property
    def nearest(self) -> Nearest:
        """The nearest centre of every row."""
        return self._state.nearest

    @property
    def total(self) -> float:
        """Σ w·α² over all rows."""
        return float(self._state.masses.sums[1])

    def candidates(self, proposals: Proposals) -> list[int]:
        """Return the candidates of the next step."""
        return self._tier.candidates(self._state, proposals)

    def add_centers(self, centers: FloatArray) -> int:
        """Compare all rows with the first centres; return the distances computed."""
        state = self._state
        job = Job(state.points, state.metric, self._workers, len(centers))
        counts = NearestUpdater(job).update(state.nearest, centers, 0)
        self._tier.start(state)
        return min(counts.distances, len(state.points) * len(centers))

    def add_best(self, candidates: list[int]) -> tuple[int, int]:
        """Make the best of some rows a centre, and compare all rows with it."""
        state, tier = self._state, self._tier
        step = state.step_of(candidates)
        gains, errors = tier.gain_bounds(state, step)
        errors = errors + SUMMING * gains
        at = self._best_within(step, gains - errors, gains + errors)
        tier.take(state, step, at)
        state.nearest.n_compared += 1
        return candidates[at], len(candidates) * len(state.points)

    def _best_within(self, step: Step, least: Float64Array, most: Float64Array) -> int:
        """Return which candidate wins, given bounds of the gains from both sides."""
        which = np.flatnonzero(most >= least.max() * (1.0 - TIE)).tolist()
        if len(which) == 1:
            return int(which[0])
        return int(which[winner(self._tier.exact_gains(self._state, step, which))])
