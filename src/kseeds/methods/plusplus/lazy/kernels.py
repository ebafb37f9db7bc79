"""Lazy k-means++: proposals settled against the centres they were not compared with, and refreshes.

Row i carries a bound q_i, its squared distance to the nearest of the first ``n_compared[i]``
centres. Centres are kept twice: as rows, and in groups of 64 columns, so that one row is compared
with 64 centres at a time without a fold. See `kseeds.methods.plusplus.lazy`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kseeds.distances.metrics import FloatArray
from kseeds.distances.pair_kernels import squared_distance, sum_of_squares
from kseeds.inputs.fingerprint_kernels import fingerprint_words
from kseeds.methods.plusplus.lazy.forecast import Forecast, refresh_is_due
from kseeds.methods.plusplus.lazy.state import Centers, Proposals
from kseeds.nearest.brute_force_kernels import Tile, compare_row, compare_tile, squares
from kseeds.nearest.state import Rows
from kseeds.runtime.aligned import aligned
from kseeds.runtime.block_sizes import BLOCK, COLUMNS, LANES, place_of
from kseeds.runtime.compiler import inlined, kernel
from kseeds.sampling.sum_tree import Masses
from kseeds.sampling.sum_tree_kernels import draw_rows, refresh_block, sum_block
from kseeds.simd.rows import fingerprinted_sum_of_squares

_place_of = inlined(place_of)
_fingerprinted_sum = fingerprinted_sum_of_squares()
_refresh_is_due = inlined(refresh_is_due)


class Words(NamedTuple):
    """The points as words of 32 bits, one after the other, and what makes a fingerprint of them."""

    values: Any
    factors: Any
    lanes: Any
    prints: Any


class Sums(NamedTuple):
    """A workspace: distances to 64 centres, and the distance they are compared with, 64 times."""

    sums: Any
    limits: Any


def new_sums(points: FloatArray) -> Sums:
    """Return a workspace for one thread."""
    return Sums(*aligned((2, COLUMNS), points.dtype))


@kernel
def first_pass(
    rows: Rows, masses: Masses, centers: Any, family: Any, words: Words, start: int, stop: int
) -> None:
    """Compare rows ``start`` to ``stop`` with the first centre; sum, fingerprint their blocks."""
    points, squared = rows.points, rows.squared
    d = points.shape[1]
    wide = words.values.shape[0] // points.shape[0]
    for first in range(start, stop, BLOCK):
        last = first + BLOCK if first + BLOCK < stop else stop
        total = 0
        # A loop of its own for each kind: a choice inside the loop costs 10 ns a row.
        if family is None:
            if d >= LANES:
                for lane in range(words.lanes.shape[0]):
                    words.lanes[lane] = 0
                for i in range(first, last):
                    squared[i] = _fingerprinted_sum(
                        points, i, centers, 0, words.factors, (i - first) * wide, words.lanes
                    )
                for lane in range(words.lanes.shape[0]):
                    total = (total + int(words.lanes[lane])) & 0xFFFFFFFF
            else:
                total = int(
                    fingerprint_words(words.values, first * wide, last * wide, words.factors)
                )
                for i in range(first, last):
                    squared[i] = sum_of_squares(points, i, centers, 0)
        else:
            total = int(fingerprint_words(words.values, first * wide, last * wide, words.factors))
            for i in range(first, last):
                squared[i] = squared_distance(points, i, centers, 0, family)
        words.prints[first // BLOCK] = total
        for i in range(first, last):
            rows.labels[i], rows.n_compared[i] = 0, 1
        sum_block(masses, first // BLOCK)


@kernel
def evaluate(
    rows: Rows, centers: Centers, proposals: Proposals, family: Any, known: int, uniforms: Any,
    batch: int, start: int, stop: int, space: Sums,
) -> int:  # fmt: skip
    """Compare the proposals ``start`` to ``stop`` with the ``known`` centres they have pending.

    A proposal stops after the first group of centres that holds a witness: a centre nearer
    than √(u·q). Only witnesses matter: a proposal without one is accepted, and what the other
    centres' distances are is nobody's concern. So most sums stop early, at u·q.
    Returns the distances computed.
    """
    points, squared, n_compared = rows.points, proposals.squared, proposals.n_compared
    d, pairs, oldest = points.shape[1], 0, known
    # Reads a value of every cache line of the proposed rows: these reads do not wait for each
    # other, and what follows finds the rows in cache.
    touched = 0.0
    for b in range(start, stop):
        for j in range(0, d, LANES):
            touched += points[proposals.rows[b], j]
    space.sums[0] = touched
    for b in range(start, stop):
        i = proposals.rows[b]
        squared[b], proposals.labels[b] = rows.squared[i], rows.labels[i]
        n_compared[b] = rows.n_compared[i]
        oldest = n_compared[b] if n_compared[b] < oldest else oldest
    # Centres outside, proposals inside: 64 centres stay in cache for the whole batch. The
    # group in which a row's pending centres begin is taken whole: comparing with a centre again
    # changes nothing.
    for first in range(oldest - oldest % COLUMNS, known, COLUMNS):
        last = first + COLUMNS if first + COLUMNS < known else known
        for b in range(start, stop):
            i = proposals.rows[b]
            at = n_compared[b]
            limit = uniforms[batch, 1, b] * np.float64(rows.squared[i])
            if squared[b] < limit or at < first or at >= last:
                continue
            pairs += last - at
            n_compared[b] = last
            if family is None:
                _fill_rounded_up(limit, space.limits)
                if squares(points, i, centers.columns, first * d, space.limits, space.sums):
                    for c in range(COLUMNS):
                        if space.sums[c] < squared[b]:
                            squared[b], proposals.labels[b] = space.sums[c], first + c
            else:
                least, near = rows.squared[i], rows.labels[i]
                for s in range(at, last):
                    distance = squared_distance(points, i, centers.rows, s, family)
                    if distance < least:
                        least, near = distance, s
                if least < limit:
                    squared[b], proposals.labels[b] = least, near
    return pairs


@inlined
def _fill_rounded_up(value: float, out: Any) -> None:
    """Fill ``out`` with the least number of its precision that is not below ``value``.

    Then x < value if and only if x < out[c], for every x of that precision.
    """
    out[0] = value
    if np.float64(out[0]) < value:
        out[0] = np.nextafter(out[0], out.dtype.type(np.inf))
    for c in range(COLUMNS):
        out[c] = out[0]


@kernel
def settle(
    rows: Rows, masses: Masses, centers: Centers, proposals: Proposals, family: Any, known: int,
    uniforms: Any, batch: int,
) -> Any:  # fmt: skip
    """Accept or reject the evaluated proposals in order.

    The proposals were compared with ``known`` centres in `evaluate`; those accepted here are
    compared with the proposals after them. Returns the proposals settled, those accepted, the
    distances computed and how many of all were spent on rejected proposals.
    """
    points, squared, n_compared = rows.points, proposals.squared, proposals.n_compared
    now, settled, pairs, wasted = known, 0, 0, 0
    wanted, d = centers.rows.shape[0], points.shape[1]
    initial = wanted - centers.indices.shape[0]
    for b in range(proposals.rows.shape[0]):
        if now == wanted:
            break
        settled += 1
        i = proposals.rows[b]
        mass = rows.squared[i] * (masses.weights[i] if masses.weights.shape[0] else 1.0)
        limit = uniforms[batch, 1, b] * np.float64(rows.squared[i])
        is_open = squared[b] >= limit and mass > 0.0
        if is_open:
            for s in range(known, now):
                distance = squared_distance(points, i, centers.rows, s, family)
                pairs += 1
                n_compared[b] = s + 1
                if distance < limit:
                    squared[b], proposals.labels[b] = distance, s
                    is_open = False
                    break
        if is_open and squared[b] > 0.0:
            group = now // COLUMNS * d
            for j in range(d):
                centers.rows[now, j] = points[i, j]
                centers.columns[group + _place_of(j, d), now % COLUMNS] = points[i, j]
            centers.indices[now - initial] = i
            squared[b], proposals.labels[b], n_compared[b] = 0.0, now, now + 1
            now += 1
        else:
            wasted += n_compared[b] - rows.n_compared[i]
    for b in range(settled):
        i = proposals.rows[b]
        if n_compared[b] > rows.n_compared[i]:
            rows.squared[i], rows.labels[i] = squared[b], proposals.labels[b]
            rows.n_compared[i] = n_compared[b]
            refresh_block(masses, i // BLOCK)
    return settled, now - known, pairs, wasted


@kernel
def run_batches(
    rows: Rows, masses: Masses, centers: Centers, proposals: Proposals, family: Any, known: int,
    uniforms: Any, forecast: Forecast, refreshed: int, least: float, counts: Any, space: Sums,
) -> int:  # fmt: skip
    """Run whole batches of proposals until one of four things happens.

    All seeds found; less mass left than ``least``; no uniforms left; or a refresh is due. Returns
    the batches used; ``counts`` gathers proposals, seeds, distances, and the cost of rejected
    proposals and their number, which may begin with those since the last refresh.
    """
    wanted, used = centers.rows.shape[0], 0
    for batch in range(uniforms.shape[0]):
        if known == wanted or masses.sums[1] < least:
            break
        draw_rows(masses, uniforms, batch, 0, proposals.targets, proposals.rows)
        pairs = evaluate(
            rows, centers, proposals, family, known, uniforms, batch, 0, proposals.rows.shape[0],
            space,
        )  # fmt: skip
        settled, accepted, more, wasted = settle(
            rows, masses, centers, proposals, family, known, uniforms, batch
        )
        known += accepted
        counts[0] += settled
        counts[1] += accepted
        counts[2] += pairs + more
        counts[3] += (settled - accepted) * forecast.proposal + wasted * forecast.pair
        counts[4] += settled
        used += 1
        if _refresh_is_due(forecast, counts[3], counts[4], known, wanted, refreshed):
            break
    return used


@kernel
def partial_refresh(
    rows: Rows, masses: Masses, centers: Any, family: Any, known: int, threshold: float,
    start: int, stop: int, tile: Tile,
) -> int:  # fmt: skip
    """Compare the rows of mass at least ``threshold`` with all centres they have pending.

    ``start`` and ``stop`` are rows, at multiples of a block. Sums of blocks are brought up to
    date, inner nodes of the tree are left to the caller. Returns the distances computed.
    """
    n, leaves, weights = rows.squared.shape[0], masses.sums.shape[0] // 2, masses.weights
    size, pairs = 0, 0
    first_block, last_block = start // BLOCK, (stop + BLOCK - 1) // BLOCK
    for b in range(first_block, last_block):
        if masses.sums[leaves + b] < threshold or masses.sums[leaves + b] <= 0.0:
            continue
        for i in range(b * BLOCK, (b + 1) * BLOCK if (b + 1) * BLOCK < n else n):
            mass = np.float64(rows.squared[i])
            if weights.shape[0]:
                mass *= weights[i]
            is_chosen = (mass >= threshold) & (mass > 0.0) & (rows.n_compared[i] < known)
            if family is None:
                # No branch: which rows have much mass is anyone's guess.
                tile.rows[size] = i
                size += is_chosen
                if size == COLUMNS:
                    pairs += compare_tile(rows, centers, 0, known, size, tile)
                    size = 0
            elif is_chosen:
                pairs += compare_row(rows, i, centers, 0, known, family)
    if family is None:  # noqa: SIM102  by itself, or Numba would compile it for all families
        if size > 0:
            pairs += compare_tile(rows, centers, 0, known, size, tile)
    for b in range(first_block, last_block):
        if not (masses.sums[leaves + b] < threshold or masses.sums[leaves + b] <= 0.0):
            sum_block(masses, b)
    return pairs
