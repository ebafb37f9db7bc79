"""The compiled kernels of lazy k-means++ for sparse rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.distances.sparse_kernels import SparseArrays, find_norms
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
        find_norms(points, workers)
        self._arrays = SparseArrays.of(points)
        self._spaces: Reused[kernels.Space] | None = None

    def _rows(self, state: State) -> Rows:
        return state.rows._replace(points=self._arrays)

    def _seeds(self, state: State) -> Lists:
        """Return the seeds as kernels take them; the arrays are new after room was made."""
        seeds: SeedRows = state.centers.rows
        rows = SparseArrays(seeds.entries, seeds.columns, seeds.pointers, seeds.norms)
        return Lists(
            rows, seeds.lengths, seeds.heads, seeds.chunks, seeds.owners, seeds.values, seeds.used,
            state.centers.indices,
        )  # fmt: skip

    def _block_rows(self, steps_per_row: float) -> int:
        """Return rows a task: whole blocks, and so few that none takes long."""
        rows = int(_BLOCK_ENTRIES / max(self._points.per_row + steps_per_row, 1.0))
        return max(1, rows // BLOCK) * BLOCK

    def first_pass(self, state: State) -> None:
        """Compare every row with the first centre; make the tree of sums."""
        seeds: SeedRows = state.centers.rows
        seeds.make_lists()
        # Without a word of `self`, whose points would else stay until garbage is collected.
        wanted, n_columns = state.wanted, self._points.shape[1]
        self._spaces = Reused(
            lambda: kernels.Space(np.empty(wanted), np.empty(kernels.PARTS), np.zeros(n_columns))
        )
        rows, masses, lists = self._rows(state), state.masses, self._seeds(state)
        kernels.link(lists, state.known)
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
            lists = self._seeds(state)
            pairs = self._evaluate(state, rows, lists, uniforms, batch)
            assert self._spaces is not None
            with self._spaces.one() as space:
                settled, accepted, more, wasted = kernels.settle(
                    rows,
                    masses,
                    lists,
                    state.proposals,
                    family,
                    state.known,
                    uniforms,
                    batch,
                    space.dots,
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
        spaces = self._spaces
        assert spaces is not None

        def task(start: int, stop: int) -> int:
            with spaces.one() as space:
                pairs: int = kernels.evaluate(
                    rows, lists, state.proposals, state.metric.kernel_family, state.known, uniforms,
                    batch, start, stop, space,
                )  # fmt: skip
            return pairs

        steps = state.batch * (self._points.per_row + 4.0 * state.pending)
        size = max(8, state.batch // 8) if steps > _THREAD_STEPS else state.batch
        return sum(self._workers.over_blocks(task, state.batch, size))

    def partial_refresh(self, state: State, threshold: float) -> int:
        """Compare rows of mass at least ``threshold`` with all centres; return the distances."""
        rows, masses, lists = self._rows(state), state.masses, self._seeds(state)
        spaces = self._spaces
        assert spaces is not None

        def task(start: int, stop: int) -> int:
            with spaces.one() as space:
                pairs: int = kernels.partial_refresh(
                    rows, masses, lists, state.metric.kernel_family, state.known, threshold, start,
                    stop, space.dots,
                )  # fmt: skip
            return pairs

        size = self._block_rows(4.0 * state.pending)
        counts = self._workers.over_blocks(task, len(self._points), size)
        sum_inner(state.sums)
        return sum(counts)

    def full_refresh(self, state: State) -> int:
        """Compare all rows that have any mass with all centres; return the distances."""
        return self.partial_refresh(state, 0.0)
