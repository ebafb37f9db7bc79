"""All that the benchmarks know of the inside of kseeds: options, kernels and the cost model.

Everything else here uses the public functions. A change of the library's insides changes this
file and the names in ``suites/calibrate.py``, nothing else.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache, cached_property
from typing import Any

import numpy as np

import kseeds
from benchmarks.data import Rows
from benchmarks.timing import timed
from kseeds.distributed import driver
from kseeds.distributed.local_backend import LocalBackend
from kseeds.distributed.partition import Part
from kseeds.inputs import prepare_points
from kseeds.inputs.problem import Problem, prepare_problem
from kseeds.laws import GREEDY
from kseeds.methods.greedy.leading import leading_columns
from kseeds.methods.parallel.schedule import Schedule
from kseeds.methods.plusplus.lazy import kernels
from kseeds.methods.plusplus.lazy.compiled import Compiled
from kseeds.methods.plusplus.lazy.state import State
from kseeds.nearest import costs
from kseeds.nearest.choice import Job
from kseeds.nearest.projected_scan_kernels import squared_distances_to
from kseeds.nearest.projection import principal_components
from kseeds.nearest.state import Nearest
from kseeds.nearest.structure import Sample
from kseeds.nearest.update import NearestUpdater
from kseeds.runtime import block_sizes, compile_policy, registers
from kseeds.runtime.threads import Workers, default_threads
from kseeds.sampling.streams import Stream
from kseeds.sampling.sum_tree_kernels import Masses, draw_rows

PLUSPLUS: dict[str, dict[str, Any]] = {
    "paper": {"algorithm": "paper"},
    "paper, no queue": {"algorithm": "paper", "queue": False},
    "lazy": {"algorithm": "lazy", "kernels": "compiled"},
}
"""Options of `kmeans_plusplus` by the names under which they are compared."""
PLAIN: dict[str, Any] = {"algorithm": "lazy", "kernels": "plain"}
PARALLEL: dict[str, dict[str, Any]] = {
    "naive": {"algorithm": "fast", "strategy": "brute"},
    "paper": {"algorithm": "paper"},
    "paper, no range": {"algorithm": "paper", "in_range": False},
    "fast": {"algorithm": "fast"},
}
"""The same of `kmeans_parallel`."""

_ROWS = 16_384


def lazy(X: Rows, k: int, seed: int, n_threads: int | None = None) -> kseeds.Seeding:
    """Seed with the compiled kernels loaded, as after the first large job."""
    options = PLUSPLUS["lazy"]
    return kseeds.kmeans_plusplus(X, k, random_state=seed, n_threads=n_threads, **options)


def greedy_kernels() -> list[str]:
    """Return the names of the kernel sets of greedy k-means++."""
    return [name for name in compile_policy.COMPILING if name.startswith("greedy_")]


def warm_greedy() -> None:
    """Load the kernels of greedy k-means++, as after the first large jobs."""
    kseeds.warmup(*greedy_kernels(), dtype="float32")


def warm_lloyd() -> None:
    """Load the kernels of k-means, as after the first large jobs."""
    ours = [name for name in compile_policy.COMPILING if name.startswith("lloyd_")]
    by_bytes = ("quantized", "quantized_scan") if registers.MULTIPLY_BYTES else ("projected_scan",)
    assigning = ("brute", "gemm", "projected_tree", *by_bytes)
    kseeds.warmup(*ours, *assigning, dtype="float32")


def warm_all() -> None:
    """Load all kernels, as after the first large jobs."""
    kseeds.warmup(dtype="float32")


def naive_plusplus(X: Rows, k: int, seed: int) -> np.ndarray:
    """Draw k rows by k-means++ in one pass over the rows for every seed, on all cores.

    The baseline of every comparison of times: not a scalar loop, but the same vector kernels and
    threads as ours, with nothing skipped.
    """
    rng = np.random.default_rng(seed)
    points = prepare_points(X, "euclidean").points
    squared = np.full(len(X), np.inf, dtype=points.dtype)
    new = np.empty_like(squared)
    rows = [int(rng.integers(len(X)))]
    with Workers(default_threads()) as workers:
        for _ in range(k - 1):
            center = points[rows[-1] : rows[-1] + 1]

            def update(lo: int, hi: int, center: np.ndarray = center) -> float:
                squared_distances_to(points[lo:hi], center, new[lo:hi])
                np.minimum(squared[lo:hi], new[lo:hi], out=squared[lo:hi])
                return float(squared[lo:hi].sum(dtype=np.float64))

            sums = np.cumsum(workers.over_blocks(update, len(X), _ROWS))
            target = rng.random() * sums[-1]
            block = min(int(np.searchsorted(sums, target, side="right")), len(sums) - 1)
            part = squared[block * _ROWS : (block + 1) * _ROWS].astype(np.float64)
            within = target - (sums[block - 1] if block else 0.0)
            at = min(int(np.searchsorted(np.cumsum(part), within, side="right")), len(part) - 1)
            rows.append(block * _ROWS + at)
    return np.array(rows)


def one_pass(X: Rows) -> float:
    """Return the seconds of one vectorised comparison of all rows with one centre."""
    return min(timed(naive_plusplus, X, 9, turn)[0] for turn in range(3)) / 8


def partitioned(X: Rows, k: int, partitions: int) -> dict[str, kseeds.DistributedSeeding]:
    """Seed in partitions without an engine, to count what would travel."""
    parts = [Part.of(number, block) for number, block in enumerate(np.array_split(X, partitions))]
    request = driver.Request(k, "euclidean", None, Stream.from_random_state(0))
    return {
        "k-means||": driver.kmeans_parallel(
            driver.Driver(LocalBackend(parts), request), Schedule(2.0, 5)
        ),
        "k-means++": driver.kmeans_plusplus(driver.Driver(LocalBackend(parts), request)),
    }


def compile_seconds() -> dict[str, float]:
    """Return what the compile policy takes the compilation of each kernel set to cost."""
    return compile_policy.COMPILING


FIRST = ("plain", "waiting", "beside")
"""What a job can do whose kernels are not compiled: without them, wait, or compile beside it."""


def first_update(way: str, kernel_set: str, X: Rows, m: int) -> tuple[float, Nearest]:
    """Compare all rows with the first m in one of the ways of `FIRST`; return seconds and answer.

    Beside means: plain NumPy compares block after block while a thread compiles, and the kernels
    the rest. Numba is loaded before.
    """
    prepared = prepare_points(X, "euclidean")
    points, metric = prepared.points, prepared.metric
    nearest, centers, at = Nearest.empty(points), points[:m].copy(), 0

    def compile_kernels() -> None:
        kseeds.warmup(kernel_set, dtype=points.dtype.name)

    def compare(strategy: str, stop: int) -> None:
        part = Nearest(nearest.squared[at:stop], nearest.labels[at:stop], 0)
        NearestUpdater(Job(points[at:stop], metric, workers, m), strategy).update(part, centers, 0)

    started = time.perf_counter()
    with Workers(default_threads()) as workers:
        if way == "waiting":
            compile_kernels()
        elif way == "beside":
            other = threading.Thread(target=compile_kernels)
            other.start()
            while other.is_alive() and at < len(points):
                stop = min(at + _ROWS, len(points))
                compare("plain", stop)
                at = stop
        if at < len(points):
            compare("plain" if way == "plain" else kernel_set, len(points))
    return time.perf_counter() - started, nearest


def cost_constants() -> set[str]:
    """Return the names of all constants of the cost model, and of its formulas."""
    return {
        name
        for name, value in vars(costs).items()
        if not name.startswith("_")
        and (
            (name.isupper() and not hasattr(block_sizes, name))
            or getattr(value, "__module__", "") == costs.__name__
        )
    }


def nanoseconds(
    task: Callable[..., object], before: Callable[[], object] = lambda: None, turns: int = 5
) -> float:
    """Return the shortest of several calls, each of which is given what ``before`` returns."""
    found = []
    for _ in range(turns):
        ready = before()
        start = time.perf_counter_ns()
        task(ready)
        found.append(time.perf_counter_ns() - start)
    return float(min(found))


class Bench:
    """Rows on which the operations of the cost model are timed, on one thread.

    The first of them serve as centres.
    """

    def __init__(self, X: Any, metric: str = "euclidean") -> None:
        self.problem: Problem = prepare_problem(
            X, 1025, sample_weight=None, metric=metric, initial_centers=None, random_state=0,
            n_threads=1, progress=False,
        )[0]  # fmt: skip
        self.points, self.n = self.problem.points, len(self.problem.points)
        self.rows = self.points, self.problem.metric
        self.workers = Workers(1)
        self.update = cache(self._update)
        self.lazy = cache(self._lazy)
        self.greedy = cache(self._greedy)

    @cached_property
    def sparse(self) -> Bench:
        """The same rows with an eighth of their entries, as a sparse matrix."""
        from scipy import sparse

        few = np.where(np.abs(self.points) > 1.5, self.points, self.points.dtype.type(0.0))
        return Bench(sparse.csr_array(few))

    def build(self, strategy: str, m: int) -> NearestUpdater:
        """Return a strategy that is ready to compare all rows with centres."""
        updater = NearestUpdater(Job(*self.rows, self.workers, m), strategy)
        updater.built(updater.strategy)
        return updater

    def _update(self, strategy: str, m: int) -> tuple[float, float, float]:
        """Return nanoseconds a row of building and of comparing with m centres.

        And the share of all distances that was computed. Every row knows a centre already.
        """
        start = Nearest.empty(self.points)
        self.build("brute", 1).update(start, self.points[:1], 0)
        building = nanoseconds(lambda _: self.build(strategy, m), turns=3) / self.n
        exact = 0

        def compare(ready: tuple[NearestUpdater, Nearest]) -> None:
            nonlocal exact
            exact = ready[0].update(ready[1], self.points[1 : m + 1], 1).exact

        # Built anew for every turn: a tree remembers what its rows had.
        updating = nanoseconds(compare, lambda: (self.build(strategy, m), start.copy()), 3) / self.n
        return building, updating, exact / (self.n * m)

    def components(self) -> float:
        """Return nanoseconds a row of finding principal components."""
        return nanoseconds(lambda _: principal_components(self.points)) / self.n

    def probe(self) -> float:
        """Return nanoseconds a row of looking for structure."""
        directions = principal_components(self.points).directions

        def look(_: None) -> None:
            sample = Sample(self.points)
            sample.dimension()
            for count in (8, 16, 32, 64):
                sample.left_open(directions[:, :count])

        return nanoseconds(look) / self.n

    def dimension(self) -> float:
        """Return about how many dimensions the rows fill."""
        return Sample(self.points).dimension()

    def leading(self) -> int:
        """Return how many columns a pool of greedy candidates compares first."""
        return len(leading_columns(self.points))

    def _greedy(self, strategy: str) -> float:
        """Return nanoseconds a row of a greedy step, of 64."""
        return self._greedy_steps(strategy, self.points) / self.n

    def greedy_step(self, strategy: str) -> float:
        """Return nanoseconds of a greedy step, of 64, on a few rows."""
        return self._greedy_steps(strategy, self.points[:256])

    def _greedy_steps(self, strategy: str, points: Any) -> float:
        algorithm = "naive" if strategy == "naive" else "fast"
        options = {} if strategy == "naive" else {"strategy": strategy}
        problem = replace(self.problem, points=points, n_clusters=64)
        draw = GREEDY.method(algorithm).draw
        return nanoseconds(lambda _: draw(problem, 6, **options), turns=2) / 64

    def left_open(self, count: int) -> float:
        """Return the share of pairs that projections leave open."""
        return Sample(self.points).left_open(
            principal_components(self.points).directions[:, :count]
        )

    def left_open_in_steps(self, count: int) -> float:
        """Return the same of projections in steps."""
        return Sample(self.points).left_open_in_steps(
            principal_components(self.points).directions[:, :count]
        )

    def _lazy(self) -> dict[str, float]:
        """Return nanoseconds of the steps of lazy k-means++, by their names in the cost model."""
        state, tier = State.start(self.problem, 64), Compiled(self.points, self.workers)
        state.add_center(self.points[0])
        tier.first_pass(state)
        bounds, compared = state.rows.squared.copy(), state.rows.n_compared.copy()
        family, space = self.problem.metric.kernel_family, kernels.new_sums(self.points)
        masses = Masses(state.rows.squared, state.weights, state.sums)

        def reset(pending: int) -> None:
            state.rows.squared[:], state.rows.n_compared[:] = bounds, compared
            state.known = 1
            for j in range(pending):
                state.add_center(self.points[j + 1])

        def proposals(pending: int) -> float:
            """Time proposals that are all compared with ``pending`` centres."""
            uniforms = np.random.default_rng(0).random((64, 2, 64))
            uniforms[:, 1] = 1e-9  # no early exit: nothing is nearer than almost 0

            def task(_: None) -> None:
                for batch in range(len(uniforms)):
                    draw_rows(
                        masses, uniforms, batch, 0, state.proposals.targets, state.proposals.rows
                    )
                    kernels.evaluate(
                        state.rows, state.centers, state.proposals, family, state.known, uniforms,
                        batch, 0, 64, space,
                    )  # fmt: skip

            return nanoseconds(task, lambda: reset(pending)) / uniforms[:, 0].size

        def refresh(pending: int, threshold: float) -> float:
            task = nanoseconds(
                lambda _: tier.partial_refresh(state, threshold), lambda: reset(pending)
            )
            return task / self.n

        few, many = proposals(64), proposals(1024)
        pair = (many - few) / 960
        scan = refresh(1, 0.99 * float(bounds.max()))
        one, more = refresh(1, 0.0), refresh(65, 0.0)
        row_pair = (more - one) / 64
        gather = one - scan - row_pair
        draw = few - 64 * pair
        return {"DRAW": draw, "proposal_pair": pair, "SCAN": scan, "gather": gather}
