"""The kernels of lazy k-means++ in plain NumPy: no compiler, so no waiting for one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray
from kseeds.distances.reference import squared_distances
from kseeds.distances.sparse_reference import products_between
from kseeds.distances.sparse_rows import is_sparse
from kseeds.methods.plusplus.lazy.forecast import Forecast
from kseeds.methods.plusplus.lazy.state import State
from kseeds.nearest.plain import compare
from kseeds.runtime.blas import one_blas_thread
from kseeds.runtime.block_sizes import BLOCK, COLUMNS
from kseeds.runtime.threads import Workers
from kseeds.sampling import sum_tree

_ELEMENTS = 1 << 17
"""Distances computed at a time: few enough for the cache."""
_PASS_ROWS = 16_384


class Plain:
    """See `Kernels`."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def _over_blocks(
        self, state: State, task: Callable[[int, int], None], n_rows: int, block_rows: int
    ) -> None:
        # A user's function may not like to be called by several threads at once.
        workers = Workers(1) if state.metric.function is not None else self._workers
        with one_blas_thread():
            workers.over_blocks(task, n_rows, block_rows)

    def first_pass(self, state: State) -> None:
        """Compare every row with the first centre; make the tree of sums."""
        rows, (center, kind) = state.rows, (state.centers.rows[0], state.metric.kind)

        def task(start: int, stop: int) -> None:
            rows.squared[start:stop] = squared_distances(rows.points[start:stop], center, kind)

        self._over_blocks(state, task, len(rows.points), _PASS_ROWS)
        sum_tree.sum_rows(state.masses, 0, len(rows.points))
        sum_tree.sum_inner(state.sums)
        rows.labels[:] = 0
        rows.n_compared[:] = 1
        state.refreshed = 1

    def run(self, state: State, uniforms: npt.NDArray[np.float64], forecast: Forecast) -> int:
        """Settle batches until all seeds are found, no mass is left, or a refresh is due."""
        for used, (draws, thresholds) in enumerate(uniforms):
            if state.known == state.wanted or state.is_exhausted:
                return used
            proposed = sum_tree.draw_rows(state.masses, draws)
            _settle_batch(state, proposed, thresholds, forecast)
            if state.refresh_is_due(forecast):
                return used + 1
        return len(uniforms)

    def partial_refresh(self, state: State, threshold: float) -> int:
        """Compare rows of mass at least ``threshold`` with all centres; return the distances."""
        rows = state.rows
        mass = sum_tree.mass_of(state.masses, slice(None))
        is_pending = rows.n_compared < state.known
        chosen = np.flatnonzero((mass >= threshold) & (mass > 0.0) & is_pending)
        pairs = int((state.known - rows.n_compared[chosen]).sum())

        def task(start: int, stop: int) -> None:
            part = chosen[start:stop]
            oldest = int(rows.n_compared[part].min())
            rows.squared[part], rows.labels[part] = compare(
                rows.points[part], state.centers.rows[oldest : state.known], oldest,
                state.metric.kind, rows.squared[part], rows.labels[part],
            )  # fmt: skip
            rows.n_compared[part] = state.known

        size = max(64, min(2048, _ELEMENTS // max(state.pending, 1)))
        self._over_blocks(state, task, len(chosen), size)
        sum_tree.sum_blocks(state.masses, np.unique(chosen // BLOCK))
        return pairs

    def full_refresh(self, state: State) -> int:
        """Compare all rows that have any mass with all centres; return the distances."""
        return self.partial_refresh(state, 0.0)


def _settle_batch(
    state: State,
    proposed: npt.NDArray[np.int64],
    uniforms: npt.NDArray[np.float64],
    forecast: Forecast,
) -> None:
    """Accept or reject a batch of proposals in order, as `kernels.settle` does."""
    rows, known = state.rows, state.known
    start = rows.n_compared[proposed]
    found, labels, compared = rows.squared[proposed], rows.labels[proposed], start.copy()
    limits = uniforms * found.astype(np.float64)
    pairs = _evaluate(state, proposed, limits, found, labels, compared)
    is_open = (found >= limits) & (sum_tree.mass_of(state.masses, proposed) > 0.0)
    late = np.zeros(len(proposed), dtype=np.int64)
    settled = wasted = 0
    for b in range(len(proposed)):
        if state.known == state.wanted:
            break
        settled += 1
        if not (is_open[b] and found[b] > 0.0):
            wasted += int(compared[b] - start[b])
            continue
        new = state.known
        state.centers.indices[new - (state.wanted - len(state.centers.indices))] = proposed[b]
        state.add_center(rows.points[proposed[b]])
        found[b], labels[b], compared[b] = 0.0, new, new + 1
        later = b + 1 + np.flatnonzero(is_open[b + 1 :])
        distances = squared_distances(
            rows.points[proposed[later]], state.centers.rows[new], state.metric.kind
        )
        late[later] += 1
        compared[later] = new + 1
        witnessed = distances < limits[later]
        found[later[witnessed]], labels[later[witnessed]] = distances[witnessed], new
        is_open[later[witnessed]] = False
    for b in range(settled):
        row = proposed[b]
        if compared[b] > rows.n_compared[row]:
            rows.squared[row], rows.labels[row] = found[b], labels[b]
            rows.n_compared[row] = compared[b]
    sum_tree.sum_blocks(state.masses, np.unique(proposed[:settled] // BLOCK))
    rejected = settled - (state.known - known)
    cost = rejected * forecast.proposal + wasted * forecast.pair
    state.note_proposals(settled, pairs + int(late[:settled].sum()), state.spent + cost)


def _evaluate(
    state: State,
    proposed: npt.NDArray[np.int64],
    limits: npt.NDArray[np.float64],
    found: FloatArray,
    labels: npt.NDArray[np.int32],
    compared: npt.NDArray[np.int32],
) -> int:
    """Compare proposals with the centres known before the batch, until the group of a witness."""
    pairs, known = 0, state.known
    oldest = int(compared.min())
    for first in range(oldest - oldest % COLUMNS, known, COLUMNS):
        last = min(first + COLUMNS, known)
        go = np.flatnonzero((compared >= first) & (compared < last) & (found >= limits))
        if len(go) == 0:
            continue
        at = int(compared[go].min())
        pairs += _distances(state, proposed[go], at, last, compared[go])
        least, near = compare(
            state.rows.points[proposed[go]], state.centers.rows[at:last], at, state.metric.kind,
            found[go], labels[go],
        )  # fmt: skip
        compared[go] = last
        witnessed = least < limits[go]
        found[go[witnessed]], labels[go[witnessed]] = least[witnessed], near[witnessed]
    return pairs


def _distances(
    state: State,
    proposed: npt.NDArray[np.int64],
    first: int,
    last: int,
    compared: npt.NDArray[np.int32],
) -> int:
    """Return how many distances it takes to compare proposals with centres, each from its own on.

    A sparse centre without a product with a row costs next to nothing, and does not count.
    """
    points = state.rows.points
    if not is_sparse(points):
        return int((last - compared).sum())
    return products_between(points[proposed], state.centers.rows[first:last], compared - first)
