"""The compiled form of `kseeds.sampling.sum_tree`, which describes the tree; the same bits."""

from __future__ import annotations

from typing import Any

from kseeds.runtime.block_sizes import BLOCK
from kseeds.runtime.compiler import inlined, kernel
from kseeds.sampling.sum_tree import Masses
from kseeds.simd.rows import weighted_sum

mass_of = weighted_sum()


@inlined
def sum_block(masses: Masses, block: int) -> None:
    """Write the mass of a block to its leaf."""
    start, n = block * BLOCK, masses.bounds.shape[0]
    stop = start + BLOCK if start + BLOCK < n else n
    leaf = masses.sums.shape[0] // 2 + block
    masses.sums[leaf] = mass_of(masses.bounds, masses.weights, start, stop)


@kernel
def sum_blocks(masses: Masses, first: int, last: int) -> None:
    """Write the masses of the blocks ``first`` to ``last`` to their leaves."""
    for block in range(first, last):
        sum_block(masses, block)


@kernel
def sum_inner(sums: Any) -> None:
    """Sum all inner nodes from the leaves up."""
    for t in range(sums.shape[0] // 2 - 1, 0, -1):
        sums[t] = sums[2 * t] + sums[2 * t + 1]


@inlined
def refresh_block(masses: Masses, block: int) -> None:
    """Sum one block again, and the nodes above it."""
    sum_block(masses, block)
    sums = masses.sums
    t = (sums.shape[0] // 2 + block) // 2
    while t >= 1:
        sums[t] = sums[2 * t] + sums[2 * t + 1]
        t //= 2


@kernel
def draw_rows(
    masses: Masses, uniforms: Any, batch: int, first: int, targets: Any, rows: Any
) -> None:
    """Write row i with probability mass_i / Σ mass, for each uniform draw of a batch from one on.

    There are three loops instead of one, so that the scattered reads of the second one overlap.
    ``targets`` is a workspace.
    """
    bounds, weights, sums = masses.bounds, masses.weights, masses.sums
    n, leaves = bounds.shape[0], sums.shape[0] // 2
    for b in range(rows.shape[0]):
        target, t = uniforms[batch, 0, first + b] * sums[1], 1
        while t < leaves:
            left = sums[2 * t]
            # Rounding may push the target past the last mass; an empty side is never entered.
            if target < left or sums[2 * t + 1] <= 0.0:
                t = 2 * t
            else:
                target -= left
                t = 2 * t + 1
        rows[b], targets[b] = (t - leaves) * BLOCK, target
    # A value of every cache line of the blocks; the sum keeps these reads from being dropped.
    touched = 0.0
    for b in range(rows.shape[0]):
        stop = rows[b] + BLOCK if rows[b] + BLOCK < n else n
        for i in range(rows[b], stop, 16):
            touched += bounds[i]
    sums[0] = touched  # node 0 does not exist
    for b in range(rows.shape[0]):
        start, reached = rows[b], 0.0
        for i in range(start, start + BLOCK if start + BLOCK < n else n):
            mass = bounds[i] * (weights[i] if weights.shape[0] else 1.0)
            if mass > 0.0:
                rows[b] = i
                reached += mass
                if targets[b] < reached:
                    break
