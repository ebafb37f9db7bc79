"""Weighted draws: float64 sums of blocks of rows under a binary tree of sums.

Row i has mass w_i·q_i. Leaf b of the tree is the mass of rows 64·b to 64·b + 63; a changed
block is summed again, never decremented, so nothing cancels. Node t has the children 2t and
2t + 1; the leaves start at ``len(tree) // 2``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kseeds.runtime.block_sizes import BLOCK
from kseeds.runtime.compiler import inlined, kernel
from kseeds.simd.rows import weighted_sum

mass_of = weighted_sum()


@inlined
def sum_blocks(bounds: Any, weights: Any, first: int, last: int, tree: Any) -> None:
    """Write the masses of the blocks ``first`` to ``last`` to their leaves."""
    n, leaves = bounds.shape[0], tree.shape[0] // 2
    for b in range(first, last):
        tree[leaves + b] = mass_of(bounds, weights, b * BLOCK, min((b + 1) * BLOCK, n))


@kernel
def sum_inner(tree: Any) -> None:
    """Sum all inner nodes from the leaves up."""
    for t in range(tree.shape[0] // 2 - 1, 0, -1):
        tree[t] = tree[2 * t] + tree[2 * t + 1]


@inlined
def refresh_block(bounds: Any, weights: Any, block: int, tree: Any) -> None:
    """Sum one block again, and the nodes above it."""
    sum_blocks(bounds, weights, block, block + 1, tree)
    t = (tree.shape[0] // 2 + block) // 2
    while t >= 1:
        tree[t] = tree[2 * t] + tree[2 * t + 1]
        t //= 2


@inlined
def draw_rows(bounds: Any, weights: Any, tree: Any, uniforms: Any, rows: Any) -> None:
    """Write row i with probability mass_i / Σ mass, for each uniform draw in (0, 1).

    Three loops in place of one: in the second, the reads from all over memory do not wait
    for each other.
    """
    n, leaves = bounds.shape[0], tree.shape[0] // 2
    targets = np.empty(uniforms.shape[0])
    for b in range(uniforms.shape[0]):
        target, t = uniforms[b] * tree[1], 1
        while t < leaves:
            left = tree[2 * t]
            # Rounding may push the target past the last mass; an empty side is never entered.
            if target < left or tree[2 * t + 1] <= 0.0:
                t = 2 * t
            else:
                target -= left
                t = 2 * t + 1
        rows[b], targets[b] = (t - leaves) * BLOCK, target
    tree[0] = touch(bounds, rows, BLOCK)  # node 0 does not exist
    for b in range(uniforms.shape[0]):
        start, reached = rows[b], 0.0
        for i in range(start, min(start + BLOCK, n)):
            mass = bounds[i] * (weights[i] if weights.shape[0] else 1.0)
            if mass > 0.0:
                rows[b] = i
                reached += mass
                if targets[b] < reached:
                    break


@inlined
def touch(values: Any, starts: Any, count: int) -> float:
    """Read a value of every cache line of ``count`` values from each of the ``starts``.

    What the caller reads next is then on its way. The sum keeps the reads from being dropped.
    """
    total, stop = 0.0, values.shape[0]
    for b in range(starts.shape[0]):
        for i in range(starts[b], min(starts[b] + count, stop), 16):
            total += values[i]
    return total
