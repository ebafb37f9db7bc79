"""A pass over all rows by compiled kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from kseeds.methods.greedy import scan_kernels as kernels
from kseeds.methods.greedy.proposal_kernels import candidates_of_step
from kseeds.methods.greedy.proposals import Proposals
from kseeds.methods.greedy.scan import Float64Array, State, Step
from kseeds.runtime.aligned import Reused, aligned
from kseeds.runtime.block_sizes import BLOCK, COLUMNS, column_order
from kseeds.runtime.threads import BLOCK_ROWS, Workers
from kseeds.sampling.sum_tree_kernels import sum_blocks, sum_inner
from kseeds.simd.products import ABREAST, side_by_side

T = TypeVar("T")

_FEWEST, _MOST = 1024, 8192
"""Rows of a task: many tasks of few rows are shared out more evenly."""


class Compiled:
    """See `kseeds.methods.greedy.scan.Tier`; every metric that is no function."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def start(self, state: State) -> None:
        """Compute the norms of the rows, and sum the masses."""
        self._order = column_order(state.compared.shape[1])
        self._spaces = Reused(lambda: kernels.workspace(state.compared))

        def task(start: int, stop: int) -> None:
            if state.is_euclidean:
                kernels.set_norms(state.compared, state.mean, start, stop, state.norms)
            sum_blocks(state.masses, start // BLOCK, -(-stop // BLOCK))

        self._workers.over_blocks(task, len(state.points), BLOCK_ROWS)
        sum_inner(state.masses.sums)

    def candidates(self, state: State, proposals: Proposals) -> list[int]:
        """Return the candidates of the next step."""
        return candidates_of_step(proposals, state.masses)

    def _over_rows(self, task: Callable[[int, int], T], state: State) -> list[T]:
        # The size of a task depends on the rows only, and so do the sums.
        n = len(state.points)
        size = min(_MOST, max(_FEWEST, -(-n // (8 * BLOCK)) * BLOCK))
        return self._workers.over_blocks(task, n, size)

    def _candidates(self, step: Step) -> kernels.Candidates:
        factors = side_by_side(-2.0 * step.moved[:, self._order])
        added = np.zeros(-(-len(step.squares) // ABREAST) * ABREAST, dtype=step.squares.dtype)
        added[: len(step.squares)] = step.squares
        return kernels.Candidates(step.centers, factors, added, step.errors)

    def gain_bounds(self, state: State, step: Step) -> tuple[Float64Array, Float64Array]:
        """Return the gain of every candidate, and by how much it may be wrong; set the bits."""
        rows, candidates = self._now = rows_of(state, self._order), self._candidates(step)
        family = state.metric.kernel_family

        def task(start: int, stop: int) -> Float64Array:
            found = aligned((2, len(step.centers), COLUMNS), np.float64)
            found[:] = 0.0
            if family is None:
                with self._spaces.one() as space:
                    kernels.gain_bounds(rows, candidates, start, stop, found[0], found[1], space)
            else:
                kernels.all_gains(rows, candidates, family, start, stop, found[0])
            totals: Float64Array = found.sum(axis=2)
            return totals

        done: Any = sum(self._over_rows(task, state))
        return done[0], done[1]

    def exact_gains(self, state: State, step: Step, which: Sequence[int]) -> list[float]:
        """Return the gains of some of the candidates."""
        rows, candidates = self._now
        bits = sum(1 << q for q in which)

        def task(start: int, stop: int) -> Float64Array:
            found = np.zeros((len(step.centers), 1))
            kernels.exact_gains(
                rows, candidates, state.metric.kernel_family, bits, start, stop, found
            )
            return found[:, 0]

        done: Any = sum(self._over_rows(task, state))
        return [float(done[q]) for q in which]

    def take(self, state: State, step: Step, which: int) -> None:
        """Make a candidate a centre: compare the rows with it, and sum the masses again."""
        rows, candidates = self._now

        def task(start: int, stop: int) -> None:
            kernels.take(
                rows, candidates, state.metric.kernel_family, which, state.nearest.n_compared,
                start, stop, state.masses,
            )  # fmt: skip

        self._over_rows(task, state)
        sum_inner(state.masses.sums)


def rows_of(state: State, order: npt.NDArray[np.int64]) -> kernels.Scanned:
    """Return the rows of a state as kernels take them, the mean in the order of a column."""
    nearest = state.nearest
    return kernels.Scanned(
        state.points, state.compared, nearest.squared, nearest.labels, state.weights, state.norms,
        state.within, state.mean[order], state.epsilon, state.of_squared,
    )  # fmt: skip
