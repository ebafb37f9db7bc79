"""Algorithm 3 of the paper in plain NumPy: the oracle of k-means||."""

from __future__ import annotations

import numpy as np

from kseeds.distances.reference import squared_distances
from kseeds.distances.sparse_rows import Points
from kseeds.inputs.problem import Problem
from kseeds.methods.base import Draw, Method
from kseeds.methods.greedy import naive as greedy
from kseeds.methods.parallel import schedule as rounds
from kseeds.methods.parallel.schedule import Schedule
from kseeds.methods.plusplus import naive
from kseeds.nearest.state import Nearest
from kseeds.results import Work
from kseeds.runtime.threads import Workers


def draw(problem: Problem, schedule: Schedule) -> Draw:
    """Draw with every distance computed.

    References
    ----------
    E. Raff, "Exact Acceleration of K-Means++ and K-Means||", IJCAI 2021, Algorithm 3.
    """

    def update(centers: Points, nearest: Nearest, work: Work, workers: Workers) -> None:
        for center in centers:
            squared = squared_distances(problem.points, center, problem.metric.kind)
            nearer = squared < nearest.squared
            np.copyto(nearest.squared, squared, where=nearer)
            np.copyto(nearest.labels, nearest.n_compared, where=nearer)
            nearest.n_compared += 1
            work.distances += len(squared)

    return rounds.draw(problem, schedule, update, naive.draw, greedy.draw)


METHOD = Method(draw, takes_sparse=True)
