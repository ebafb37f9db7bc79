"""The nearest centre of every row: bringing what a method knows up to date."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.inputs.problem import Problem
from kseeds.meeting import meet
from kseeds.metrics import FloatArray, Kind
from kseeds.patience import can_do_without, without_compiler
from kseeds.result import Nearest
from kseeds.threads import Workers, blocks_of

_PLAIN_ROWS = 2048


def catch_up(
    points: FloatArray, nearest: Nearest, centers: FloatArray, kind: Kind, workers: Workers
) -> int:
    """Let every row meet those of ``centers`` it has not met; return the distances computed."""
    met = nearest.met_by_row
    if met is None:
        met = np.full(len(points), nearest.met, dtype=np.int32)
    nearest.met, nearest.met_by_row = len(centers), None
    oldest = int(met.min())
    seconds = 3e-9 * points.size * (len(centers) - oldest)
    if callable(kind) or can_do_without(seconds):
        with without_compiler():
            pairs = int((len(centers) - met).sum())
            for lo, hi in blocks_of(len(points), _PLAIN_ROWS):
                nearest.squared[lo:hi], nearest.labels[lo:hi] = meet(
                    points[lo:hi], centers, oldest, kind,
                    nearest.squared[lo:hi], nearest.labels[lo:hi],
                )  # fmt: skip
            return pairs
    from kseeds.kernels.catch_up import brute_force

    def task(start: int, stop: int) -> int:
        computed: int = brute_force(
            points, start, stop, centers, int(kind), nearest.squared, nearest.labels, met
        )
        return computed

    return sum(workers.over_blocks(task, len(points), _rows_a_task(points, workers)))


def _rows_a_task(points: FloatArray, workers: Workers) -> int:
    """Return a multiple of 64 rows that gives every thread several tasks."""
    return max(4096, -(-len(points) // (8 * 64 * workers.n_threads)) * 64)


def finish_nearest(
    problem: Problem, nearest: Nearest | None, indices: npt.NDArray[np.int64]
) -> tuple[Nearest, float]:
    """Return the nearest of all centres for every row, and Σ w·d²."""
    points, weights = problem.points, problem.weights
    centers = np.concatenate([problem.initial, points[indices]])
    state = Nearest.unmet(points) if nearest is None else nearest
    with Workers(problem.n_threads) as workers:
        catch_up(points, state, centers, problem.metric.kind, workers)

        def mass(start: int, stop: int) -> float:
            squared = state.squared[start:stop].astype(np.float64)
            return float(squared.sum() if weights is None else squared @ weights[start:stop])

        return state, sum(workers.over_blocks(mass, len(points)))
