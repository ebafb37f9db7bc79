"""Lazy k-means++: the exact law for about one pass over the data.

Keep for every row a bound q_i ≥ α_i²: its squared distance to the seeds it has met so far.
To draw the next seed, propose row i with probability ∝ w_i·q_i, draw u uniform in (0, 1), let
the row meet the seeds it has not met, and accept it if its true α_i² ≥ u·q_i; else keep what
was found as its new bound and propose again. An attempt yields row i with probability
∝ w_i·q_i·(α_i²/q_i) = w_i·α_i²: the k-means++ law, whatever the bounds are and however they
were chosen from the past. So batches, early exits and sweeps cannot bias it.

This file decides *when* to do what; two sets of kernels, `plain` (NumPy, no compiler) and
`compiled`, do it, and draw the same seeds from the same random numbers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kseeds.distances.underflow import least_mass
from kseeds.inputs.problem import Problem, UncheckedValuesError
from kseeds.methods.base import Draw
from kseeds.methods.plusplus.lazy.choice import kernels_for
from kseeds.methods.plusplus.lazy.costs import Costs, costs_of, sweep_is_due
from kseeds.methods.plusplus.lazy.state import Kernels, State
from kseeds.nearest.state import Nearest
from kseeds.runtime.progress import Progress
from kseeds.runtime.threads import Workers
from kseeds.sampling.streams import Purpose

OPTIONS = {
    "kernels": ("auto", "plain", "compiled"),
    "sweeps": ("auto", "never", "always", "whole"),
    "batch": (64, 8, 1),
}

_AHEAD = 16
"""Batches whose random numbers are made in one go, at most."""

_MANY = 2048
"""Rows from which on a batch of 64 proposals rarely has the same row twice."""

_PLANTED_FOR = 64
"""Rows a seed from which on a tree has to pay at its first refresh; with fewer rows to a seed
there will be several."""

_HEAVY = 0.5
"""A sweep takes the rows whose mass is at least this share of the mean true mass."""


def draw(
    problem: Problem,
    purpose: Purpose = Purpose.PROPOSAL,
    *,
    kernels: str = "auto",
    sweeps: str = "auto",
    batch: int | None = None,
) -> Draw:
    """Draw up to ``n_clusters`` rows; fewer if the rest coincide with centres.

    Parameters
    ----------
    problem : Problem
        What to seed.
    purpose : Purpose
        Which random numbers to use.
    kernels : {"auto", "plain", "compiled"}
        "plain" never loads the compiler, "compiled" always does; the seeds are the same.
    sweeps : {"auto", "never", "always", "whole"}
        When to bring the bounds of all heavy rows up to date at once: when it pays, never, or
        after every batch; "whole" takes all rows then, by a tree over the points, as "auto"
        does where that is cheaper. The seeds differ, their law does not.
    batch : {64, 8, 1}
        Proposals drawn from the same bounds; by default 8 for few rows, 64 for more, and up
        to 1024 for very many seeds. The seeds differ, their law does not.
    """
    state = State.start(problem, batch or _batch_for(problem))
    with Workers(problem.n_threads) as workers, kernels_for(problem, workers, kernels) as engine:
        with np.errstate(over="ignore", invalid="ignore"):  # values may be unchecked yet
            _first_centers(problem, purpose, state, engine)
        if not (problem.checked or _looks_sound(state)):
            raise UncheckedValuesError
        _run(problem, purpose, state, engine, costs_of(problem), sweeps)
    found = state.known - len(problem.initial)
    work = replace(state.work, rounds=found, acceptances=found)
    problem.progress.update(problem.n_clusters, problem.n_clusters, "seeds")
    nearest = (
        Nearest(state.bounds, state.labels, state.known, state.n_compared) if state.swept else None
    )
    return Draw(state.indices[:found].copy(), work, nearest, state.fingerprint)


def _batch_for(problem: Problem) -> int:
    """Return how many proposals to draw at a time.

    So few that a row is rarely proposed twice; more when there are so many seeds that reading
    them all from memory is what a batch costs.
    """
    if len(problem.points) < _MANY:
        return 8
    return int(np.clip(problem.n_clusters // 64, 64, 1024))


def _first_centers(problem: Problem, purpose: Purpose, state: State, engine: Kernels) -> None:
    """Place the initial centres, or a first seed drawn by weight; let all rows meet them."""
    m, n = len(problem.initial), len(problem.points)
    if m:
        for center in problem.initial:
            state.add_center(center)
    else:
        uniform = float(problem.stream.uniforms(purpose, 1, 0, 1)[0])
        if problem.weights is None:
            row = min(int(uniform * n), n - 1)
        else:
            reached = np.cumsum(problem.weights)
            row = int(np.searchsorted(reached, uniform * reached[-1], side="right"))
            if row == n:  # rounding, at most once in 2⁵³ draws
                row = int(np.flatnonzero(problem.weights)[-1])
        state.indices[0] = row
        state.add_center(problem.points[row])
    if m or problem.n_clusters > 1:  # a single seed needs no distances
        engine.first_pass(state)
        state.least = least_mass(state.bounds, problem.weights, problem.metric)
        state.work.distances += n
        if m > 1:
            _sweep(state, engine, 0.0)


def _looks_sound(state: State) -> bool:
    """Tell whether the first pass met only finite values whose squares are safe.

    A NaN or an infinity anywhere, and a square that overflows, make the largest bound NaN or
    infinite; values whose squares vanish make the total small. By the triangle inequality no two
    rows are farther apart than twice the farthest from its centre, the centres being checked.
    """
    info = np.finfo(state.points.dtype)
    enough = float(info.tiny) ** 0.5 * len(state.points)
    farthest = state.total if len(state.weights) == 0 else float(state.bounds.max())
    return state.total >= enough and farthest <= float(info.max) / 32.0


def _run(
    problem: Problem,
    purpose: Purpose,
    state: State,
    engine: Kernels,
    costs: Costs,
    sweeps: str,
) -> None:
    """Propose and settle, sweeping when rejected proposals have cost as much as a sweep.

    That is the rule of renting skis until one could have bought them: never more than twice
    the cost of the best schedule in hindsight.
    """
    n = len(problem.points)
    source = problem.stream.source(purpose, 0)
    uniforms = np.empty((0, 2, state.batch))
    ahead = 0
    while state.known < state.wanted and not state.is_exhausted:
        _report(problem.progress, problem, state)
        price = _price(costs, state, sweeps)
        if len(uniforms) == 0:
            ahead = min(ahead + 2, _AHEAD)
            uniforms = source(2 * state.batch * ahead).reshape(ahead, 2, state.batch)
        uniforms = uniforms[engine.run(state, uniforms, costs, price) :]
        if state.known < state.wanted and sweep_is_due(*state.waste, price):
            pending = state.known - state.swept
            if price[2] + price[3] * pending < price[0] + price[1] * pending:
                _refresh(state, engine)
                continue
            true_mass = state.total * pending / max(state.proposals_since_sweep, 1)
            _sweep(state, engine, _HEAVY * true_mass / n)


def _price(costs: Costs, state: State, sweeps: str) -> npt.NDArray[np.float64]:
    """Return what `sweep_is_due` wants to know of the prices."""
    never, at_once = (np.inf, 0.0), (0.0, 0.0)
    planting = 0.0 if state.is_planted else min(1.0, costs.n_rows / (state.wanted * _PLANTED_FOR))
    prices = {
        "auto": (*costs.sweep(state.share), *costs.whole(planting)),
        "never": (*never, *never),
        "always": (*at_once, *never),
        "whole": (*never, *at_once),
    }
    return np.array(prices[sweeps])


def _refresh(state: State, engine: Kernels) -> None:
    """Let all rows meet all centres."""
    state.work.distances += engine.refresh(state)
    state.is_planted = True
    _note_sweep(state)


def _sweep(state: State, engine: Kernels, threshold: float) -> None:
    """Let the heavy rows meet all centres."""
    pending = state.known - state.swept
    pairs = engine.sweep(state, threshold)
    state.share = pairs / max(pending * len(state.points), 1)
    state.work.distances += pairs
    _note_sweep(state)


def _note_sweep(state: State) -> None:
    state.work.refreshes += 1
    state.swept = state.known
    state.spent, state.proposals_since_sweep = 0.0, 0


def _report(progress: Progress, problem: Problem, state: State) -> None:
    progress.update(state.known - len(problem.initial), problem.n_clusters, "seeds")
