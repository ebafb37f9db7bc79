"""Which strategy to take for a job: what is possible, and what is soonest done."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from kseeds.distances.metrics import Family, FloatArray, Metric
from kseeds.nearest import costs
from kseeds.nearest.base import Strategy
from kseeds.nearest.projection import Components, Projection, principal_components
from kseeds.runtime import compile_policy
from kseeds.runtime.block_sizes import LANES
from kseeds.runtime.memmap import is_mapped
from kseeds.runtime.threads import Workers

_TREE_DIMENSIONS = 8
_TREE_ROWS = 8192
_TREE_COMPONENTS = 7
_SCAN_COMPONENTS = (8, 16, 32, 64)


@dataclass(frozen=True)
class Job:
    """Rows to be compared with about ``expected`` centres, in so many ``batches``."""

    points: FloatArray
    metric: Metric
    workers: Workers
    expected: float
    batches: int = 1

    @cached_property
    def components(self) -> Components:
        """The leading principal components of the rows."""
        return principal_components(self.points, _SCAN_COMPONENTS[-1])


def _plain(job: Job) -> Strategy:
    from kseeds.nearest.plain import Plain

    return Plain(job.points, job.metric)


def _brute(job: Job) -> Strategy:
    from kseeds.nearest.brute_force import BruteForce

    return BruteForce(job.points, job.metric)


def _tree(job: Job) -> Strategy:
    from kseeds.nearest.point_tree import PointTree

    return PointTree(job.points, job.metric, job.workers)


def _projected_tree(job: Job) -> Strategy:
    from kseeds.nearest.point_tree import PointTree

    components, enough = job.components, _TREE_COMPONENTS
    while enough > 1 and components.unexplained(enough - 1) <= costs.PROJECTED_TREE_ENOUGH:
        enough -= 1
    projection = Projection(components.leading(enough))
    return PointTree(job.points, job.metric, job.workers, projection)


def _projected_scan(job: Job) -> Strategy:
    from kseeds.nearest.projected_scan import ProjectedScan

    count = _telling(job.components) or min(_SCAN_COMPONENTS[0], job.points.shape[1])
    return ProjectedScan(job.points, job.metric, job.workers, job.components.leading(count))


def _gemm(job: Job) -> Strategy:
    from kseeds.nearest.gemm import Gemm

    return Gemm(job.points, job.metric, principal_components(job.points, 0).mean)


def _vantage(job: Job) -> Strategy:
    from kseeds.nearest.vantage_tree import CenterTrees

    return CenterTrees(job.points, job.metric)


BUILDERS: dict[str, Callable[[Job], Strategy]] = {
    "plain": _plain,
    "brute": _brute,
    "tree": _tree,
    "projected_tree": _projected_tree,
    "projected_scan": _projected_scan,
    "gemm": _gemm,
    "vantage": _vantage,
}
"""The strategies by name. A new one is a file, and a line here."""
STRATEGIES = tuple(BUILDERS)
ANY_METRIC = ("plain", "brute", "vantage")
"""The others are Euclidean."""


def possible(job: Job, strategy: str) -> str:
    """Return ``strategy``, or what can stand in for it: functions are plain, for example."""
    if job.metric.function is not None:
        return "plain"
    if job.metric.family is not Family.EUCLIDEAN and strategy not in ANY_METRIC:
        return "brute"
    if strategy == "tree" and job.points.shape[1] >= LANES:
        return "projected_tree"
    return strategy


def tree_is_possible(points: FloatArray, metric: Metric) -> bool:
    """Tell whether a tree over the points can be of use.

    A tree holds all rows in memory, which mapped ones may not fit in.
    """
    fits = _TREE_ROWS <= len(points) < 2**31 and points.shape[1] <= _TREE_DIMENSIONS
    return fits and metric.family is Family.EUCLIDEAN and not is_mapped(points)


def choose(job: Job) -> str:
    """Return the strategy with which the job is done first, kernels that must compile included."""
    if job.metric.function is not None:
        return "plain"
    plain = _seconds(job, "plain")
    if plain <= compile_policy.LOADING and not compile_policy.is_loaded():
        return "plain"  # without looking at the data: most first jobs are small
    best = fastest(job)
    candidates = [best]
    if best in ("tree", "projected_tree", "projected_scan"):
        candidates += ["gemm", "brute"]  # slower, and sooner compiled
    compiled = min(candidates, key=lambda one: _seconds(job, one) + _waiting(job, one))
    pays = compile_policy.pays(compiled, job.points.dtype, plain, _seconds(job, compiled))
    return compiled if pays else "plain"


def _waiting(job: Job, strategy: str) -> float:
    return compile_policy.waiting(strategy, job.points.dtype)


def _seconds(job: Job, strategy: str) -> float:
    """Estimate the time of a strategy whose kernels are compiled."""
    points, metric, expected, batches = job.points, job.metric, job.expected, job.batches
    brute_force = expected * costs.pair(points, metric)
    nanoseconds = {
        "plain": lambda: costs.plain(points, metric, expected, batches),
        "brute": lambda: brute_force,
        "tree": lambda: costs.tree(points, expected, batches),
        "projected_scan": lambda: costs.projected_scan(points, 8, expected, batches),
        "gemm": lambda: costs.gemm(points, expected, batches),
    }.get(strategy, lambda: costs.PRUNED[strategy] * brute_force)()
    return 1e-9 * nanoseconds * len(points) / job.workers.n_threads


def fastest(job: Job) -> str:
    """Return the strategy that is fastest once its kernels are compiled."""
    points, metric, expected, batches = job.points, job.metric, job.expected, job.batches
    brute_force = expected * costs.pair(points, metric)
    if metric.family is not Family.EUCLIDEAN:
        return "vantage" if brute_force >= batches * costs.BATCH_PAYS["vantage"] else "brute"
    if not _TREE_ROWS <= len(points) < 2**31:
        return "brute"
    gemm = costs.gemm(points, expected, batches)
    if is_mapped(points):
        return "gemm" if gemm < brute_force else "brute"
    if tree_is_possible(points, metric):
        return "tree" if costs.tree(points, expected, batches) <= brute_force else "brute"
    stopped = costs.stopped(points, metric, expected, batches)
    if brute_force >= costs.PROJECTED_TREE_PAYS + 3.0 * costs.components(points):
        if job.components.unexplained(_TREE_COMPONENTS) <= costs.PROJECTED_TREE_LEAVES:
            return "projected_tree"
    else:
        at_best = costs.projected_scan(points, _SCAN_COMPONENTS[0], expected, batches)
        if min(gemm, stopped) <= at_best:
            return "gemm" if gemm < stopped else "brute"
    count = _telling(job.components)
    scan = costs.projected_scan(points, count, expected, batches) if count else math.inf
    if stopped <= min(scan, gemm):
        return "brute"
    return "projected_scan" if scan < gemm else "gemm"


def _telling(components: Components) -> int:
    """Return how many components explain most of the variance; 0 if none of a few counts do."""
    for count in _SCAN_COMPONENTS:
        if (
            count < len(components.mean)
            and components.unexplained(count) <= costs.PROJECTED_SCAN_LEAVES
        ):
            return count
    return 0
