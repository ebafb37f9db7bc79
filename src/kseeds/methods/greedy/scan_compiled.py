"""A pass over all rows by compiled kernels, for metrics that are not Euclidean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from kseeds.methods.greedy import scan_kernels as kernels
from kseeds.methods.greedy.proposal_kernels import candidates_of_step
from kseeds.methods.greedy.proposals import Proposals
from kseeds.methods.greedy.scan import Float64Array, State, Step
from kseeds.runtime.block_sizes import BLOCK
from kseeds.runtime.threads import BLOCK_ROWS, Workers
from kseeds.sampling.sum_tree_kernels import sum_blocks, sum_inner

T = TypeVar("T")

_FEWEST, _MOST = 1024, 8192
"""Rows of a task: many tasks of few rows are shared out more evenly."""


class Compiled:
    """See `kseeds.methods.greedy.scan.Tier`; every metric that is no function, but Euclidean."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def start(self, state: State) -> None:
        """Sum the masses."""

        def task(start: int, stop: int) -> None:
            sum_blocks(state.masses, start // BLOCK, -(-stop // BLOCK))

        self._workers.over_blocks(task, len(state.points), BLOCK_ROWS)
        sum_inner(state.masses.sums)
        nearest = state.nearest
        self._rows = kernels.Scanned(
            state.points, nearest.squared, nearest.labels, state.weights, state.norms,
            state.within, state.mean, state.epsilon, state.of_squared,
        )  # fmt: skip

    def candidates(self, state: State, proposals: Proposals) -> list[int]:
        """Return the candidates of the next step."""
        return candidates_of_step(proposals, state.masses)

    def _over_rows(self, task: Callable[[int, int], T], state: State) -> list[T]:
        # The size of a task depends on the rows only, and so do the sums.
        n = len(state.points)
        size = min(_MOST, max(_FEWEST, -(-n // (8 * BLOCK)) * BLOCK))
        return self._workers.over_blocks(task, n, size)

    def gain_bounds(self, state: State, step: Step) -> tuple[Float64Array, Float64Array]:
        """Return the gain of every candidate, and that nothing is wrong with it; set the bits."""
        family = state.metric.kernel_family

        def task(start: int, stop: int) -> Float64Array:
            found = np.zeros((len(step.centers), 1))
            kernels.all_gains(self._rows, step.centers, family, start, stop, found)
            return found[:, 0]

        done: Any = sum(self._over_rows(task, state))
        return done, np.zeros(len(step.centers))

    def exact_gains(self, state: State, step: Step, which: Sequence[int]) -> list[float]:
        """Return the gains of some of the candidates."""
        bits, family = sum(1 << q for q in which), state.metric.kernel_family

        def task(start: int, stop: int) -> Float64Array:
            found = np.zeros((len(step.centers), 1))
            kernels.exact_gains(self._rows, step.centers, family, bits, start, stop, found)
            return found[:, 0]

        done: Any = sum(self._over_rows(task, state))
        return [float(done[q]) for q in which]

    def take(self, state: State, step: Step, which: int) -> None:
        """Make a candidate a centre: compare the rows with it, and sum the masses again."""
        family, number = state.metric.kernel_family, state.nearest.n_compared

        def task(start: int, stop: int) -> None:
            kernels.take(self._rows, step.centers, family, which, number, start, stop, state.masses)

        self._over_rows(task, state)
        sum_inner(state.masses.sums)
