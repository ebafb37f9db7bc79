"""The compiled kernels of lazy k-means++, on threads where that is worth it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import Family, FloatArray
from kseeds.inputs.fingerprint import factors_for
from kseeds.methods.plusplus.lazy import kernels
from kseeds.methods.plusplus.lazy.forecast import Forecast
from kseeds.methods.plusplus.lazy.state import State
from kseeds.nearest import costs
from kseeds.nearest.brute_force_kernels import new_tile
from kseeds.nearest.state import Nearest
from kseeds.runtime import compile_policy
from kseeds.runtime.aligned import Reused
from kseeds.runtime.block_sizes import BLOCK, COLUMNS, LANES
from kseeds.runtime.threads import Workers, rows_for
from kseeds.sampling.sum_tree_kernels import draw_rows, sum_blocks, sum_inner

if TYPE_CHECKING:
    from kseeds.nearest.point_tree import PointTree

_THREAD_NS = 600_000.0
"""Work below this is not worth waking threads for."""
_RUN_NS = 4e7


class Compiled:
    """See `Kernels`."""

    def __init__(self, points: FloatArray, workers: Workers, is_forced: bool = False) -> None:
        self._workers, self._is_forced = workers, is_forced
        self._sums = Reused(lambda: kernels.new_sums(points))
        self._tiles = Reused(lambda: new_tile(points))
        self._tree: PointTree | None = None

    def _block_rows(self, state: State, cost: float) -> int:
        """Return rows a task, such that small work stays on one thread and none takes long."""
        n = len(state.rows.points)
        most = rows_for(cost / n, most=n + COLUMNS)
        if self._workers.n_threads == 1 or cost < _THREAD_NS:
            return most
        return min(most, max(1024, -(-n // (8 * 64 * self._workers.n_threads)) * 64))

    def first_pass(self, state: State) -> None:
        """Compare every row with the first centre; make the tree of sums and the fingerprint."""
        points, masses, family = state.rows.points, state.masses, state.metric.kernel_family
        values, factors = points.view(np.uint32).reshape(-1), factors_for(points)
        prints = np.empty(-(-len(points) // BLOCK), dtype=np.uint32)

        def task(start: int, stop: int) -> None:
            lanes = np.zeros(LANES * points.itemsize // 4, dtype=np.uint32)
            words = kernels.Words(values, factors, lanes, prints)
            kernels.first_pass(state.rows, masses, state.centers.rows, family, words, start, stop)

        cost = 3.0 * len(points) + 0.15 * points.size
        self._workers.over_blocks(task, len(points), self._block_rows(state, cost))
        sum_inner(state.sums)
        state.fingerprint = prints
        state.refreshed = 1

    def run(self, state: State, uniforms: npt.NDArray[np.float64], forecast: Forecast) -> int:
        """Settle batches until all seeds are found, no mass is left, or a refresh is due."""
        batch = state.batch * state.pending * forecast.pair
        if self._workers.n_threads > 1 and batch > _THREAD_NS:
            return self._run_on_threads(state, uniforms, forecast)
        # So many batches that an interrupt need not wait long.
        batch = state.batch * (forecast.proposal + (state.pending + state.batch) * forecast.pair)
        uniforms = uniforms[: max(1, int(_RUN_NS / batch))]
        counts = np.array([0.0, 0.0, 0.0, state.spent, state.proposals_since])
        with self._sums.one() as space:
            used = kernels.run_batches(
                state.rows, state.masses, state.centers, state.proposals,
                state.metric.kernel_family, state.known, uniforms, forecast, state.refreshed,
                state.least, counts, space,
            )  # fmt: skip
        settled, accepted, pairs = counts[:3].astype(int).tolist()
        state.known += accepted
        state.note_proposals(settled, pairs, float(counts[3]))
        return int(used)

    def _run_on_threads(
        self, state: State, uniforms: npt.NDArray[np.float64], forecast: Forecast
    ) -> int:
        """Do what `run_batches` does, with the proposals of a batch shared out to threads."""
        masses, family = state.masses, state.metric.kernel_family
        for batch in range(len(uniforms)):
            if state.known == state.wanted or state.is_exhausted:
                return batch
            draw_rows(masses, uniforms, batch, 0, state.proposals.targets, state.proposals.rows)
            pairs = self._evaluate(state, uniforms, batch)
            settled, accepted, more, wasted = kernels.settle(
                state.rows, masses, state.centers, state.proposals, family, state.known, uniforms,
                batch,
            )  # fmt: skip
            cost = (settled - accepted) * forecast.proposal + wasted * forecast.pair
            state.known += int(accepted)
            state.note_proposals(settled, pairs + more, state.spent + cost)
            if state.refresh_is_due(forecast):
                return batch + 1
        return len(uniforms)

    def _evaluate(self, state: State, uniforms: npt.NDArray[np.float64], batch: int) -> int:
        """Compare the proposals with the pending centres; return the distances computed."""

        def task(start: int, stop: int) -> int:
            with self._sums.one() as space:
                pairs: int = kernels.evaluate(
                    state.rows, state.centers, state.proposals, state.metric.kernel_family,
                    state.known, uniforms, batch, start, stop, space,
                )  # fmt: skip
            return pairs

        return sum(self._workers.over_blocks(task, state.batch, max(8, state.batch // 8)))

    def partial_refresh(self, state: State, threshold: float) -> int:
        """Compare rows of mass at least ``threshold`` with all centres; return the distances."""
        masses, points = state.masses, state.rows.points

        def task(start: int, stop: int) -> int:
            with self._tiles.one() as tile:
                pairs: int = kernels.partial_refresh(
                    state.rows, masses, state.centers.rows, state.metric.kernel_family,
                    state.known, threshold, start, stop, tile,
                )  # fmt: skip
            return pairs

        n, pairs = len(points), state.pending * costs.pair(points, state.metric)
        rows = self._block_rows(state, n * (0.5 + state.share * pairs))
        rows = min(rows, rows_for(0.5 + pairs, most=n + COLUMNS))  # the share may have grown
        counts = self._workers.over_blocks(task, n, rows)
        sum_inner(state.sums)
        return sum(counts)

    def full_refresh(self, state: State) -> int:
        """Compare all rows that have any mass with all centres; return the distances."""
        rows, metric = state.rows, state.metric
        if not self._has_tree(state):
            return self.partial_refresh(state, 0.0)
        oldest, masses = int(rows.n_compared.min()), state.masses
        with compile_policy.using("tree", rows.points.dtype):
            from kseeds.nearest.point_tree import PointTree

            if self._tree is None:
                self._tree = PointTree(rows.points, metric, self._workers)
            counts = self._tree.update(
                Nearest(rows.squared, rows.labels, oldest),
                state.centers.rows[oldest : state.known],
                oldest,
                self._workers,
            )
        rows.n_compared[:] = state.known

        def task(start: int, stop: int) -> None:
            sum_blocks(masses, start // BLOCK, -(-stop // BLOCK))

        self._workers.over_blocks(task, len(rows.points))
        sum_inner(state.sums)
        return counts.distances

    def _has_tree(self, state: State) -> bool:
        """Tell whether there is a tree, or can be one and it is worth compiling its kernels."""
        points, metric = state.rows.points, state.metric
        if metric.family is not Family.EUCLIDEAN or points.shape[1] >= LANES:
            return False
        if self._tree is not None or self._is_forced:
            return True
        # All refreshes that are to come, which are several: see `forecast`.
        rows = 1e-9 * len(points) / self._workers.n_threads
        brute = state.wanted * rows * costs.pair(points, metric)
        tree = rows * (costs.tree_build(points) + state.wanted * costs.tree_pair(points))
        return compile_policy.pays("tree", points.dtype, brute, tree)
