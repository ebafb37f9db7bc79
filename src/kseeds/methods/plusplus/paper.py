"""Algorithm 2 of the paper: triangle pruning and the dynamic priority queue.

Same clocks, same seeds as the oracle, index for index; fewer distances, and a glance at a
few rows instead of all of them to find the next seed.
"""

from __future__ import annotations

import numpy as np

from kseeds.distances.metrics import prune_limits
from kseeds.inputs.problem import Problem
from kseeds.methods.base import Draw, Method
from kseeds.nearest.state import Nearest
from kseeds.results import Work
from kseeds.runtime.threads import Workers
from kseeds.sampling.clock_queue import PreparedQueue
from kseeds.sampling.clocks import longest_wait, start_clocks
from kseeds.sampling.streams import Purpose


def draw(
    problem: Problem,
    purpose: Purpose = Purpose.CLOCK,
    *,
    keys: str = "clock",
    queue: bool = True,
) -> Draw:
    """Draw up to ``n_clusters`` rows; fewer if the rest coincide with centres.

    Parameters
    ----------
    problem : Problem
        What to seed.
    purpose : Purpose
        Which random numbers to use.
    keys : {"clock", "printed"}
        "printed" keys the queue by λ/(w·α²) with one λ per row for all rounds, as the paper
        prints it. That does **not** draw from the k-means++ distribution; it exists to
        reproduce the paper and to show its bias (docs/exactness.md).
    queue : bool
        False looks at every key in every round, the ablation of the paper's Table 2.

    References
    ----------
    E. Raff, "Exact Acceleration of K-Means++ and K-Means||", IJCAI 2021, Algorithm 2.
    """
    from kseeds.distances.pair_kernels import squared_distances_to_earlier
    from kseeds.methods.plusplus.paper_kernels import pruned_update

    points, k, metric = problem.points, problem.n_clusters, problem.metric
    n, m = len(points), len(problem.initial)
    family = metric.kernel_family
    clocks = start_clocks(problem.stream, purpose, n, problem.weights)
    centers = np.empty((m + k, points.shape[1]), dtype=points.dtype)
    centers[:m] = problem.initial
    nearest = Nearest.empty(points)
    work = Work()

    with Workers(problem.n_threads) as workers:

        def compare(new: int, now: float) -> None:
            between = np.empty(new, dtype=points.dtype)
            squared_distances_to_earlier(centers, new, family, between)
            # The new seed is its own centre already, at 0, and is not compared with itself.
            limits = np.append(prune_limits(metric, between), points.dtype.type(0.0))

            def task(start: int, stop: int) -> int:
                computed: int = pruned_update(
                    points, start, stop, centers, new, family, limits, now,
                    nearest.squared, nearest.labels, clocks,
                )  # fmt: skip
                return computed

            counts = workers.over_blocks(task, n)
            nearest.n_compared = new + 1
            work.seed_distances += new
            work.distances += new + sum(counts)

        for j in range(m):
            compare(j, 0.0)
        # Rates fall from the first centre on; before it they are weights, and comparing may
        # well raise them. So the queue, which needs keys that only grow, starts after it.
        pending: PreparedQueue | None = None
        indices: list[int] = []
        since = 0.0
        longest = longest_wait(nearest.squared, problem.weights, metric, nearest.n_compared)
        while len(indices) < k:
            problem.progress.update(len(indices), k, "seeds")
            if queue and pending is None and nearest.n_compared > 0:
                pending = PreparedQueue(clocks)
            new = int(np.argmin(clocks)) if pending is None else pending.pop()
            work.queue_examined.append(n if pending is None else pending.examined)
            if not clocks[new] - since < longest:
                break
            now = float(clocks[new])
            place = m + len(indices)
            indices.append(new)
            centers[place] = points[new]
            if len(indices) < k:
                # No distance is needed to know that a seed is at 0 from itself.
                since = now if nearest.n_compared else 0.0
                nearest.squared[new], nearest.labels[new], clocks[new] = 0.0, place, np.inf
                compare(place, now if keys == "clock" else 0.0)
                if len(indices) == 1:
                    longest = longest_wait(
                        nearest.squared, problem.weights, metric, nearest.n_compared
                    )
    problem.progress.update(k, k, "seeds")
    work.rounds = len(indices)
    return Draw(np.array(indices, dtype=np.int64), work, nearest)


METHOD = Method(
    draw, {"keys": ("clock", "printed"), "queue": (True, False)}, any_dissimilarity=False
)
