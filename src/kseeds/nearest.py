"""The nearest centre of every row: bringing what a method knows up to date."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.inputs.problem import Problem
from kseeds.metrics import FloatArray
from kseeds.result import Nearest
from kseeds.threads import Workers


def catch_up(
    points: FloatArray, nearest: Nearest, centers: FloatArray, family: int, workers: Workers
) -> int:
    """Let every row meet those of ``centers`` it has not met; return the distances computed."""
    from kseeds.kernels.catch_up import brute_force

    counts = workers.over_blocks(
        lambda start, stop: brute_force(
            points, start, stop, centers, nearest.met, family, nearest.squared, nearest.labels
        ),
        len(points),
    )
    nearest.met = len(centers)
    return sum(int(count) for count in counts)


def finish_nearest(
    problem: Problem, nearest: Nearest | None, indices: npt.NDArray[np.int64]
) -> tuple[Nearest, float]:
    """Return the nearest of all centres for every row, and Σ w·d²."""
    points, weights = problem.points, problem.weights
    centers = np.concatenate([problem.initial, points[indices]])
    state = Nearest.unmet(points) if nearest is None else nearest
    with Workers(problem.n_threads) as workers:
        catch_up(points, state, centers, int(problem.metric.family), workers)

        def mass(start: int, stop: int) -> float:
            squared = state.squared[start:stop].astype(np.float64)
            return float(squared.sum() if weights is None else squared @ weights[start:stop])

        return state, sum(workers.over_blocks(mass, len(points)))
