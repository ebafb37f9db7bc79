"""What is left when Σ w·α² has become too small for fast arithmetic.

Either the distinct points have run out, or the rest differ by so little, or weigh so little,
beside what was drawn before that squares, products or sums underflow. The first is common (more
seeds wanted than there are distinct points), the second is not; both end here. Whatever can be
told apart is drawn by the law of k-means++, or of greedy k-means++, with masses whose exponents are
kept separately; then rows are drawn by weight, with a warning.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from kseeds.distances import underflow
from kseeds.distances.metrics import Metric
from kseeds.distances.sparse_rows import Points, stacked
from kseeds.distances.underflow import Lengths
from kseeds.inputs.points import Prepared
from kseeds.inputs.problem import Problem
from kseeds.inputs.weights import Weights
from kseeds.methods.base import Draw
from kseeds.methods.greedy.rule import overtakes, winner
from kseeds.nearest.finish import exact_centers, nearest_of_all
from kseeds.runtime.threads import Workers
from kseeds.sampling.clocks import first_clocks
from kseeds.sampling.streams import Purpose, Stream

_AT_ONCE = 1 << 16
"""Candidates of a step that are drawn at once, so that memory does not grow with the trials."""


def draw_by_small_masses(
    points: Points,
    weights: npt.NDArray[np.float64] | None,
    centers: Points,
    metric: Metric,
    wanted: int,
    stream: Stream,
    trials: int = 1,
) -> tuple[npt.NDArray[np.int64], int]:
    """Draw up to ``wanted`` of a few rows by k-means++, given centres; fewer if the rest coincide.

    Returns them, and how many distances were computed.

    Parameters
    ----------
    points : ndarray
        The rows to draw from, in the user's units: scaling may lose what is small.
    weights : ndarray or None
        Their weights, of any size.
    centers : ndarray
        The centres so far, likewise; at least one.
    metric : Metric
        The distance.
    wanted : int
        How many rows to draw.
    stream : Stream
        The randomness of the call.
    trials : int
        Candidates per step: the best of several by greedy k-means++.
    """
    uniforms = stream.by_round(Purpose.SMALL)
    _, gaps = underflow.nearest(points, centers, metric)
    compared = len(centers)
    drawn: list[int] = []
    while len(drawn) < wanted:
        mass, exponent = underflow.scaled_masses(gaps, weights)
        reached = np.cumsum(mass)
        if len(mass) == 0 or reached[-1] == 0.0:
            break
        positive = np.flatnonzero(mass)
        found: dict[int, None] = {}
        for lo in range(0, trials, _AT_ONCE):
            count = min(_AT_ONCE, trials - lo)
            targets = uniforms(0, count, len(drawn) * trials + lo) * reached[-1]
            rows = np.searchsorted(reached, targets, side="right")
            # Rounding may lead past the last.
            found |= dict.fromkeys(np.minimum(rows, positive[-1]).tolist())
            if len(found) == len(positive):
                break
        candidates, largest = list(found), -math.inf
        gains: list[float] = []
        for row in candidates:
            column, gain = _closer(points, gaps, row, metric), 0.0
            if trials > 1:
                left, _ = underflow.scaled_masses(column, weights, exponent)
                gain = float((mass - left).sum())
            if overtakes(gain, largest):
                best, kept = column, len(gains)
            gains.append(gain)
            largest = max(largest, gain)
        at, compared = winner(gains), compared + len(candidates)
        if at != kept:  # the one kept was overtaken by more than a tie, but not the one in between
            best, compared = _closer(points, gaps, candidates[at], metric), compared + 1
        drawn.append(candidates[at])
        gaps = best
    return np.array(drawn, dtype=np.int64), len(points) * compared


def _closer(points: Points, gaps: Lengths, row: int, metric: Metric) -> Lengths:
    """Return the distances of rows to their nearest centre, with one of them as a centre, too."""
    found = underflow.distances(points, points[row], metric)
    closer = Lengths(gaps.mantissas.copy(), gaps.exponents.copy())
    closer.put(found.less_than(gaps), found)
    return closer


def complete(
    problem: Problem,
    prepared: Prepared,
    drawn: Draw,
    weights: Weights,
    warn: Callable[[Problem, int], None],
) -> npt.NDArray[np.int64]:
    """Return the rows drawn, completed to as many as were asked for."""
    indices, points, metric = drawn.indices, problem.points, problem.metric
    missing = problem.n_clusters - len(indices)
    if missing == 0:
        return indices
    centers = stacked([problem.initial, points[indices]])
    with Workers(problem.n_threads) as workers:
        nearest = nearest_of_all(points, metric, drawn.nearest, centers, workers)
    values, centers = prepared.exact, exact_centers(prepared, problem.initial, indices)
    rows = underflow.not_coinciding(values, centers, nearest.labels, metric)
    exact = weights.exact
    if exact is not None:
        rows = rows[exact[rows] > 0.0]
    places, distances = draw_by_small_masses(
        values[rows],
        None if exact is None else exact[rows],
        centers,
        metric,
        missing,
        problem.stream,
        drawn.trials,
    )
    drawn.work.distances += distances
    indices = np.concatenate([indices, rows[places]])
    if len(indices) == problem.n_clusters:
        return indices
    # Every row of positive weight coincides with a seed. The smallest clocks are draws by weight
    # without replacement (Efraimidis and Spirakis 2006).
    warn(problem, len(indices))
    missing = problem.n_clusters - len(indices)
    logs = weights.logarithms
    more, _ = first_clocks(problem.stream, Purpose.FILL, 0, len(points), logs, missing, indices)
    return np.concatenate([indices, more])
