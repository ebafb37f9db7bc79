"""The kernels of lazy k-means++ in plain NumPy: no compiler, so no waiting for one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray
from kseeds.distances.reference import squared_distances
from kseeds.methods.plusplus.lazy.costs import Costs, sweep_is_due
from kseeds.methods.plusplus.lazy.state import State
from kseeds.nearest.plain import meet
from kseeds.runtime.block_sizes import BLOCK, COLUMNS
from kseeds.simd.lane_order import lane_sum

_ELEMENTS = 1 << 18
"""Distances computed at a time: few enough for the cache."""


class Plain:
    """See `Kernels`."""

    def first_pass(self, state: State) -> None:
        """Let every row meet the first centre; make the tree of sums."""
        state.bounds[:] = squared_distances(state.points, state.centers[0], state.kind)
        _sum_blocks(state, np.arange(-(-len(state.points) // BLOCK)))
        state.labels[:] = 0
        state.n_compared[:] = 1
        state.swept = 1

    def run(
        self,
        state: State,
        uniforms: npt.NDArray[np.float64],
        costs: Costs,
        price: npt.NDArray[np.float64],
    ) -> int:
        """Settle batches until all seeds are found, no mass is left, or a sweep is due."""
        for used, (draws, thresholds) in enumerate(uniforms):
            if state.known == state.wanted or state.is_exhausted:
                return used
            _settle_batch(state, _propose(state, draws), thresholds, costs)
            if sweep_is_due(*state.waste, price):
                return used + 1
        return len(uniforms)

    def sweep(self, state: State, threshold: float) -> int:
        """Let rows of mass at least ``threshold`` meet all centres; return the distances."""
        mass = _mass(state, np.arange(len(state.points)))
        rows = np.flatnonzero((mass >= threshold) & (mass > 0.0) & (state.n_compared < state.known))
        pairs, size = 0, max(64, _ELEMENTS // max(state.known - state.swept, 1))
        for lo in range(0, len(rows), size):
            part = rows[lo : lo + size]
            oldest = int(state.n_compared[part].min())
            state.bounds[part], state.labels[part] = meet(
                state.points[part], state.centers[: state.known], oldest, state.kind,
                state.bounds[part], state.labels[part],
            )  # fmt: skip
            pairs += int((state.known - state.n_compared[part]).sum())
            state.n_compared[part] = state.known
        _sum_blocks(state, np.unique(rows // BLOCK))
        return pairs

    def refresh(self, state: State) -> int:
        """Let all rows that have any mass meet all centres; return the distances."""
        return self.sweep(state, 0.0)


def _mass(state: State, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    mass: npt.NDArray[np.float64] = state.bounds[rows].astype(np.float64)
    return mass * state.weights[rows] if len(state.weights) else mass


def _sum_blocks(state: State, blocks: npt.NDArray[np.int64]) -> None:
    """Sum these blocks again, and the nodes above them."""
    n, tree = len(state.points), state.tree
    if len(blocks) == 0:
        return
    rows = blocks[:, None] * BLOCK + np.arange(BLOCK)
    mass = _mass(state, np.minimum(rows, n - 1))
    mass[rows >= n] = 0.0
    level = len(tree) // 2
    tree[level + blocks] = lane_sum(mass)
    while level > 1:
        level //= 2
        tree[level : 2 * level] = (
            tree[2 * level : 4 * level : 2] + tree[2 * level + 1 : 4 * level : 2]
        )


def _propose(state: State, uniforms: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Draw rows in proportion to w·q, by descending the tree of sums."""
    tree, leaves = state.tree, len(state.tree) // 2
    target = uniforms * tree[1]
    node = np.ones(len(uniforms), dtype=np.int64)
    while node[0] < leaves:
        left = tree[2 * node]
        go_right = (target >= left) & (tree[2 * node + 1] > 0.0)
        target = np.where(go_right, target - left, target)
        node = 2 * node + go_right
    rows = (node - leaves)[:, None] * BLOCK + np.arange(BLOCK)
    mass = _mass(state, np.minimum(rows, len(state.points) - 1))
    mass[rows >= len(state.points)] = 0.0
    reached = np.cumsum(mass, axis=1)
    hit = (reached > target[:, None]) & (mass > 0.0)
    last_positive = BLOCK - 1 - np.argmax(mass[:, ::-1] > 0.0, axis=1)
    place = np.where(hit.any(axis=1), hit.argmax(axis=1), last_positive)
    drawn: npt.NDArray[np.int64] = rows[np.arange(len(rows)), place]
    return drawn


def _settle_batch(
    state: State, rows: npt.NDArray[np.int64], uniforms: npt.NDArray[np.float64], costs: Costs
) -> None:
    """Accept or reject a batch of proposals in order, as `kernels.lazy.settle` does."""
    known, start = state.known, state.n_compared[rows]
    found, labels, seen = state.bounds[rows], state.labels[rows], start.copy()
    limits = uniforms * found.astype(np.float64)
    pairs = _evaluate(state, rows, limits, found, labels, seen)
    open_ = (found >= limits) & (_mass(state, rows) > 0.0)
    late = np.zeros(len(rows), dtype=np.int64)
    settled = wasted = 0
    for b in range(len(rows)):
        if state.known == state.wanted:
            break
        settled += 1
        if not (open_[b] and found[b] > 0.0):
            wasted += int(seen[b] - start[b])
            continue
        new = state.known
        state.indices[new - (state.wanted - len(state.indices))] = rows[b]
        state.add_center(state.points[rows[b]])
        found[b], labels[b], seen[b] = 0.0, new, new + 1
        later = b + 1 + np.flatnonzero(open_[b + 1 :])
        distances = squared_distances(state.points[rows[later]], state.centers[new], state.kind)
        late[later] += 1
        seen[later] = new + 1
        witnessed = distances < limits[later]
        found[later[witnessed]], labels[later[witnessed]] = distances[witnessed], new
        open_[later[witnessed]] = False
    for b in range(settled):
        row = rows[b]
        if seen[b] > state.n_compared[row]:
            state.bounds[row], state.labels[row], state.n_compared[row] = (
                found[b],
                labels[b],
                seen[b],
            )
    _sum_blocks(state, np.unique(rows[:settled] // BLOCK))
    rejected = settled - (state.known - known)
    state.spent += rejected * costs.draw + wasted * costs.pair
    state.proposals_since_sweep += settled
    state.work.proposals += settled
    state.work.distances += pairs + int(late[:settled].sum())


def _evaluate(
    state: State,
    rows: npt.NDArray[np.int64],
    limits: npt.NDArray[np.float64],
    found: FloatArray,
    labels: npt.NDArray[np.int32],
    seen: npt.NDArray[np.int32],
) -> int:
    """Let proposals meet the centres known before the batch, until the group of a witness."""
    pairs, known = 0, state.known
    oldest = int(seen.min())
    for first in range(oldest - oldest % COLUMNS, known, COLUMNS):
        last = min(first + COLUMNS, known)
        go = np.flatnonzero((seen >= first) & (seen < last) & (found >= limits))
        if len(go) == 0:
            continue
        pairs += int((last - seen[go]).sum())
        at = int(seen[go].min())
        least, near = meet(
            state.points[rows[go]], state.centers[:last], at, state.kind, found[go], labels[go]
        )
        seen[go] = last
        witnessed = least < limits[go]
        found[go[witnessed]], labels[go[witnessed]] = least[witnessed], near[witnessed]
    return pairs
