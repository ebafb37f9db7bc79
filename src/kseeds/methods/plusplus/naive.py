"""Algorithm 1 of the paper in plain NumPy: the oracle.

Every round computes the distance of every row to the newest seed and every row's clock, and
takes the row whose clock fires first. Nothing is skipped, so nothing can be skipped wrongly.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.distances.reference import squared_distances
from kseeds.distances.sparse_rows import Points
from kseeds.inputs.problem import Problem
from kseeds.methods.base import Draw, Method
from kseeds.nearest.state import Nearest
from kseeds.results import Work
from kseeds.sampling.clocks import longest_wait, start_clocks
from kseeds.sampling.streams import Purpose


def draw(problem: Problem, purpose: Purpose = Purpose.CLOCK) -> Draw:
    """Draw up to ``n_clusters`` rows; fewer if the rest coincide with centres.

    References
    ----------
    E. Raff, "Exact Acceleration of K-Means++ and K-Means||", IJCAI 2021, Algorithm 1; the
    clocks are the repair of its §3.2 that docs/exactness.md proves.
    """
    points, k = problem.points, problem.n_clusters
    n = len(points)
    clocks = start_clocks(problem.stream, purpose, n, problem.weights)
    nearest = Nearest.empty(points)
    work = Work()
    for center in problem.initial:
        clocks = _compare(points, center, problem, 0.0, clocks, nearest)
        work.distances += n
    indices: list[int] = []
    since = 0.0
    longest = longest_wait(nearest.squared, problem.weights, problem.metric, nearest.n_compared)
    while len(indices) < k:
        problem.progress.update(len(indices), k, "seeds")
        new = int(np.argmin(clocks))
        if not clocks[new] - since < longest:
            break
        now = float(clocks[new])
        indices.append(new)
        if len(indices) < k:
            since = now if nearest.n_compared else 0.0
            clocks = _compare(points, points[new], problem, now, clocks, nearest)
            if len(indices) == 1:
                longest = longest_wait(
                    nearest.squared, problem.weights, problem.metric, nearest.n_compared
                )
            work.distances += n
    problem.progress.update(k, k, "seeds")
    work.rounds = len(indices)
    return Draw(np.array(indices, dtype=np.int64), work, nearest)


def _compare(
    points: Points,
    center: Points,
    problem: Problem,
    now: float,
    clocks: npt.NDArray[np.float64],
    nearest: Nearest,
) -> npt.NDArray[np.float64]:
    """Compare every row with ``center`` at time ``now``; return the new clocks."""
    squared = squared_distances(points, center, problem.metric.kind)
    old_rates, new_rates = nearest.squared.astype(np.float64), squared.astype(np.float64)
    if nearest.n_compared == 0:
        # Until now rates were weights, of any size compared with w·α²: the clocks restart at
        # 0, or adding ``now`` could drown what remains of them.
        clocks, now, old_rates = clocks - now, 0.0, np.ones(len(points))
    falls = (new_rates < old_rates) | (nearest.n_compared == 0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rescaled = now + (clocks - now) * (old_rates / new_rates)
    rescaled[(new_rates <= 0.0) | np.isinf(clocks)] = np.inf
    np.copyto(nearest.squared, squared, where=falls)
    np.copyto(nearest.labels, nearest.n_compared, where=falls)
    nearest.n_compared += 1
    return np.where(falls, rescaled, clocks)


METHOD = Method(draw, takes_sparse=True)
