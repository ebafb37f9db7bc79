"""Algorithm 5 of the paper: a vantage-point tree over the new candidates, NearestInRange.

Most rows do not change their nearest candidate in a round. Starting the search of row i at
the radius α_i lets the tree see that at once.
"""

from __future__ import annotations

import numpy as np

from kseeds.distances.metrics import FloatArray
from kseeds.inputs.problem import Problem
from kseeds.methods.base import Draw, Method
from kseeds.methods.greedy import naive as greedy
from kseeds.methods.parallel import schedule as rounds
from kseeds.methods.parallel.schedule import Schedule
from kseeds.methods.plusplus import paper
from kseeds.nearest.state import Nearest
from kseeds.nearest.vantage_tree import VantageTree
from kseeds.results import Work
from kseeds.runtime.threads import Workers


def draw(problem: Problem, schedule: Schedule, *, in_range: bool = True) -> Draw:
    """Draw with the pruned search.

    Parameters
    ----------
    problem : Problem
        What to seed.
    schedule : Schedule
        How much to draw.
    in_range : bool
        False searches without the radius, the ablation of the paper's §5.2.

    References
    ----------
    E. Raff, "Exact Acceleration of K-Means++ and K-Means||", IJCAI 2021, Algorithm 5.
    """

    def update(centers: FloatArray, nearest: Nearest, work: Work, workers: Workers) -> None:
        if len(centers) == 0:
            return
        tree = VantageTree(np.ascontiguousarray(centers), problem.metric)
        computed, visited = tree.search(
            problem.points,
            nearest.squared,
            nearest.labels,
            workers,
            first=nearest.n_compared,
            in_range=in_range,
        )
        nearest.n_compared += len(centers)
        work.distances += tree.distances + computed
        work.tree_nodes += visited

    return rounds.draw(problem, schedule, update, paper.draw, greedy.draw)


METHOD = Method(draw, {"in_range": (True, False)}, any_dissimilarity=False)
