"""Greedy k-means++ by the fastest exact strategy for the shape of the data.

All strategies draw the candidates of the naive algorithm, and find the winner that it finds: they
share its random numbers, its tree of sums and its tie rule. Gains are summed in other orders, so
they could only differ where two gains differ by the share that makes a tie to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from kseeds.distances.metrics import Family
from kseeds.distances.sparse_rows import is_sparse
from kseeds.inputs.problem import Problem
from kseeds.methods.base import Draw, Method
from kseeds.methods.greedy import naive, scan, steps
from kseeds.methods.greedy.leading import leading_columns
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
_TREE_COLUMNS, _TREE_BYTES = 5, 32 << 20
"""Columns up to which a forest takes forty bytes a row at most, copies of the coordinates included,
and bytes of data up to which nobody need save them."""
_MOST_SPARSE = 256
"""Candidates of a step up to which there is room for what each has found of sparse rows."""


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


def _scan(problem: Problem, trials: int, job: Job) -> Rows:
    from kseeds.methods.greedy.scan_compiled import Compiled

    return scan.ScannedRows(problem, job.workers, Compiled(job.workers))


def _columns(problem: Problem, trials: int, job: Job) -> Rows:
    from kseeds.methods.greedy.columns import ColumnRows

    return ColumnRows(problem, trials, job.workers)


def _pool(problem: Problem, trials: int, job: Job) -> Rows:
    from kseeds.methods.greedy.pool import PoolRows

    return PoolRows(problem, trials, job.workers)


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
    "scan": _scan,
    "plain": _plain,
    "columns": _columns,
    "pool": _pool,
    "tree": _tree,
    "projected_tree": _projected_tree,
}
STRATEGIES = tuple(_BUILDERS)[3:]
"""How rows are compared with candidates; the naive way is for what they cannot do.

Sparse rows have "postings" and other metrics "scan", which stand in for all of these but "plain".
"""
_KERNELS = {
    "postings": "greedy_postings",
    "scan": "greedy_scan",
    "columns": "greedy_columns",
    "pool": "greedy_pool",
    "tree": "greedy_tree",
    "projected_tree": "greedy_projected_tree",
}


def _possible(problem: Problem, trials: int, strategy: str) -> str:
    """Return ``strategy``, or what can stand in for it: functions are naive, for example."""
    metric, d = problem.metric, problem.points.shape[1]
    if is_sparse(problem.points):
        is_naive = strategy in ("naive", "plain") or trials > _MOST_SPARSE
        return "naive" if is_naive else "postings"
    if metric.function is not None or trials > scan.MOST:
        return "naive"
    if metric.family is not Family.EUCLIDEAN:
        return "naive" if strategy in ("naive", "plain") else "scan"
    return "projected_tree" if strategy == "tree" and d >= LANES else strategy


def _choose(problem: Problem, trials: int, job: Job) -> str:
    """Return the strategy with which the job is done first, kernels that must compile included.

    Unless jobs before it would have repaid those; what this one loses by slower ones is noted.
    """
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
    is_euclidean, dtype = metric.family is Family.EUCLIDEAN, points.dtype
    uncompiled = {"naive": _seconds(problem, job, "naive", k * costs.greedy_naive(points, trials))}
    if is_euclidean:
        plain_row = k * costs.greedy_plain(points, trials)
        uncompiled["plain"] = _seconds(problem, job, "plain", plain_row)
    without = min(uncompiled, key=uncompiled.__getitem__)
    plain = uncompiled[without]
    if not compile_policy.is_loaded():
        so_far = compile_policy.spent("greedy_pool" if is_euclidean else "greedy_scan", dtype)
        if plain + so_far <= compile_policy.FROM_DISK:
            return without  # most first jobs are small
    strategies = {
        _KERNELS[name]: (name, _seconds(problem, job, name, row))
        for name, row in _compiled_costs(problem, trials, job).items()
    }
    seconds = {kernels: needed for kernels, (_, needed) in strategies.items()}
    first = compile_policy.first_done(seconds, dtype)
    if not compile_policy.pays(first, dtype, plain, seconds[first]):
        return without
    for one in seconds:
        compile_policy.note_loss(one, dtype, seconds[first] - seconds[one])
    return strategies[first][0]


def _seconds(problem: Problem, job: Job, strategy: str, row: float) -> float:
    """Return what a job takes, given nanoseconds a row of one thread for all steps."""
    threads = 1 if strategy == "columns" else job.workers.n_threads
    step = costs.GREEDY_STEP.get(strategy, 0.0)
    return 1e-9 * (len(problem.points) * row / threads + problem.n_clusters * step)


def _compiled_costs(problem: Problem, trials: int, job: Job) -> dict[str, float]:
    """Return what compiled strategies cost a row, in nanoseconds of one thread for all steps."""
    points, k, d = problem.points, problem.n_clusters, problem.points.shape[1]
    if problem.metric.family is not Family.EUCLIDEAN:
        return {"scan": k * costs.greedy_scan(points, problem.metric, trials)}
    pool = costs.greedy_pool(points, k, trials, len(leading_columns(points)))
    found = {"pool": pool}
    if points.nbytes <= costs.GREEDY_COPIED and not is_mapped(points):
        found["columns"] = k * costs.greedy_columns(points, trials)
    # The data is only looked at if that could pay: at best a tree is built, and little else.
    looking = costs.probe(points)
    if tree_is_possible(points, problem.metric):
        if d > _TREE_COLUMNS and points.nbytes > _TREE_BYTES:
            return found
        if min(found.values()) > costs.greedy_tree(points, k, trials, 0.0) + looking:
            found["tree"] = looking + costs.greedy_tree(points, k, trials, job.dimension)
        return found
    looking += costs.components(points)
    is_large = costs.GREEDY_ROWS <= len(points) < 2**31 and not is_mapped(points)
    projected = costs.greedy_projected_tree(points, k, trials)
    pays = is_large and d >= LANES and pool > projected + 2.0 * looking
    if pays and job.components.unexplained(_TREE_COMPONENTS) <= costs.PROJECTED_TREE_LEAVES:
        found["projected_tree"] = projected + looking
    return found


METHOD = Method(draw, {"strategy": STRATEGIES}, takes_sparse=True)
