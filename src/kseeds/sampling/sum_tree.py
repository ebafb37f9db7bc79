"""Weighted draws in plain NumPy: float64 sums of blocks of rows under a binary tree of sums.

Row i has mass w_i·q_i. Leaf b of the tree is the mass of rows 64·b to 64·b + 63; a changed
block is summed again, never decremented, so nothing cancels. Node t has the children 2t and
2t + 1; the leaves start at ``len(sums) // 2``. `kseeds.sampling.sum_tree_kernels` does the same
compiled, bit for bit, so that both draw the same rows.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kseeds.runtime.block_sizes import BLOCK
from kseeds.simd.lane_order import lane_sum

Float64Array = npt.NDArray[np.float64]

FEW = 16
"""Up to so many draws or leaves, a Python loop takes less time than NumPy calls for all of them."""


class Masses(NamedTuple):
    """Bounds q of the rows, their weights (empty if all are 1), and the tree of sums of w·q."""

    bounds: Any
    weights: Any
    sums: Any


def new_sums(n_rows: int) -> Float64Array:
    """Return a tree of sums for ``n_rows`` rows, all of them 0."""
    leaves = 1 << max(0, (-(-n_rows // BLOCK) - 1).bit_length())
    return np.zeros(2 * leaves)


def mass_of(masses: Masses, rows: Any) -> Float64Array:
    """Return the masses of some rows, given as an array of indices or as a slice."""
    mass: Float64Array = masses.bounds[rows].astype(np.float64)
    if len(masses.weights):
        mass *= masses.weights[rows]
    return mass


def sum_rows(masses: Masses, start: int, stop: int) -> None:
    """Sum the blocks of the rows ``start`` to ``stop``, whole blocks or up to the last row.

    The nodes above the blocks are left to `sum_inner`.
    """
    count = min(stop, len(masses.bounds)) - start
    mass = np.zeros((-(-count // BLOCK), BLOCK))
    given = mass.reshape(-1)[:count]
    given[:] = masses.bounds[start:stop]
    if len(masses.weights):
        given *= masses.weights[start:stop]
    first = len(masses.sums) // 2 + start // BLOCK
    masses.sums[first : first + len(mass)] = lane_sum(mass)


def sum_blocks(masses: Masses, blocks: npt.NDArray[np.int64]) -> None:
    """Sum these blocks again, and the nodes above them."""
    if len(blocks) == 0:
        return
    masses.sums[len(masses.sums) // 2 + blocks] = lane_sum(_of_blocks(masses, blocks)[1])
    sum_inner(masses.sums)


def sum_inner(sums: Float64Array) -> None:
    """Sum all inner nodes from the leaves up."""
    level = len(sums) // 2
    if level <= FEW:
        nodes = sums.tolist()
        for node in range(level - 1, 0, -1):
            nodes[node] = nodes[2 * node] + nodes[2 * node + 1]
        sums[:level] = nodes[:level]
        return
    while level > 1:
        level //= 2
        sums[level : 2 * level] = (
            sums[2 * level : 4 * level : 2] + sums[2 * level + 1 : 4 * level : 2]
        )


def draw_rows(masses: Masses, uniforms: Float64Array) -> npt.NDArray[np.int64]:
    """Return row i with probability mass_i / Σ mass, for each of the uniform draws.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds.sampling import sum_tree
    >>> masses = sum_tree.Masses(np.array([1.0, 0.0, 3.0]), np.empty(0), sum_tree.new_sums(3))
    >>> sum_tree.sum_rows(masses, 0, 3)
    >>> sum_tree.draw_rows(masses, np.array([0.1, 0.3, 0.9]))
    array([0, 2, 2])
    """
    if len(uniforms) <= FEW:
        return np.array(draw_few(masses, uniforms.tolist(), {}), np.int64)
    sums, leaves = masses.sums, len(masses.sums) // 2
    target = uniforms * sums[1]
    node = np.ones(len(uniforms), dtype=np.int64)
    while node[0] < leaves:
        left = sums[2 * node]
        # Rounding may push the target past the last mass; an empty side is never entered.
        go_right = (target >= left) & (sums[2 * node + 1] > 0.0)
        target = np.where(go_right, target - left, target)
        node = 2 * node + go_right
    rows, mass = _of_blocks(masses, node - leaves)
    reached = np.cumsum(mass, axis=1)
    hit = (reached > target[:, None]) & (mass > 0.0)
    last_positive = BLOCK - 1 - np.argmax(mass[:, ::-1] > 0.0, axis=1)
    place = np.where(hit.any(axis=1), hit.argmax(axis=1), last_positive)
    drawn: npt.NDArray[np.int64] = rows[np.arange(len(rows)), place]
    return drawn


def draw_few(masses: Masses, uniforms: list[float], reached: dict[int, list[float]]) -> list[int]:
    """Draw rows as `draw_rows` does.

    ``reached`` keeps running sums of the blocks drawn from, for as long as the masses stay as they
    are; it is empty at first.
    """
    return [_draw_row(masses, uniform, reached) for uniform in uniforms]


def _draw_row(masses: Masses, uniform: float, reached: dict[int, list[float]]) -> int:
    sums, leaves = masses.sums, len(masses.sums) // 2
    target, node = uniform * sums.item(1), 1
    while node < leaves:
        node *= 2
        left = sums.item(node)
        if target >= left and sums.item(node + 1) > 0.0:
            target -= left
            node += 1
    row = (node - leaves) * BLOCK
    so_far = reached.get(row)
    if so_far is None:
        so_far = reached[row] = list(accumulate(_of_block(masses, row)))
    # The first sum beyond the target is one with a positive mass: a mass of 0 adds nothing.
    place = bisect_right(so_far, target)
    if place == len(so_far):
        mass = _of_block(masses, row)
        place = max((at for at, one in enumerate(mass) if one > 0.0), default=0)
    return row + place


def _of_block(masses: Masses, row: int) -> list[float]:
    """Return the masses of the block that begins with a row, in double precision."""
    block = slice(row, row + BLOCK)
    bounds: list[float] = masses.bounds[block].tolist()
    if len(masses.weights) == 0:
        return bounds
    weights = masses.weights[block].tolist()
    return [q * w for q, w in zip(bounds, weights, strict=True)]


def _of_blocks(
    masses: Masses, blocks: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], Float64Array]:
    """Return the rows of blocks and their masses, 0 where there is no such row."""
    n = len(masses.bounds)
    rows = blocks[:, None] * BLOCK + np.arange(BLOCK)
    mass = mass_of(masses, np.minimum(rows, n - 1))
    mass[rows >= n] = 0.0
    return rows, mass
