"""A pass over all rows in plain NumPy: no compiler, so no waiting for one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kseeds.distances.reference import squared_distances
from kseeds.methods.greedy.proposals import Proposals
from kseeds.methods.greedy.scan import Float64Array, State, Step
from kseeds.runtime.blas import one_blas_thread
from kseeds.runtime.threads import Workers
from kseeds.sampling import sum_tree

_ROWS = 16_384
"""Rows at a time: few enough for a cache, and so many that threads work side by side."""


class Plain:
    """See `kseeds.methods.greedy.scan.Tier`; Euclidean."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._within = np.empty((0, 0), dtype=np.bool_)

    def start(self, state: State) -> None:
        """Compute the norms of the rows, and sum the masses."""

        def task(start: int, stop: int) -> None:
            moved = state.points[start:stop] - state.mean
            state.norms[start:stop] = np.einsum("ij,ij->i", moved, moved)
            sum_tree.sum_rows(state.masses, start, stop)

        self._workers.over_blocks(task, len(state.points), _ROWS)
        sum_tree.sum_inner(state.masses.sums)

    def candidates(self, state: State, proposals: Proposals) -> list[int]:
        """Return the candidates of the next step."""
        return proposals.of_step(state.masses)

    def gain_bounds(self, state: State, step: Step) -> tuple[Float64Array, Float64Array]:
        """Return the gain of every candidate, and by how much it may be wrong; set the bits."""
        factors, count = -2.0 * step.moved, len(step.centers)
        is_moved = bool(state.mean.any())
        if len(self._within) < count:
            self._within = np.empty((count, len(state.points)), dtype=np.bool_)

        def task(start: int, stop: int) -> tuple[Float64Array, Float64Array]:
            rows, squared = state.points[start:stop], state.nearest.squared[start:stop]
            norms = state.norms[start:stop]
            table = factors @ (rows - state.mean if is_moved else rows).T
            table += step.squares[:, None]
            lowered = np.subtract(squared - norms, table, out=table)
            # The largest error of a block for all its rows: one number is sooner compared.
            error = state.epsilon * norms.max() + state.of_squared * squared.max() + step.errors
            is_within = np.greater(lowered, -error[:, None], out=self._within[:count, start:stop])
            np.maximum(lowered, 0.0, out=lowered)
            if len(state.weights):
                weights = state.weights[start:stop]
                return lowered @ weights, error * (is_within @ weights)
            return lowered.sum(axis=1), error * np.count_nonzero(is_within, axis=1)

        with one_blas_thread():
            done = self._workers.over_blocks(task, len(state.points), _ROWS)
        gains, errors = (
            sum(np.asarray(part[side], dtype=np.float64) for part in done) for side in range(2)
        )
        return np.asarray(gains), np.asarray(errors)

    def exact_gains(self, state: State, step: Step, which: Sequence[int]) -> list[float]:
        """Return the gains of some of the candidates."""

        def task(start: int, stop: int) -> list[float]:
            return [gain(q, start, stop) for q in which]

        def gain(q: int, start: int, stop: int) -> float:
            rows = start + np.flatnonzero(self._within[q, start:stop])
            found = squared_distances(state.points[rows], step.centers[q], state.metric.kind)
            lowered = np.subtract(state.nearest.squared[rows], found, dtype=np.float64)
            np.maximum(lowered, 0.0, out=lowered)
            return float((lowered * state.weights[rows] if len(state.weights) else lowered).sum())

        done = self._workers.over_blocks(task, len(state.points), _ROWS)
        return [sum(of_candidate) for of_candidate in zip(*done, strict=True)]

    def take(self, state: State, step: Step, which: int) -> None:
        """Make a candidate a centre: compare the rows with it, and sum the masses again."""
        nearest = state.nearest

        def task(start: int, stop: int) -> None:
            rows = start + np.flatnonzero(self._within[which, start:stop])
            found = squared_distances(state.points[rows], step.centers[which], state.metric.kind)
            is_nearer = found < nearest.squared[rows]
            rows = rows[is_nearer]
            if len(rows):
                nearest.squared[rows], nearest.labels[rows] = found[is_nearer], nearest.n_compared
                sum_tree.sum_rows(state.masses, start, stop)

        self._workers.over_blocks(task, len(state.points), _ROWS)
        sum_tree.sum_inner(state.masses.sums)
