"""The compiled kernels of lazy k-means++ for sparse rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.distances.sparse_kernels import SparseArrays
from kseeds.distances.sparse_rows import SparseRows
from kseeds.methods.plusplus.lazy import sparse_kernels as kernels
from kseeds.methods.plusplus.lazy.forecast import Forecast
from kseeds.methods.plusplus.lazy.sparse_seeds import Lists, SeedRows
from kseeds.methods.plusplus.lazy.state import State
from kseeds.nearest.state import Rows
from kseeds.runtime.aligned import Reused
from kseeds.runtime.block_sizes import BLOCK
from kseeds.runtime.threads import Workers
from kseeds.sampling.sum_tree_kernels import draw_rows, sum_inner

_BLOCK_ENTRIES = 1 << 18
_THREAD_STEPS = 1 << 16
"""Steps along lists below which waking threads is not worth it."""


class SparseCompiled:
    """See `Kernels`."""

    def __init__(self, points: SparseRows, workers: Workers) -> None:
        self._points, self._workers = points, workers
        self._arrays = SparseArrays.of(points)
        self._dots: Reused[npt.NDArray[np.float64]] | None = None

    def _rows(self, state: State) -> Rows:
        return state.rows._replace(points=self._arrays)

    def _seeds(self, state: State) -> Lists:
        """Return the seeds as kernels take them; the arrays are new after room was made."""
        seeds: SeedRows = state.centers.rows
        rows = SparseArrays(seeds.entries, seeds.columns, seeds.pointers, seeds.norms)
        return Lists(
            rows, seeds.owners, seeds.following, seeds.heads, seeds.copies, seeds.copied_owners,
            seeds.bounds, state.centers.indices,
        )  # fmt: skip

    def _copy_lists(self, state: State) -> None:
        seeds: SeedRows = state.centers.rows
        if seeds.copying_is_due(state.known):
            used = int(seeds.pointers[state.known])
            seeds.copies = np.empty(used, dtype=seeds.entries.dtype)
            seeds.copied_owners = np.empty(used, dtype=np.int32)
            kernels.copy_lists(self._seeds(state), state.known)
            seeds.n_copied = state.known

    def _block_rows(self, steps_per_row: float) -> int:
        """Return rows a task: whole blocks, and so few that none takes long."""
        rows = int(_BLOCK_ENTRIES / max(self._points.per_row + steps_per_row, 1.0))
        return max(1, rows // BLOCK) * BLOCK

    def first_pass(self, state: State) -> None:
        """Compare every row with the first centre; make the tree of sums."""
        seeds: SeedRows = state.centers.rows
        seeds.link(state.known)
        self._dots = Reused(lambda: np.empty(state.wanted))
        rows, masses, lists = self._rows(state), state.masses, self._seeds(state)
        first, dense = seeds[0], np.zeros(self._points.shape[1])
        dense[first.columns] = first.entries

        def task(start: int, stop: int) -> None:
            kernels.first_pass(rows, masses, lists, dense, state.metric.kernel_family, start, stop)

        self._workers.over_blocks(task, len(self._points), self._block_rows(0.0))
        sum_inner(state.sums)
        state.refreshed = 1

    def run(self, state: State, uniforms: npt.NDArray[np.float64], forecast: Forecast) -> int:
        """Settle batches until all seeds are found, no mass is left, or a refresh is due."""
        rows, masses, family = self._rows(state), state.masses, state.metric.kernel_family
        seeds: SeedRows = state.centers.rows
        for batch in range(len(uniforms)):
            if state.known == state.wanted or state.is_exhausted:
                return batch
            draw_rows(masses, uniforms, batch, 0, state.proposals.targets, state.proposals.rows)
            needed = kernels.entries_of(self._arrays, state.proposals.rows)
            seeds.reserve(int(seeds.pointers[state.known] + needed))
            self._copy_lists(state)
            lists = self._seeds(state)
            pairs = self._evaluate(state, rows, lists, uniforms, batch)
            assert self._dots is not None
            with self._dots.one() as dots:
                settled, accepted, more, wasted = kernels.settle(
                    rows, masses, lists, state.proposals, family, state.known, uniforms, batch, dots
                )
            cost = (settled - accepted) * forecast.proposal + wasted * forecast.pair
            state.known += int(accepted)
            state.note_proposals(settled, pairs + more, state.spent + cost)
            if state.refresh_is_due(forecast):
                return batch + 1
        return len(uniforms)

    def _evaluate(
        self, state: State, rows: Rows, lists: Lists, uniforms: npt.NDArray[np.float64], batch: int
    ) -> int:
        """Compare the proposals with the pending centres; return the distances computed."""
        workspaces = self._dots
        assert workspaces is not None

        def task(start: int, stop: int) -> int:
            with workspaces.one() as dots:
                pairs: int = kernels.evaluate(
                    rows, lists, state.proposals, state.metric.kernel_family,
                    state.centers.rows.n_copied, state.known, uniforms, batch, start, stop, dots,
                )  # fmt: skip
            return pairs

        steps = state.batch * (self._points.per_row + 4.0 * state.pending)
        size = max(8, state.batch // 8) if steps > _THREAD_STEPS else state.batch
        return sum(self._workers.over_blocks(task, state.batch, size))

    def partial_refresh(self, state: State, threshold: float) -> int:
        """Compare rows of mass at least ``threshold`` with all centres; return the distances."""
        rows, masses, lists = self._rows(state), state.masses, self._seeds(state)
        workspaces = self._dots
        assert workspaces is not None

        def task(start: int, stop: int) -> int:
            with workspaces.one() as dots:
                pairs: int = kernels.partial_refresh(
                    rows, masses, lists, state.metric.kernel_family, state.centers.rows.n_copied,
                    state.known, threshold, start, stop, dots,
                )  # fmt: skip
            return pairs

        size = self._block_rows(4.0 * state.pending)
        counts = self._workers.over_blocks(task, len(self._points), size)
        sum_inner(state.sums)
        return sum(counts)

    def full_refresh(self, state: State) -> int:
        """Compare all rows that have any mass with all centres; return the distances."""
        return self.partial_refresh(state, 0.0)
