"""Which algorithm of Lloyd's iteration to take for a job."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property

from kseeds.distances.metrics import Metric
from kseeds.distances.sparse_rows import Points, is_sparse
from kseeds.lloyd import costs, short
from kseeds.lloyd.base import Anew, Assigner
from kseeds.lloyd.small import Small, is_small
from kseeds.nearest import choice as nearest
from kseeds.nearest.costs import probe
from kseeds.runtime import compile_policy
from kseeds.runtime.block_sizes import LANES
from kseeds.runtime.threads import Workers

_BOUNDS_ROWS, _BOUNDS_CENTERS = 8192, 16
"""Rows and centres from which on bounds may pay."""


@dataclass(frozen=True)
class Job:
    """Rows that are to be clustered, in at most so many iterations."""

    points: Points
    metric: Metric
    workers: Workers
    n_clusters: int
    max_iter: int

    @property
    def iterations(self) -> int:
        """How many iterations to expect."""
        return min(self.max_iter, costs.ITERATIONS)

    @cached_property
    def comparing(self) -> nearest.Job:
        """What it takes to compare all rows with all centres in every iteration."""
        pairs = self.iterations * self.n_clusters
        return nearest.Job(
            self.points, self.metric, self.workers, pairs, self.iterations, costs.ROOM, True
        )


def _naive(job: Job) -> Assigner:
    from kseeds.lloyd.naive import Naive

    return Naive(job.points, job.metric)


def _gemm(job: Job) -> Anew:
    if _is_short(job):
        return short.Short(job.points)
    if is_small(job.points, job.metric, job.n_clusters):
        return Small(job.points)
    from kseeds.lloyd import by_products
    from kseeds.lloyd.by_strategy import ByStrategy

    pairs = job.iterations * job.n_clusters
    strategy = nearest.without_structure(job.comparing, pairs, job.iterations)
    if strategy == "plain" and by_products.is_possible(job.comparing):
        return by_products.ByProducts(job.comparing)
    return ByStrategy(job.comparing, "gemm" if strategy == "brute" else strategy)


def _tree(job: Job, *, is_forced: bool = True) -> Assigner:
    if is_sparse(job.points):
        return _gemm(job)
    if job.points.shape[1] >= LANES:  # a tree over the points is for fewer columns
        return _bounds(job)
    from kseeds.lloyd.switching import Switching
    from kseeds.lloyd.tree import TreeAssigner

    tree = TreeAssigner(job.points, job.metric, job.workers)
    if is_forced:
        return tree
    most = costs.most_pairs(job.points, job.n_clusters, job.iterations)
    return Switching(tree, lambda: _gemm(job), most)


def _bounds(job: Job, *, is_forced: bool = True) -> Assigner:
    if is_sparse(job.points):
        return _gemm(job)
    from kseeds.lloyd.bounds import Bounds

    return Bounds(job.comparing, job.n_clusters, is_forced=is_forced)


def _auto(job: Job) -> Assigner:
    chosen = choose(job)
    with_way_out = {"tree": _tree, "bounds": _bounds}.get(chosen)
    return BUILDERS[chosen](job) if with_way_out is None else with_way_out(job, is_forced=False)


BUILDERS: dict[str, Callable[[Job], Assigner]] = {
    "naive": _naive,
    "tree": _tree,
    "bounds": _bounds,
    "gemm": _gemm,
}
"""The algorithms by name. A new one is a file, and a line here."""
ALGORITHMS = tuple(BUILDERS)


def build(job: Job, algorithm: str) -> Assigner:
    """Return an algorithm, or the one that is done first for "auto"."""
    return _auto(job) if algorithm == "auto" else BUILDERS[algorithm](job)


def choose(job: Job) -> str:
    """Return the algorithm that is done first, kernels that must be compiled included."""
    if is_sparse(job.points) or is_small(job.points, job.metric, job.n_clusters) or _is_short(job):
        return "gemm"
    plain = nearest.seconds(job.comparing, "plain")
    if plain <= compile_policy.LOADING and not compile_policy.is_loaded():
        return "gemm"  # without looking at the data, and by plain products
    gemm = costs.gemm(job.points, job.n_clusters, job.iterations)
    per_row = 1e-9 * len(job.points) / job.workers.n_threads
    if nearest.tree_is_possible(job.points, job.metric):
        # At best a tree is built, and little else: the data is only looked at if that would pay.
        shape = (job.points, job.n_clusters, job.iterations)
        if gemm > costs.tree(*shape, 0.0) + probe(job.points):
            tree = costs.tree(*shape, job.comparing.dimension)
            if tree < gemm and _pays("lloyd_tree", job, plain, per_row * tree):
                return "tree"
        return "gemm"
    if len(job.points) < _BOUNDS_ROWS or job.n_clusters < _BOUNDS_CENTERS:
        return "gemm"
    bounds = job.iterations * costs.bounds(job.points, job.n_clusters, 0.1 * job.n_clusters)
    if bounds < gemm and _pays("lloyd_bounds", job, plain, per_row * bounds):
        return "bounds"
    return "gemm"


def _is_short(job: Job) -> bool:
    """Tell whether many iterations are done in one call of a kernel that is there, or pays."""
    comparing, k = job.comparing, job.n_clusters
    return short.is_possible(comparing, k) and short.pays(comparing, k)


def in_place_of_short(job: Job, assigner: Assigner) -> AbstractContextManager[None]:
    """Have it noted what a short fit takes whose kernels are not there."""
    if isinstance(assigner, short.Short) or not short.is_possible(job.comparing, job.n_clusters):
        return nullcontext()
    return compile_policy.in_place_of([short.KERNEL_SET], job.points.dtype)


def _pays(kernel_set: str, job: Job, plain: float, compiled: float) -> bool:
    return compile_policy.pays(kernel_set, job.points.dtype, plain, compiled)
