"""The compiled kernels of lazy k-means++, on threads where that is worth it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import Family, FloatArray
from kseeds.inputs.fingerprint import factors_for
from kseeds.methods.plusplus.lazy import kernels
from kseeds.methods.plusplus.lazy.costs import Costs, sweep_is_due
from kseeds.methods.plusplus.lazy.state import State
from kseeds.nearest.point_tree import PointTree
from kseeds.runtime.block_sizes import BLOCK, COLUMNS, LANES
from kseeds.runtime.threads import Workers, rows_for
from kseeds.sampling.sum_tree_kernels import sum_blocks, sum_inner

_THREAD_NS = 600_000.0
"""Work below this is not worth waking threads for."""
_RUN_NS = 4e7


class Compiled:
    """See `Kernels`."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._rows = np.empty(0, dtype=np.int64)
        self._labels = np.empty(0, dtype=np.int32)
        self._seen = np.empty(0, dtype=np.int32)
        self._tree: PointTree | None = None

    def _block_rows(self, state: State, cost: float) -> int:
        """Return rows a task, such that small work stays on one thread and none takes long."""
        n = len(state.points)
        most = rows_for(cost / n, most=n + COLUMNS)
        if self._workers.n_threads == 1 or cost < _THREAD_NS:
            return most
        return min(most, max(1024, -(-n // (8 * 64 * self._workers.n_threads)) * 64))

    def first_pass(self, state: State) -> None:
        """Let every row meet the first centre; make the tree of sums and the fingerprint."""
        words = state.points.view(np.uint32).reshape(-1)
        factors = factors_for(state.points)
        prints = np.empty(-(-len(state.points) // BLOCK), dtype=np.uint32)

        def task(start: int, stop: int) -> None:
            kernels.first_pass(
                state.points, words, factors, start, stop, state.centers, state.family,
                state.weights, state.bounds, state.labels, state.n_compared, state.tree, prints,
            )  # fmt: skip

        cost = state.points.size * 0.2
        self._workers.over_blocks(task, len(state.points), self._block_rows(state, cost))
        sum_inner(state.tree)
        state.fingerprint = prints
        state.swept = 1
        self._rows = np.empty(state.batch, dtype=np.int64)
        self._labels = np.empty(state.batch, dtype=np.int32)
        self._seen = np.empty(state.batch, dtype=np.int32)

    def run(
        self,
        state: State,
        uniforms: npt.NDArray[np.float64],
        costs: Costs,
        price: npt.NDArray[np.float64],
    ) -> int:
        """Settle batches until all seeds are found, no mass is left, or a sweep is due."""
        if self._are_long(state, costs):
            return self._run_long(state, uniforms, costs, price)
        # So many batches that an interrupt need not wait long.
        batch = state.batch * (costs.draw + (state.known + state.batch - state.swept) * costs.pair)
        uniforms = uniforms[: max(1, int(_RUN_NS / batch))]
        counts = np.array([0.0, 0.0, state.spent, state.proposals_since_sweep])
        found = np.empty(state.batch, dtype=state.points.dtype)
        known, used = kernels.run_batches(
            state.points, state.family, state.known, state.wanted, uniforms, state.weights,
            costs.draw, costs.pair, price, state.swept, state.least,
            state.bounds, state.labels, state.n_compared,
            self._rows, found, self._labels, self._seen,
            state.centers, state.columns, state.indices, state.tree, counts,
        )  # fmt: skip
        state.known = int(known)
        state.work.proposals += int(counts[0])
        state.work.distances += int(counts[1])
        state.spent = float(counts[2])
        state.proposals_since_sweep = int(counts[3])
        return int(used)

    def _are_long(self, state: State, costs: Costs) -> bool:
        """Tell whether the batches are long enough for threads."""
        batch = state.batch * (state.known - state.swept) * costs.pair
        return self._workers.n_threads > 1 and batch > _THREAD_NS

    def _run_long(
        self,
        state: State,
        uniforms: npt.NDArray[np.float64],
        costs: Costs,
        price: npt.NDArray[np.float64],
    ) -> int:
        """Do what `run_batches` does, with the proposals of a batch shared out to threads."""
        found = np.empty(state.batch, dtype=state.points.dtype)
        for used, (draws, thresholds) in enumerate(uniforms):
            if state.known == state.wanted or state.is_exhausted:
                return used
            kernels.propose(draws, state.bounds, state.weights, state.tree, self._rows)
            pairs = self._evaluate(state, thresholds, found)
            now, settled, more, wasted = kernels.settle(
                state.points, state.family, state.known, state.wanted, thresholds, self._rows,
                state.weights, state.bounds, state.labels, state.n_compared, found, self._labels,
                self._seen, state.centers, state.columns, state.indices, state.tree,
            )  # fmt: skip
            rejected = settled - (now - state.known)
            state.spent += rejected * costs.draw + wasted * costs.pair
            state.proposals_since_sweep += settled
            state.work.proposals += settled
            state.work.distances += pairs + more
            state.known = int(now)
            if sweep_is_due(*state.waste, price):
                return used + 1
        return len(uniforms)

    def _evaluate(
        self, state: State, thresholds: npt.NDArray[np.float64], found: FloatArray
    ) -> int:
        """Let the proposals meet the pending centres; return the distances computed."""

        def task(start: int, stop: int) -> int:
            pairs: int = kernels.evaluate(
                state.points, state.centers, state.columns, state.family, state.known,
                thresholds, self._rows, start, stop, state.bounds, state.labels,
                state.n_compared, found, self._labels, self._seen,
            )  # fmt: skip
            return pairs

        return sum(self._workers.over_blocks(task, state.batch, max(8, state.batch // 8)))

    def sweep(self, state: State, threshold: float) -> int:
        """Let rows of mass at least ``threshold`` meet all centres; return the distances."""

        def task(start: int, stop: int) -> int:
            pairs: int = kernels.sweep(
                state.points, start, stop, state.centers, state.family, state.known,
                threshold, state.weights, state.bounds, state.labels, state.n_compared,
                state.tree,
            )  # fmt: skip
            return pairs

        pending = state.known - state.swept
        n, pairs = len(state.points), pending * state.points.shape[1] * 0.05
        rows = self._block_rows(state, n * (0.5 + state.share * pairs))
        rows = min(rows, rows_for(0.5 + pairs, most=n + COLUMNS))  # the share may have grown
        counts = self._workers.over_blocks(task, n, rows)
        sum_inner(state.tree)
        return sum(counts)

    def refresh(self, state: State) -> int:
        """Let all rows that have any mass meet all centres; return the distances."""
        if state.family != Family.EUCLIDEAN or state.points.shape[1] >= LANES:
            return self.sweep(state, 0.0)
        if self._tree is None:
            self._tree = PointTree(state.points, state.metric, self._workers)
        oldest = int(state.n_compared.min())
        computed, _ = self._tree.improve(
            state.centers[oldest : state.known], oldest, state.bounds, state.labels, self._workers
        )
        state.n_compared[:] = state.known

        def task(start: int, stop: int) -> None:
            first, last = start // BLOCK, -(-stop // BLOCK)
            sum_blocks(state.bounds, state.weights, first, last, state.tree)

        self._workers.over_blocks(task, len(state.points))
        sum_inner(state.tree)
        return computed
