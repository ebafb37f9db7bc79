"""The steps of greedy k-means++, whatever compares the rows with the candidates.

The algorithms differ in how they find the gains and the nearest seeds of all rows, which the
caller supplies as `Rows`. They share their random numbers, and so the candidates, as they sum w·α²
in the same tree; see `kseeds.methods.greedy.proposals`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np

from kseeds.distances.sparse_rows import Points
from kseeds.distances.underflow import least_mass
from kseeds.inputs.problem import Problem
from kseeds.methods.base import Draw
from kseeds.methods.greedy.proposals import Proposals
from kseeds.nearest.state import Nearest
from kseeds.results import Work
from kseeds.runtime.threads import Workers
from kseeds.sampling.clocks import first_to_fire
from kseeds.sampling.streams import Purpose


class Rows(Protocol):
    """All rows, with the nearest centre of each and the sums of w·α²."""

    @property
    def nearest(self) -> Nearest:
        """The nearest centre of every row."""

    @property
    def total(self) -> float:
        """Σ w·α² over all rows."""

    def add_centers(self, centers: Points) -> int:
        """Compare all rows with the first centres; return the distances computed."""

    def add_seeds(self, proposals: Proposals, most: int, least: float) -> tuple[list[int], int]:
        """Take one step, or up to ``most``.

        Candidates are the next proposals that are accepted, the best of them by
        `kseeds.methods.greedy.rule.winner` becomes a seed, and all rows are compared with it. Stops
        before a step where Σ w·α² is below ``least``; there may be none if numbers of the proposals
        are to be generated first. Returns the seeds and the distances computed.
        """


class OneByOne(ABC):
    """Rows that take one step at a time."""

    def add_seeds(self, proposals: Proposals, most: int, least: float) -> tuple[list[int], int]:
        """Take one step; see `Rows`."""
        seed, distances = self.add_best(list(dict.fromkeys(self.candidates(proposals))))
        return [seed], distances

    @abstractmethod
    def candidates(self, proposals: Proposals) -> list[int]:
        """Return the candidates of the next step."""

    @abstractmethod
    def add_best(self, candidates: list[int]) -> tuple[int, int]:
        """Make the best of some rows, no two the same, a centre, and compare all rows with it.

        Returns which row that is, and the distances computed.
        """


def draw(problem: Problem, trials: int, purpose: Purpose, rows: Rows, workers: Workers) -> Draw:
    """Draw up to ``n_clusters`` rows; fewer if Σ w·α² becomes too small for this arithmetic.

    Parameters
    ----------
    problem : Problem
        What to seed.
    trials : int
        Candidates drawn per step.
    purpose : Purpose
        Which random numbers to use.
    rows : Rows
        The algorithm, on rows that were compared with no centre yet.
    workers : Workers
        Threads to use.
    """
    k, work = problem.n_clusters, Work()
    indices: list[int] = []
    centers = problem.initial
    if len(centers) == 0:
        indices.append(first_seed(problem, purpose, workers))
        centers = problem.points[indices]
    if len(indices) < k:  # a single seed needs no distances
        work.distances += rows.add_centers(centers)
        least = least_mass(rows.nearest.squared, problem.weights, problem.metric)
    proposals = Proposals(problem.stream.by_round(purpose), trials)
    while len(indices) < k and rows.total >= least:
        problem.progress.update(len(indices), k, "seeds")
        seeds, distances = rows.add_seeds(proposals, k - len(indices), least)
        indices += seeds
        work.candidates += trials * len(seeds)
        work.distances += distances
    problem.progress.update(k, k, "seeds")
    work.rounds = len(indices)
    return Draw(np.array(indices, dtype=np.int64), work, rows.nearest, trials=trials)


def first_seed(problem: Problem, purpose: Purpose, workers: Workers) -> int:
    """Return the first seed, drawn by weight."""
    # As k-means|| draws its first candidate; but the reduction of its candidates must not draw by
    # the same numbers.
    clock = Purpose.CLOCK if purpose is Purpose.GREEDY else purpose
    return first_to_fire(problem.stream, clock, len(problem.points), problem.weights, workers)
