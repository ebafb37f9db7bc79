"""Greedy k-means++ by the fastest exact strategy for the shape of the data.

All strategies draw the candidates of the naive algorithm, and find the winner that it finds: they
share its random numbers, its tree of sums and its tie rule. Gains are summed in other orders, so
they could only differ where two gains differ by the share that makes a tie to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from kseeds.distances.metrics import Family, FloatArray
from kseeds.distances.sparse_rows import is_sparse
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


def _columns(problem: Problem, trials: int, job: Job) -> Rows:
    from kseeds.methods.greedy.columns import ColumnRows

    return ColumnRows(problem, trials, job.workers)


def _pool(problem: Problem, trials: int, job: Job) -> Rows:
    from kseeds.methods.greedy.pool import PoolRows

    return PoolRows(problem, trials, job.workers)


def _projected_scan(problem: Problem, trials: int, job: Job) -> Rows:
    return _scan(problem, trials, job, job.components.leading(_SCAN_COMPONENTS))


def _tree(problem: Problem, trials: int, job: Job, components: Components | None = None) -> Rows:
    from kseeds.methods.greedy.tree import TreeRows

    return TreeRows(problem, trials, job.workers, components)


def _projected_tree(problem: Problem, trials: int, job: Job) -> Rows:
    return _tree(problem, trials, job, job.components.leading(_TREE_COMPONENTS))


def _postings(problem: Problem, trials: int, job: Job) -> Rows:
    from kseeds.methods.greedy.postings import PostingRows

    return PostingRows(problem, job.workers)


_BUILDERS: dict[str, Callable[[Problem, int, Job], Rows]] = {
    "naive": _naive,
    "postings": _postings,
    "plain": _plain,
    "columns": _columns,
    "scan": _scan,
    "pool": _pool,
    "projected_scan": _projected_scan,
    "tree": _tree,
    "projected_tree": _projected_tree,
}
STRATEGIES = tuple(_BUILDERS)[2:]
"""How rows are compared with candidates; the naive way is for what they cannot do.

Sparse rows have "postings", which stands in for all of these but "plain".
"""
_KERNELS = {
    "postings": "greedy_postings",
    "columns": "greedy_columns",
    "scan": "greedy_scan",
    "pool": "greedy_pool",
    "projected_scan": "greedy_scan",
    "tree": "greedy_tree",
    "projected_tree": "greedy_projected_tree",
}


def _possible(problem: Problem, trials: int, strategy: str) -> str:
    """Return ``strategy``, or what can stand in for it: functions are naive, for example."""
    metric, d = problem.metric, problem.points.shape[1]
    if is_sparse(problem.points):
        return "naive" if strategy in ("naive", "plain") else "postings"
    if metric.function is not None or trials > scan.MOST:
        return "naive"
    if metric.family is not Family.EUCLIDEAN:
        return "naive" if strategy in ("naive", "plain") else "scan"
    return "projected_tree" if strategy == "tree" and d >= LANES else strategy


def _choose(problem: Problem, trials: int, job: Job) -> str:
    """Return the strategy with which the job is done first, kernels that must compile included."""
    points, metric, k = problem.points, problem.metric, problem.n_clusters
    if is_sparse(points):
        naive_seconds, seconds_ = (
            1e-9 * k * len(points) * cost(points, trials) / job.workers.n_threads
            for cost in (costs.greedy_sparse_naive, costs.greedy_postings)
        )
        pays = compile_policy.pays("greedy_postings", points.dtype, naive_seconds, seconds_)
        return "postings" if pays else "naive"
    if metric.function is not None or trials > scan.MOST:
        return "naive"
    is_euclidean = metric.family is Family.EUCLIDEAN

    def seconds_of(strategy: str, row: float, threads: int = job.workers.n_threads) -> float:
        return 1e-9 * k * (len(points) * row / threads + costs.GREEDY_STEP[strategy])

    uncompiled = {"naive": seconds_of("naive", costs.greedy_naive(points, trials))}
    if is_euclidean:
        uncompiled["plain"] = seconds_of("plain", costs.greedy_plain(points, trials))
    without = min(uncompiled, key=uncompiled.__getitem__)
    plain = uncompiled[without]
    if not compile_policy.is_loaded():
        so_far = compile_policy.spent("greedy_scan", points.dtype)
        if plain + so_far <= compile_policy.FROM_DISK:
            return without  # most first jobs are small
    seconds = {"scan": seconds_of("scan", costs.greedy_scan(points, metric, trials))}
    if is_euclidean:
        floor = _without_structure(points)
        if floor == "columns":
            seconds["columns"] = seconds_of("columns", costs.greedy_columns(points, trials), 1)
        best = _with_structure(problem, trials, job, seconds[floor])
        if best is not None:
            seconds[best] = seconds[floor] * costs.GREEDY_PRUNED[best]
    dtype = points.dtype
    compiled = min(
        seconds, key=lambda one: seconds[one] + compile_policy.waiting(_KERNELS[one], dtype)
    )
    pays = compile_policy.pays(_KERNELS[compiled], dtype, plain, seconds[compiled])
    return compiled if pays else without


def _without_structure(points: FloatArray) -> str:
    """Return what looks at all rows: columns are a copy of them, which must not be large."""
    is_small = points.nbytes <= costs.GREEDY_COPIED and not is_mapped(points)
    return "columns" if is_small else "scan"


def _with_structure(problem: Problem, trials: int, job: Job, floor: float) -> str | None:
    """Return the strategy that is faster than ``floor`` seconds by the structure of the data."""
    points, k, d = problem.points, problem.n_clusters, problem.points.shape[1]
    # All of it is per row, in nanoseconds of one thread, as the cost model has it.
    scanned = 1e9 * floor * job.workers.n_threads / len(points)
    if tree_is_possible(points, problem.metric):
        # At best a tree is built, and little else: the data is only looked at if that would pay.
        if scanned <= costs.greedy_tree(points, k, trials, 0.0) + costs.probe(points):
            return None
        tree = costs.greedy_tree(points, k, trials, job.dimension)
        return "tree" if tree < scanned else None
    looking = costs.probe(points) + costs.components(points)
    is_large = costs.GREEDY_ROWS <= len(points) < 2**31 and not is_mapped(points)
    if not is_large or d < LANES or scanned <= costs.GREEDY_PROJECTING + 2.0 * looking:
        return None
    if job.components.unexplained(_TREE_COMPONENTS) <= costs.PROJECTED_TREE_LEAVES:
        return "projected_tree"
    if d >= costs.GREEDY_MANY_COLUMNS and k >= costs.GREEDY_MANY_SEEDS:
        left_open = job.sample.left_open(job.components.directions[:, :_SCAN_COMPONENTS])
        if left_open <= costs.GREEDY_LEFT_OPEN:
            return "projected_scan"
    return None


METHOD = Method(draw, {"strategy": STRATEGIES}, takes_sparse=True)
