"""The kernels of lazy k-means++ in plain NumPy: no compiler, so no waiting for one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray
from kseeds.distances.reference import squared_distances
from kseeds.methods.plusplus.lazy.forecast import Forecast
from kseeds.methods.plusplus.lazy.state import State
from kseeds.nearest.plain import compare
from kseeds.runtime.blas import one_blas_thread
from kseeds.runtime.block_sizes import BLOCK, COLUMNS
from kseeds.runtime.threads import Workers
from kseeds.simd.lane_order import lane_sum

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
        _sum_blocks(state, np.arange(-(-len(rows.points) // BLOCK)))
        rows.labels[:] = 0
        rows.n_compared[:] = 1
        state.refreshed = 1

    def run(self, state: State, uniforms: npt.NDArray[np.float64], forecast: Forecast) -> int:
        """Settle batches until all seeds are found, no mass is left, or a refresh is due."""
        for used, (draws, thresholds) in enumerate(uniforms):
            if state.known == state.wanted or state.is_exhausted:
                return used
            _settle_batch(state, _propose(state, draws), thresholds, forecast)
            if state.refresh_is_due(forecast):
                return used + 1
        return len(uniforms)

    def partial_refresh(self, state: State, threshold: float) -> int:
        """Compare rows of mass at least ``threshold`` with all centres; return the distances."""
        rows = state.rows
        mass = _mass(state, np.arange(len(rows.points)))
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
        _sum_blocks(state, np.unique(chosen // BLOCK))
        return pairs

    def full_refresh(self, state: State) -> int:
        """Compare all rows that have any mass with all centres; return the distances."""
        return self.partial_refresh(state, 0.0)


def _mass(state: State, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    mass: npt.NDArray[np.float64] = state.rows.squared[rows].astype(np.float64)
    return mass * state.weights[rows] if len(state.weights) else mass


def _sum_blocks(state: State, blocks: npt.NDArray[np.int64]) -> None:
    """Sum these blocks again, and the nodes above them."""
    n, sums = len(state.rows.points), state.sums
    if len(blocks) == 0:
        return
    rows = blocks[:, None] * BLOCK + np.arange(BLOCK)
    mass = _mass(state, np.minimum(rows, n - 1))
    mass[rows >= n] = 0.0
    level = len(sums) // 2
    sums[level + blocks] = lane_sum(mass)
    while level > 1:
        level //= 2
        sums[level : 2 * level] = (
            sums[2 * level : 4 * level : 2] + sums[2 * level + 1 : 4 * level : 2]
        )


def _propose(state: State, uniforms: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Draw rows in proportion to w·q, by descending the tree of sums."""
    n, sums, leaves = len(state.rows.points), state.sums, len(state.sums) // 2
    target = uniforms * sums[1]
    node = np.ones(len(uniforms), dtype=np.int64)
    while node[0] < leaves:
        left = sums[2 * node]
        go_right = (target >= left) & (sums[2 * node + 1] > 0.0)
        target = np.where(go_right, target - left, target)
        node = 2 * node + go_right
    rows = (node - leaves)[:, None] * BLOCK + np.arange(BLOCK)
    mass = _mass(state, np.minimum(rows, n - 1))
    mass[rows >= n] = 0.0
    reached = np.cumsum(mass, axis=1)
    hit = (reached > target[:, None]) & (mass > 0.0)
    last_positive = BLOCK - 1 - np.argmax(mass[:, ::-1] > 0.0, axis=1)
    place = np.where(hit.any(axis=1), hit.argmax(axis=1), last_positive)
    drawn: npt.NDArray[np.int64] = rows[np.arange(len(rows)), place]
    return drawn


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
    is_open = (found >= limits) & (_mass(state, proposed) > 0.0)
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
    _sum_blocks(state, np.unique(proposed[:settled] // BLOCK))
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
        pairs += int((last - compared[go]).sum())
        at = int(compared[go].min())
        least, near = compare(
            state.rows.points[proposed[go]], state.centers.rows[at:last], at, state.metric.kind,
            found[go], labels[go],
        )  # fmt: skip
        compared[go] = last
        witnessed = least < limits[go]
        found[go[witnessed]], labels[go[witnessed]] = least[witnessed], near[witnessed]
    return pairs
