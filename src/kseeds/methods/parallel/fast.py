"""k-means|| by the fastest exact catch-up for the shape of the data, reduced lazily.

The candidates are those of the naive algorithm, whichever way the rows meet them. The
reduction to k draws from the same law by lazy k-means++, with random numbers of its own.
"""

from __future__ import annotations

import numpy as np

from kseeds.distances.metrics import FloatArray
from kseeds.inputs.problem import Problem
from kseeds.methods.base import Draw
from kseeds.methods.parallel import schedule as rounds
from kseeds.methods.parallel.schedule import Schedule
from kseeds.methods.plusplus import lazy
from kseeds.nearest.state import Nearest
from kseeds.nearest.update import STRATEGIES, NearestUpdater
from kseeds.results import Work
from kseeds.runtime.threads import Workers

OPTIONS = {"strategy": STRATEGIES}


def draw(problem: Problem, schedule: Schedule, *, strategy: str | None = None) -> Draw:
    """Draw with one structure for all rounds.

    Parameters
    ----------
    problem : Problem
        What to seed.
    schedule : Schedule
        How much to draw.
    strategy : str, optional
        How rows meet candidates; chosen by default. Changes no candidate.
    """
    n_compared = np.empty((0, problem.points.shape[1]), dtype=problem.points.dtype)
    engine: NearestUpdater | None = None

    def catch_up(centers: FloatArray, nearest: Nearest, work: Work, workers: Workers) -> None:
        nonlocal engine, n_compared
        if engine is None:
            expected = 1 + schedule.oversampling * problem.n_clusters * schedule.rounds
            engine = NearestUpdater(
                problem.points, problem.metric, workers, expected, schedule.rounds, strategy
            )
        n_compared = np.concatenate([n_compared, centers])
        computed, visited = engine.meet(nearest, n_compared)
        work.distances += computed
        work.tree_nodes += visited

    return rounds.draw(problem, schedule, catch_up, lazy.draw)
