"""Which strategy to take for a job: what is possible, and what takes the least time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from kseeds.distances.metrics import Family, Metric
from kseeds.distances.sparse_rows import Points, is_sparse
from kseeds.nearest import costs
from kseeds.nearest.base import Strategy
from kseeds.nearest.projection import Components, Projection, center_of, principal_components
from kseeds.nearest.structure import Sample
from kseeds.runtime import compile_policy, registers
from kseeds.runtime.block_sizes import LANES
from kseeds.runtime.memmap import is_mapped
from kseeds.runtime.threads import Workers

_TREE_DIMENSIONS = 8
_TREE_ROWS = 8192
_TREE_COMPONENTS = 7
_SCAN_COMPONENTS = {"projected_scan": (8, 16, 32, 64), "quantized_scan": (15, 31, 63)}
"""With the norm of the rest, the latter are whole words."""
_TREE_KEEPS = 25
"""Numbers that a tree over projections keeps of a row, while it is built."""
_MOST_KEPT, _LITTLE = 64 << 20, 2 << 20
"""Bytes that rows in steps may take, if they are kept, and that nobody need save."""
_MOST_BYTES = 1 << 16
"""Columns up to which no sum of products of bytes exceeds 2³¹."""


@dataclass(frozen=True)
class Job:
    """Rows to be compared with about ``expected`` centres, in so many ``batches``."""

    points: Points
    metric: Metric
    workers: Workers
    expected: float
    batches: int = 1
    room: float = math.inf
    """Bytes per row that may be kept beside the rows; in any case an eighth of theirs, and some."""
    of_means: bool = False
    """Whether centres are means, which are nearer to rows than other rows are."""

    @cached_property
    def sample(self) -> Sample:
        """A sample of the rows that tells of their structure."""
        return Sample(self.points)

    @cached_property
    def dimension(self) -> float:
        """About how many dimensions the rows fill."""
        return self.sample.dimension()

    @cached_property
    def components(self) -> Components:
        """The leading principal components of the rows."""
        return principal_components(self.points)

    @property
    def keeps_steps(self) -> bool:
        """Whether rows are kept in steps between batches of products of bytes."""
        kept = self._columns + 4 + 2 * self.points.itemsize
        is_small = kept * len(self.points) <= _MOST_KEPT
        return self.batches > 1 and is_small and self.has_room(kept)

    def has_room(self, per_row: float) -> bool:
        """Tell whether so many bytes per row may be kept."""
        allowed = int(self.points.nbytes) / 8 + _LITTLE
        return per_row <= self.room or per_row * len(self.points) <= allowed

    @cached_property
    def projected_scan(self) -> tuple[float, int]:
        """What a projected scan costs, and the best number of components for it."""
        return self._best_scan("projected_scan", costs.projected_scan, self.sample.left_open)

    @cached_property
    def quantized_scan(self) -> tuple[float, int]:
        """The same for one by products of bytes."""
        left_open = self.sample.left_open_in_steps
        return self._best_scan("quantized_scan", costs.quantized_scan, left_open)

    @cached_property
    def projected_tree(self) -> float:
        """What a tree over projections costs; infinite where they leave out too much."""
        components = self.components.leading(_TREE_COMPONENTS)
        if components.unexplained(_TREE_COMPONENTS) > costs.PROJECTED_TREE_LEAVES:
            return math.inf
        left_open = self.sample.left_open(components.directions)
        return costs.projected_tree(
            self.points, self.expected, self.batches, self.dimension, left_open
        )

    def _best_scan(
        self, name: str, cost: Callable[..., float], left_open: Callable[..., float]
    ) -> tuple[float, int]:
        best, of_best = math.inf, 0
        for count in _SCAN_COMPONENTS[name]:
            job = (self.points, count, self.expected, self.batches)
            # More components cost more, even where they leave nothing open.
            is_best = count < self._columns and cost(*job, 0.0) < best
            if not (is_best and self._has_room_for(name, count)):
                break
            share = left_open(self.components.directions[:, :count])
            share *= costs.OF_MEANS if self.of_means else 1.0
            best, of_best = min((best, of_best), (cost(*job, share), count))
        return best, of_best

    def _has_room_for(self, scan: str, count: int) -> bool:
        """Tell whether projections on so many components may be kept."""
        width = self.points.itemsize
        kept = count + 5 + 2 * width if scan == "quantized_scan" else count * width + 8
        return self.has_room(kept)

    @cached_property
    def fastest(self) -> str:
        """The strategy that is fastest once its kernels are compiled."""
        return fastest(self)

    def one_batch(self, n_centers: int) -> Job:
        """Return the job of one batch, with what was found out about the rows."""
        job = replace(self, expected=n_centers, batches=1)
        for known in ("sample", "dimension", "components"):
            if known in self.__dict__:
                job.__dict__[known] = self.__dict__[known]
        return job

    @property
    def _columns(self) -> int:
        return int(self.points.shape[1])


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

    few = job.points.shape[1] <= _SCAN_COMPONENTS["projected_scan"][0]
    count = job.points.shape[1] if few else job.projected_scan[1]
    return ProjectedScan(job.points, job.metric, job.workers, job.components.leading(count))


def _gemm(job: Job) -> Strategy:
    from kseeds.nearest.gemm import Gemm

    return Gemm(job.points, job.metric, center_of(job.points))


def _quantized(job: Job) -> Strategy:
    from kseeds.nearest.quantized import Quantized

    return Quantized(job.points, job.metric, center_of(job.points), job.keeps_steps)


def _quantized_scan(job: Job) -> Strategy:
    from kseeds.nearest.quantized_scan import QuantizedScan

    components = job.components.leading(job.quantized_scan[1])
    return QuantizedScan(job.points, job.metric, job.workers, components)


def _vantage(job: Job) -> Strategy:
    from kseeds.nearest.vantage_tree import CenterTrees

    return CenterTrees(job.points, job.metric)


def _inverted(job: Job) -> Strategy:
    from kseeds.nearest.inverted import Inverted

    return Inverted(job.points, job.metric)


BUILDERS: dict[str, Callable[[Job], Strategy]] = {
    "plain": _plain,
    "brute": _brute,
    "tree": _tree,
    "projected_tree": _projected_tree,
    "projected_scan": _projected_scan,
    "gemm": _gemm,
    "quantized": _quantized,
    "quantized_scan": _quantized_scan,
    "vantage": _vantage,
    "inverted": _inverted,
}
"""The strategies by name. A new one is a file, and a line here."""
STRATEGIES = tuple(BUILDERS)[:-1]
"""Those of dense rows, which a job may ask for; sparse ones have "inverted", and "plain"."""
ANY_METRIC = ("plain", "brute", "vantage")
"""The others are Euclidean."""


def possible(job: Job, strategy: str) -> str:
    """Return ``strategy``, or what can stand in for it: functions are plain, for example."""
    if job.metric.function is not None:
        return "plain"
    if is_sparse(job.points):
        return "plain" if strategy == "plain" else "inverted"
    if job.metric.family is not Family.EUCLIDEAN and strategy not in ANY_METRIC:
        return "brute"
    if strategy == "tree" and job.points.shape[1] >= LANES:
        return "projected_tree"
    if strategy.startswith("quantized") and not LANES <= job.points.shape[1] <= _MOST_BYTES:
        return "gemm"
    return strategy


def tree_is_possible(points: Points, metric: Metric) -> bool:
    """Tell whether a tree over the points can be of use.

    A tree holds all rows in memory, which mapped ones may not fit in.
    """
    fits = _TREE_ROWS <= len(points) < 2**31 and points.shape[1] <= _TREE_DIMENSIONS
    return fits and metric.family is Family.EUCLIDEAN and not is_mapped(points)


def choose(job: Job) -> str:
    """Return the strategy with which the job is done first, kernels that must compile included.

    Unless jobs before it would have repaid those: see `kseeds.runtime.compile_policy`.
    """
    if job.metric.function is not None:
        return "plain"
    if is_sparse(job.points):
        return _or_plain(job, ["inverted"], seconds(job, "plain"))
    plain = seconds(job, "plain")
    if not compile_policy.is_loaded():
        so_far = compile_policy.spent("brute", job.points.dtype)
        if plain + so_far <= compile_policy.LOADING:
            return "plain"  # without looking at the data: most first jobs are small
    best = job.fastest
    others = list(_without_structure(job))
    if best not in ("tree", "projected_tree", "projected_scan", "quantized_scan"):
        # No slower ones are worth compiling, but those that are ready may do.
        others = [one for one in others if not compile_policy.waiting(one, job.points.dtype)]
    return _or_plain(job, list(dict.fromkeys([best, *others])), plain)


def note_loss(job: Job, strategy: str, n_centers: int) -> None:
    """Have it noted what a batch has lost because its kernels are not the fastest there are."""
    if strategy != job.fastest:
        lost = seconds(job, strategy) - seconds(job, job.fastest)
        compile_policy.note_loss(
            job.fastest, job.points.dtype, lost * n_centers / max(n_centers, job.expected)
        )


def seconds(job: Job, strategy: str) -> float:
    """Estimate the time of a strategy whose kernels are compiled."""
    points, metric, expected, batches = job.points, job.metric, job.expected, job.batches
    if is_sparse(points):
        costs_of = {"plain": costs.sparse_plain, "inverted": costs.inverted}[strategy]
        return 1e-9 * costs_of(points, expected) * len(points) / job.workers.n_threads
    nanoseconds = {
        "plain": lambda: costs.plain(points, metric, expected, batches),
        "brute": lambda: costs.stopped(points, metric, expected, batches),
        "tree": lambda: costs.tree(points, expected, batches, job.dimension),
        "projected_tree": lambda: job.projected_tree,
        "projected_scan": lambda: job.projected_scan[0],
        "gemm": lambda: costs.gemm(points, expected, batches),
        "quantized": lambda: costs.quantized(points, expected, batches, job.keeps_steps),
        "quantized_scan": lambda: job.quantized_scan[0],
        "vantage": lambda: costs.PRUNED * expected * costs.pair(points, metric),
    }[strategy]()
    return 1e-9 * nanoseconds * len(points) / job.workers.n_threads


def without_structure(job: Job, n_centers: int, batches: int = 1) -> str:
    """Return what compares so many centres first, kernels that must compile included.

    A job that compiles a tree begins with a batch of one centre, and may have no more of the kind:
    those are not worth kernels of their own.
    """
    batch = replace(job, expected=n_centers, batches=batches)
    candidates = ("inverted",) if is_sparse(job.points) else _without_structure(job)
    return _or_plain(batch, candidates, seconds(batch, "plain"))


def _without_structure(job: Job) -> tuple[str, ...]:
    """Return the strategies that build nothing, the fastest first where there is much to do."""
    if job.metric.family is not Family.EUCLIDEAN:
        return ("brute",)
    bytes_pay = registers.MULTIPLY_BYTES and possible(job, "quantized") == "quantized"
    return ("quantized", "gemm", "brute") if bytes_pay else ("gemm", "brute")


def _or_plain(job: Job, candidates: Sequence[str], plain: float) -> str:
    """Return the strategy that is first done, or "plain" if none repays compiling its kernels."""
    dtype, needed = job.points.dtype, {one: seconds(job, one) for one in candidates}
    compiled = compile_policy.first_done(needed, dtype)
    pays = compile_policy.pays(compiled, dtype, plain, needed[compiled])
    return compiled if pays else "plain"


def fastest(job: Job) -> str:
    """Return the strategy that is fastest once its kernels are compiled."""
    points, metric, expected, batches = job.points, job.metric, job.expected, job.batches
    brute_force = expected * costs.pair(points, metric)
    if metric.family is not Family.EUCLIDEAN:
        return "vantage" if brute_force >= batches * costs.BATCH_PAYS["vantage"] else "brute"
    floor = min(_without_structure(job), key=lambda one: seconds(job, one))
    without = 1e9 * seconds(job, floor) * job.workers.n_threads / len(points)
    if not _TREE_ROWS <= len(points) < 2**31 or is_mapped(points):
        return floor
    if tree_is_possible(points, metric):
        # At best a tree is built, and little else: the data is only looked at if that would pay.
        if without <= costs.tree(points, expected, batches, 0.0) + costs.probe(points):
            return floor
        return "tree" if costs.tree(points, expected, batches, job.dimension) < without else floor
    name, cost_of = "projected_scan", costs.projected_scan
    if "quantized" in _without_structure(job):
        name, cost_of = "quantized_scan", costs.quantized_scan
    at_best = min(
        cost_of(points, _SCAN_COMPONENTS[name][0], expected, batches, 0.0),
        costs.projected_tree(points, expected, batches, 0.0, 0.0),
    )
    if without <= at_best + 2.0 * (costs.probe(points) + costs.components(points)):
        return floor
    scan, _ = job.quantized_scan if name == "quantized_scan" else job.projected_scan
    found = {floor: without, name: scan}
    if job.has_room(_TREE_KEEPS * points.itemsize):
        found["projected_tree"] = job.projected_tree
    return min(found, key=found.__getitem__)
