"""Lazy k-means++: the exact law in roughly one pass over the data.

Keep for every row a bound q_i ≥ α_i²: its squared distance to the seeds it was compared with so
far. To draw the next seed, propose row i with probability ∝ w_i·q_i, draw u uniform in (0, 1),
compare the row with the seeds it has pending, and accept it if its true α_i² ≥ u·q_i; else keep
what was found as its new bound and propose again. An attempt yields row i with probability
∝ w_i·q_i·(α_i²/q_i) = w_i·α_i²: the k-means++ law, whatever the bounds are and however they
were chosen from the past. So batches, early exits and refreshes cannot bias it.

This file decides *when* to do what; two sets of kernels, `plain` (NumPy, no compiler) and
`compiled`, do it, and draw the same seeds from the same random numbers.
"""

from __future__ import annotations

import numpy as np

from kseeds.distances.underflow import least_mass
from kseeds.inputs.problem import Problem, UncheckedValuesError
from kseeds.methods.base import Draw, Method
from kseeds.methods.plusplus.lazy.choice import kernels_for
from kseeds.methods.plusplus.lazy.forecast import Forecaster
from kseeds.methods.plusplus.lazy.state import Kernels, State
from kseeds.nearest.state import Nearest
from kseeds.runtime.threads import Workers
from kseeds.sampling.streams import Purpose

_AHEAD = 16
"""Batches whose random numbers are made in one go, at most."""

_MANY = 2048
"""Rows from which on a batch of 64 proposals rarely has the same row twice."""

_HIGH_MASS = 0.5
"""A partial refresh takes the rows whose mass is at least this share of the mean true mass."""


def draw(
    problem: Problem,
    purpose: Purpose = Purpose.PROPOSAL,
    *,
    kernels: str = "auto",
    refresh: str = "auto",
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
    refresh : {"auto", "never", "partial", "full"}
        When to compare many rows with all centres at once, which makes their bounds exact again:
        when it pays, never, or after every batch, either the rows of high mass ("partial") or all
        rows ("full", by a tree over the points where there can be one). The seeds differ, their
        law does not.
    batch : {64, 8, 1}
        Proposals drawn from the same bounds; by default 8 for few rows, 64 for more, and up
        to 1024 for very many seeds. The seeds differ, their law does not.
    """
    state = State.start(problem, batch or _batch_for(problem))
    with Workers(problem.n_threads) as workers, kernels_for(problem, workers, kernels) as tier:
        with np.errstate(over="ignore", invalid="ignore"):  # values may be unchecked yet
            _first_centers(problem, purpose, state, tier)
        if not (problem.checked or _looks_sound(state)):
            raise UncheckedValuesError
        _run(problem, purpose, state, tier, Forecaster(problem, refresh))
    found = state.known - len(problem.initial)
    state.work.rounds = state.work.acceptances = found
    problem.progress.update(problem.n_clusters, problem.n_clusters, "seeds")
    rows, nearest = state.rows, None
    if state.refreshed:
        nearest = Nearest(rows.squared, rows.labels, state.known, rows.n_compared)
    return Draw(state.centers.indices[:found].copy(), state.work, nearest, state.fingerprint)


def _batch_for(problem: Problem) -> int:
    """Return how many proposals to draw at a time.

    So few that a row is rarely proposed twice; more when there are so many seeds that reading
    them all from memory is what a batch costs.
    """
    if len(problem.points) < _MANY:
        return 8
    return min(max(problem.n_clusters // 64, 64), 1024)


def _first_centers(problem: Problem, purpose: Purpose, state: State, tier: Kernels) -> None:
    """Place the initial centres, or a first seed drawn by weight; compare all rows with them."""
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
        state.centers.indices[0] = row
        state.add_center(problem.points[row])
    if m or problem.n_clusters > 1:  # a single seed needs no distances
        tier.first_pass(state)
        state.least = least_mass(state.rows.squared, problem.weights, problem.metric)
        state.work.distances += n
        if m > 1:
            _partial_refresh(state, tier, 0.0)


def _looks_sound(state: State) -> bool:
    """Tell whether the first pass met only finite values whose squares are safe.

    A NaN or an infinity anywhere, and a square that overflows, make the largest bound NaN or
    infinite; values whose squares vanish make the total small. By the triangle inequality no two
    rows are farther apart than twice the farthest from its centre, the centres being checked.
    """
    info, bounds = np.finfo(state.rows.points.dtype), state.rows.squared
    enough = float(info.tiny) ** 0.5 * len(bounds)
    farthest = state.total if len(state.weights) == 0 else float(bounds.max())
    return state.total >= enough and farthest <= float(info.max) / 32.0


def _run(
    problem: Problem, purpose: Purpose, state: State, tier: Kernels, forecaster: Forecaster
) -> None:
    """Propose and settle, with a refresh when rejected proposals have cost as much as one.

    That is the rule of renting skis until one could have bought them: never more than twice
    the cost of the best schedule in hindsight.
    """
    source = problem.stream.source(purpose, 0)
    uniforms = np.empty((0, 2, state.batch))
    ahead = 0
    while state.known < state.wanted and not state.is_exhausted:
        problem.progress.update(state.known - len(problem.initial), problem.n_clusters, "seeds")
        forecast = forecaster.now(state.share, state.has_tree, state.wanted)
        if len(uniforms) == 0:
            ahead = min(ahead + 2, _AHEAD)
            uniforms = source(2 * state.batch * ahead).reshape(ahead, 2, state.batch)
        uniforms = uniforms[tier.run(state, uniforms, forecast) :]
        if state.known < state.wanted and state.refresh_is_due(forecast):
            if forecast.full_is_cheaper(state.pending):
                _full_refresh(state, tier)
                continue
            true_mass = state.total * state.pending / max(state.proposals_since, 1)
            _partial_refresh(state, tier, _HIGH_MASS * true_mass / len(problem.points))


def _full_refresh(state: State, tier: Kernels) -> None:
    """Compare all rows with all centres."""
    state.work.distances += tier.full_refresh(state)
    state.has_tree = True
    _note_refresh(state)


def _partial_refresh(state: State, tier: Kernels, threshold: float) -> None:
    """Compare the rows of high mass with all centres."""
    pending = state.pending
    pairs = tier.partial_refresh(state, threshold)
    state.share = pairs / max(pending * len(state.rows.points), 1)
    state.work.distances += pairs
    _note_refresh(state)


def _note_refresh(state: State) -> None:
    state.work.refreshes += 1
    state.refreshed = state.known
    state.spent, state.proposals_since = 0.0, 0


METHOD = Method(
    draw,
    {
        "kernels": ("auto", "plain", "compiled"),
        "refresh": ("auto", "never", "partial", "full"),
        "batch": (64, 8, 1),
    },
    checks_values=True,
    takes_sparse=True,
)
