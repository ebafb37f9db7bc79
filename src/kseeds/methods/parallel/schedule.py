"""The rounds of k-means||, whatever compares the rows with new candidates.

The naive and the accelerated algorithm differ in two steps only, which the caller supplies:
how every row is compared with a batch of new candidates, and how the candidates are reduced.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kseeds.distances.sparse_rows import Points, is_sparse, stacked
from kseeds.distances.underflow import least_mass
from kseeds.inputs.problem import Problem
from kseeds.methods.base import Draw
from kseeds.methods.greedy.rule import trials_for
from kseeds.nearest.state import Nearest
from kseeds.results import Work
from kseeds.runtime.aligned import read_only
from kseeds.runtime.progress import SILENT
from kseeds.runtime.threads import Workers, blocks_of
from kseeds.sampling.clocks import first_to_fire
from kseeds.sampling.streams import Purpose, maxima_of

_SAMPLED_ROWS = 1 << 17
"""Rows whose trials are drawn at a time: NumPy does not let threads draw integers side by side,
so that the fewer calls the better."""

Update: TypeAlias = Callable[[Points, Nearest, Work, Workers], None]
"""Compares every row with the given new centres, which follow those it was compared with."""

PlusPlus: TypeAlias = Callable[[Problem, Purpose], Draw]
"""An algorithm that draws k-means++."""

Greedy: TypeAlias = Callable[[Problem, int, Purpose], Draw]
"""An algorithm that draws greedy k-means++, with so many candidates per step."""

REDUCTIONS = ("k-means++", "greedy")
"""The laws by which candidates may be reduced to k."""


@dataclass(frozen=True)
class Schedule:
    """How much k-means|| draws: ``oversampling`` times k candidates in each of ``rounds``.

    ``reduction`` is one of `REDUCTIONS`.
    """

    oversampling: float = 2.0
    rounds: int = 5
    reduction: str = "k-means++"

    def trials(self, n_clusters: int) -> int:
        """Return how many candidates a step of the reduction draws; one is k-means++."""
        return trials_for(n_clusters, None) if self.reduction == "greedy" else 1


def draw(
    problem: Problem, schedule: Schedule, update: Update, plusplus: PlusPlus, greedy: Greedy
) -> Draw:
    """Draw up to ``n_clusters`` rows; fewer if the rest coincide with centres."""
    points, m = problem.points, len(problem.initial)
    work = Work(rounds=schedule.rounds)
    nearest = Nearest.empty(points)
    candidates = np.empty(0, dtype=np.int64)
    new_centers = problem.initial
    with Workers(problem.n_threads) as workers:
        if m == 0:
            first = first_to_fire(
                problem.stream, Purpose.CLOCK, len(points), problem.weights, workers
            )
            candidates = np.array([first], dtype=np.int64)
            new_centers = points[candidates]
            _label_with_themselves(nearest, candidates, 0)
        for round_ in range(schedule.rounds):
            problem.progress.update(round_, schedule.rounds + 1, "rounds")
            update(new_centers, nearest, work, workers)
            drawn = sample_candidates(problem, nearest, schedule, round_, workers)
            if drawn is None:
                new_centers = points[:0]
                break
            _label_with_themselves(nearest, drawn, m + len(candidates))
            candidates = np.concatenate([candidates, drawn])
            new_centers = points[drawn]
        # The candidates of the last round have to be compared with the rows, or they would get no
        # members and hence no weight (erratum 2 of the paper).
        problem.progress.update(schedule.rounds, schedule.rounds + 1, "rounds")
        update(new_centers, nearest, work, workers)
    work.candidates = len(candidates)
    trials = schedule.trials(problem.n_clusters)

    def reduce(part: Problem, purpose: Purpose) -> Draw:
        return plusplus(part, purpose) if trials == 1 else greedy(part, trials, purpose)

    drawn_rows = _reduce(replace(problem, progress=SILENT), candidates, nearest, work, reduce)
    drawn_rows.trials = trials
    problem.progress.update(schedule.rounds + 1, schedule.rounds + 1, "rounds")
    return drawn_rows


def sample_candidates(
    problem: Problem, nearest: Nearest, schedule: Schedule, round_: int, workers: Workers
) -> npt.NDArray[np.int64] | None:
    """Return the rows that become candidates in this round, in row order.

    None if Σ w·α² is too small to draw from, in this round and so in all later ones.

    Every row has its own trial, keyed by its number, and every row counts in Z, whether or
    not anything about it changed in this round (erratum 5 of the paper).
    """
    n, squared, weights = len(problem.points), nearest.squared, problem.weights

    def mass(lo: int, hi: int) -> float:
        if weights is None:
            return float(squared[lo:hi].sum(dtype=np.float64))
        return float((squared[lo:hi].astype(np.float64) * weights[lo:hi]).sum())

    total = sum(workers.over_blocks(mass, n))
    if total < least_mass(squared, weights, problem.metric):
        return None
    wanted = schedule.oversampling * problem.n_clusters

    def draw_block(lo: int, hi: int) -> npt.NDArray[np.int64]:
        heaviest = 1.0 if weights is None else maxima_of(weights[lo:hi])
        most = share_of(maxima_of(squared[lo:hi]), heaviest, wanted, total)

        def share(rows: npt.NDArray[np.int64]) -> Any:
            weight = 1.0 if weights is None else weights[rows]
            return share_of(squared[rows], weight, wanted, total)

        return problem.stream.trials(round_, lo, hi, most, share)

    return np.concatenate(workers.over_blocks(draw_block, n, _SAMPLED_ROWS))


def share_of(squared: Any, weight: Any, wanted: float, total: float) -> Any:
    """Return the probability min(1, w·α²·ℓ / Z) of rows; rounding is monotone in the first two."""
    most = np.finfo(np.float64).max  # not infinity: a row at a centre has no chance, 0 · ℓ = 0
    with np.errstate(over="ignore"):  # the product may overflow only towards "certainly"
        return np.minimum(min(wanted, most) * (squared.astype(np.float64) * weight / total), 1.0)


def _label_with_themselves(nearest: Nearest, rows: npt.NDArray[np.int64], first: int) -> None:
    """Label ``rows``, which became the centres from number ``first`` on, at distance 0."""
    nearest.squared[rows] = 0.0
    nearest.labels[rows] = np.arange(first, first + len(rows))


def _reduce(
    problem: Problem,
    candidates: npt.NDArray[np.int64],
    nearest: Nearest,
    work: Work,
    plusplus: PlusPlus,
) -> Draw:
    """Reduce the candidates to k by weighted k-means++, drawing more rows if they are few.

    ``plusplus`` may also be the greedy form.
    """
    m = len(problem.initial)
    members = np.zeros(m + len(candidates))
    for lo, hi in blocks_of(len(problem.points)):
        weights = None if problem.weights is None else problem.weights[lo:hi]
        members += np.bincount(nearest.labels[lo:hi], weights, minlength=len(members))
    members = members[m:]
    reduced = np.empty(0, dtype=np.int64)
    if len(candidates):
        points = problem.points[candidates]
        part = replace(
            problem,
            points=points if is_sparse(points) else read_only(points),
            weights=members,
            n_clusters=min(problem.n_clusters, len(candidates)),
        )
        step = plusplus(part, Purpose.REDUCTION)
        _add(work, step.work)
        reduced = candidates[step.indices]
    if len(reduced) < problem.n_clusters:
        # Too few candidates, or too few distinct ones: go on with k-means++ over all rows.
        rest = replace(
            problem,
            initial=stacked([problem.initial, problem.points[reduced]]),
            n_clusters=problem.n_clusters - len(reduced),
        )
        step = plusplus(rest, Purpose.COMPLETION)
        _add(work, step.work)
        reduced = np.concatenate([reduced, step.indices])
    return Draw(reduced, work)


def _add(work: Work, step: Work) -> None:
    work.distances += step.distances
    work.seed_distances += step.seed_distances
    work.queue_examined += step.queue_examined
