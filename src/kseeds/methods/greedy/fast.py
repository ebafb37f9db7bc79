"""Greedy k-means++ by the fastest exact strategy for the shape of the data.

All strategies draw the candidates of the naive algorithm, and find the winner that it finds: they
share its random numbers, its tree of sums and its tie rule. Gains are summed in other orders, so
they could only differ where two gains differ by the share that makes a tie to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from kseeds.distances.metrics import Family
from kseeds.inputs.problem import Problem
from kseeds.methods.base import Draw, Method
from kseeds.methods.greedy import naive, scan, steps
from kseeds.methods.greedy.rule import trials_for
from kseeds.methods.greedy.steps import Rows
from kseeds.nearest import costs
from kseeds.nearest.choice import Job, tree_is_possible
from kseeds.nearest.projection import Components
from kseeds.runtime import compile_policy
from kseeds.runtime.block_sizes import LANES
from kseeds.runtime.memmap import is_mapped
from kseeds.runtime.threads import Workers
from kseeds.sampling.streams import Purpose

_TREE_COMPONENTS = 7
_SCAN_COMPONENTS = 63
_SMALL = 1 << 14
"""Distances of a step up to which calls of anything cost more than they."""


def draw(
    problem: Problem,
    n_local_trials: int | None = None,
    purpose: Purpose = Purpose.GREEDY,
    *,
    strategy: str | None = None,
) -> Draw:
    """Draw up to ``n_clusters`` rows; fewer if the rest coincide with centres.

    Parameters
    ----------
    problem : Problem
        What to seed.
    n_local_trials : int, optional
        Candidates drawn per step; 2 + ⌊ln k⌋ by default.
    purpose : Purpose
        Which random numbers to use.
    strategy : str, optional
        How rows are compared with candidates, one of `STRATEGIES`; chosen by default. Changes no
        seed.
    """
    trials = trials_for(problem.n_clusters, n_local_trials)
    with Workers(problem.n_threads) as workers:
        job = Job(problem.points, problem.metric, workers, problem.n_clusters)
        name = _possible(problem, trials, strategy or _choose(problem, trials, job))
        with _noted(problem, name):
            rows = _BUILDERS[name](problem, trials, job)
            return steps.draw(problem, trials, purpose, rows, workers)


def _noted(problem: Problem, strategy: str) -> AbstractContextManager[None]:
    """Have it noted which kernels are used, or what plain NumPy takes in their place."""
    dtype = problem.points.dtype
    if strategy in _KERNELS:
        return compile_policy.using(_KERNELS[strategy], dtype)
    return compile_policy.in_place_of(sorted(set(_KERNELS.values())), dtype)


def _naive(problem: Problem, trials: int, job: Job) -> Rows:
    return naive.rows_of(problem, trials, job.workers)


def _plain(problem: Problem, trials: int, job: Job) -> Rows:
    from kseeds.methods.greedy.scan_plain import Plain

    return scan.ScannedRows(problem, job.workers, Plain(job.workers))


def _scan(problem: Problem, trials: int, job: Job, components: Components | None = None) -> Rows:
    from kseeds.methods.greedy.scan_compiled import Compiled

    return scan.ScannedRows(problem, job.workers, Compiled(job.workers), components)


def _projected_scan(problem: Problem, trials: int, job: Job) -> Rows:
    return _scan(problem, trials, job, job.components.leading(_SCAN_COMPONENTS))


def _tree(problem: Problem, trials: int, job: Job, components: Components | None = None) -> Rows:
    from kseeds.methods.greedy.tree import TreeRows

    return TreeRows(problem, trials, job.workers, components)


def _projected_tree(problem: Problem, trials: int, job: Job) -> Rows:
    return _tree(problem, trials, job, job.components.leading(_TREE_COMPONENTS))


_BUILDERS: dict[str, Callable[[Problem, int, Job], Rows]] = {
    "naive": _naive,
    "plain": _plain,
    "scan": _scan,
    "projected_scan": _projected_scan,
    "tree": _tree,
    "projected_tree": _projected_tree,
}
STRATEGIES = tuple(_BUILDERS)[1:]
"""How rows are compared with candidates; the naive way is for what they cannot do."""
_KERNELS = {
    "scan": "greedy_scan",
    "projected_scan": "greedy_scan",
    "tree": "greedy_tree",
    "projected_tree": "greedy_projected_tree",
}


def _possible(problem: Problem, trials: int, strategy: str) -> str:
    """Return ``strategy``, or what can stand in for it: functions are naive, for example."""
    metric, d = problem.metric, problem.points.shape[1]
    if metric.function is not None or trials > scan.MOST:
        return "naive"
    if metric.family is not Family.EUCLIDEAN:
        return "naive" if strategy in ("naive", "plain") else "scan"
    return "projected_tree" if strategy == "tree" and d >= LANES else strategy


def _choose(problem: Problem, trials: int, job: Job) -> str:
    """Return the strategy with which the job is done first, kernels that must compile included."""
    points, metric, k = problem.points, problem.metric, problem.n_clusters
    n = len(points)
    if metric.function is not None or trials > scan.MOST:
        return "naive"
    turns = 1e-9 * n * k / job.workers.n_threads
    naive_ = turns * costs.greedy_naive(points, trials) + 6e-5 * k
    plain = min(naive_, turns * costs.greedy_plain(points, trials) + 3e-4 * k)
    if metric.family is not Family.EUCLIDEAN or n * trials <= _SMALL:
        plain = naive_
    without = "naive" if plain == naive_ else "plain"
    if plain <= compile_policy.FROM_DISK and not compile_policy.is_loaded():
        return without  # most first jobs are small
    scanned = turns * costs.greedy_scan(points, metric, trials) + 1.2e-4 * k
    best = _fastest(problem, trials, job) if metric.family is Family.EUCLIDEAN else "scan"
    seconds = {"scan": scanned}
    if best != "scan":
        seconds[best] = scanned * costs.GREEDY_PRUNED[best]
    dtype = points.dtype
    compiled = min(
        seconds, key=lambda one: seconds[one] + compile_policy.waiting(_KERNELS[one], dtype)
    )
    pays = compile_policy.pays(_KERNELS[compiled], dtype, plain, seconds[compiled])
    return compiled if pays else without


def _fastest(problem: Problem, trials: int, job: Job) -> str:
    """Return the strategy that is fastest once its kernels are compiled; Euclidean."""
    points, k = problem.points, problem.n_clusters
    d = points.shape[1]
    scanned = k * costs.greedy_scan(points, problem.metric, trials)
    if tree_is_possible(points, problem.metric):
        # At best a tree is built, and little else: the data is only looked at if that would pay.
        if scanned <= costs.greedy_tree(points, k, trials, 0.0) + costs.probe(points):
            return "scan"
        tree = costs.greedy_tree(points, k, trials, job.dimension)
        return "tree" if tree < scanned else "scan"
    looking = costs.probe(points) + costs.components(points)
    is_large = len(points) >= costs.GREEDY_ROWS and not is_mapped(points)
    if not is_large or d < LANES or scanned <= costs.GREEDY_PROJECTING + 2.0 * looking:
        return "scan"
    if job.components.unexplained(_TREE_COMPONENTS) <= costs.PROJECTED_TREE_LEAVES:
        return "projected_tree"
    if d >= costs.GREEDY_MANY_COLUMNS and k >= costs.GREEDY_MANY_SEEDS:
        left_open = job.sample.left_open(job.components.directions[:, :_SCAN_COMPONENTS])
        if left_open <= costs.GREEDY_LEFT_OPEN:
            return "projected_scan"
    return "scan"


METHOD = Method(draw, {"strategy": STRATEGIES})
