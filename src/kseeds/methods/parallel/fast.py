"""k-means|| by the fastest exact strategy for the shape of the data, reduced lazily.

The candidates are those of the naive algorithm, whichever strategy compares the rows with them.
The reduction to k draws from the same law by lazy k-means++, with random numbers of its own; or, if
that is asked for, by greedy k-means++.
"""

from __future__ import annotations

from kseeds.distances.sparse_rows import Points
from kseeds.inputs.problem import Problem
from kseeds.methods.base import Draw, Method
from kseeds.methods.greedy import fast as greedy
from kseeds.methods.parallel import schedule as rounds
from kseeds.methods.parallel.schedule import Schedule
from kseeds.methods.plusplus import lazy
from kseeds.nearest.choice import STRATEGIES, Job
from kseeds.nearest.state import Nearest
from kseeds.nearest.update import NearestUpdater
from kseeds.results import Work
from kseeds.runtime.threads import Workers


def draw(problem: Problem, schedule: Schedule, *, strategy: str | None = None) -> Draw:
    """Draw with one structure for all rounds.

    Parameters
    ----------
    problem : Problem
        What to seed.
    schedule : Schedule
        How much to draw.
    strategy : str, optional
        How rows are compared with candidates, one of `kseeds.nearest.choice.STRATEGIES`; chosen
        by default. Changes no candidate.
    """
    updater: NearestUpdater | None = None

    def update(centers: Points, nearest: Nearest, work: Work, workers: Workers) -> None:
        nonlocal updater
        if updater is None:
            expected = 1 + schedule.oversampling * problem.n_clusters * schedule.rounds
            job = Job(problem.points, problem.metric, workers, expected, schedule.rounds)
            updater = NearestUpdater(job, strategy)
        counts = updater.update(nearest, centers, nearest.n_compared)
        work.distances += counts.distances
        work.tree_nodes += counts.nodes

    return rounds.draw(problem, schedule, update, lazy.draw, greedy.draw)


METHOD = Method(draw, {"strategy": STRATEGIES}, takes_sparse=True)
