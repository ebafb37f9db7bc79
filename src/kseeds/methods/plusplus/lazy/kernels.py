"""Lazy k-means++: proposals settled against the centres they have not met, and sweeps.

Row i carries a bound q_i, its squared distance to the nearest of the first ``met_i`` centres.
Centres are kept twice: as rows, and in groups of 64 columns (d × 64 each, one group below the
other, unused columns infinite) so that one row meets 64 centres at a time without a fold. See
`kseeds.methods.plusplus.lazy`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kseeds.distances.pair_kernels import EUCLIDEAN, squared_distance, sum_of_squares
from kseeds.inputs.fingerprint_kernels import print_words
from kseeds.methods.plusplus.lazy.costs import sweep_is_due
from kseeds.nearest.brute_force_kernels import catch_up_row, catch_up_tile, squares
from kseeds.runtime.block_sizes import BLOCK, COLUMNS, LANES, place_of
from kseeds.runtime.compiler import inlined, kernel
from kseeds.sampling.sum_tree_kernels import draw_rows, mass_of, refresh_block, sum_blocks
from kseeds.simd.rows import printed_sum_of_squares

_place_of = inlined(place_of)
_printed_sum = printed_sum_of_squares()


@kernel
def first_pass(
    points: Any, words: Any, factors: Any, start: int, stop: int, center: Any, family: int,
    weights: Any, bounds: Any, labels: Any, n_compared: Any, tree: Any, prints: Any,
) -> None:  # fmt: skip
    """Let rows ``start`` to ``stop`` meet the first centre; sum and fingerprint their blocks.

    ``words`` are the points as words of 32 bits, one after the other.
    """
    d = points.shape[1]
    wide = words.shape[0] // points.shape[0]
    lanes = np.zeros(LANES * points.itemsize // 4, np.uint32)
    for first in range(start, stop, BLOCK):
        last = min(first + BLOCK, stop)
        total = 0
        # A loop of its own for each kind: a choice inside the loop costs 10 ns a row.
        if family == EUCLIDEAN and d >= LANES:
            lanes[:] = 0
            for i in range(first, last):
                bounds[i] = _printed_sum(points, i, center, 0, factors, (i - first) * wide, lanes)
            for lane in range(lanes.shape[0]):
                total = (total + int(lanes[lane])) & 0xFFFFFFFF
        else:
            total = int(print_words(words, first * wide, last * wide, factors))
            if family == EUCLIDEAN:
                for i in range(first, last):
                    bounds[i] = sum_of_squares(points, i, center, 0)
            else:
                for i in range(first, last):
                    bounds[i] = squared_distance(points, i, center, 0, family)
        prints[first // BLOCK] = total
    labels[start:stop] = 0
    n_compared[start:stop] = 1
    sum_blocks(bounds, weights, start // BLOCK, (stop + BLOCK - 1) // BLOCK, tree)


@kernel
def propose(uniforms: Any, bounds: Any, weights: Any, tree: Any, rows: Any) -> None:
    """Draw a row for each uniform, in proportion to w·q."""
    draw_rows(bounds, weights, tree, uniforms, rows)


@kernel
def evaluate(
    points: Any, centers: Any, columns: Any, family: int, known: int, uniforms: Any, rows: Any,
    start: int, stop: int, bounds: Any, labels: Any, n_compared: Any,
    found: Any, found_labels: Any, seen: Any,
) -> int:  # fmt: skip
    """Let the proposals ``start`` to ``stop`` meet the ``known`` centres they have not met.

    A proposal stops after the first group of centres that holds a witness: a centre nearer
    than √(u·q). Only witnesses matter: a proposal without one is accepted, and what the other
    centres' distances are is nobody's concern. So most sums stop early, at u·q.
    Returns the distances computed.
    """
    sums = np.empty(COLUMNS, points.dtype)
    limits = np.empty(COLUMNS, points.dtype)
    pairs, oldest = 0, known
    # Reads a value of every cache line of the proposed rows: these reads do not wait for each
    # other, and what follows finds the rows in cache.
    touched = 0.0
    for b in range(start, stop):
        for j in range(0, points.shape[1], 16):
            touched += points[rows[b], j]
    sums[0] = touched
    for b in range(start, stop):
        i = rows[b]
        found[b], found_labels[b], seen[b] = bounds[i], labels[i], n_compared[i]
        oldest = min(oldest, n_compared[i])
    # Centres outside, proposals inside: 64 centres stay in cache for the whole batch. The
    # group in which a row's pending centres begin is taken whole: meeting a centre again
    # changes nothing.
    for first in range(oldest - oldest % COLUMNS, known, COLUMNS):
        last = min(first + COLUMNS, known)
        for b in range(start, stop):
            i = rows[b]
            at = seen[b]
            limit = uniforms[b] * np.float64(bounds[i])
            if found[b] < limit or at < first or at >= last:
                continue
            pairs += last - at
            seen[b] = last
            if family == EUCLIDEAN:
                fill_rounded_up(limit, limits)
                if squares(points, i, columns, first * points.shape[1], limits, sums):
                    for c in range(COLUMNS):
                        if sums[c] < found[b]:
                            found[b], found_labels[b] = sums[c], first + c
            else:
                least, near = bounds[i], labels[i]
                for s in range(at, last):
                    distance = squared_distance(points, i, centers, s, family)
                    if distance < least:
                        least, near = distance, s
                if least < limit:
                    found[b], found_labels[b] = least, near
    return pairs


@inlined
def fill_rounded_up(value: float, out: Any) -> None:
    """Fill ``out`` with the least number of its precision that is not below ``value``.

    Then x < value if and only if x < out[c], for every x of that precision.
    """
    out[0] = value
    if np.float64(out[0]) < value:
        out[0] = np.nextafter(out[0], out.dtype.type(np.inf))
    out[:] = out[0]


@kernel
def settle(
    points: Any, family: int, known: int, wanted: int, uniforms: Any, rows: Any, weights: Any,
    bounds: Any, labels: Any, n_compared: Any, found: Any, found_labels: Any, seen: Any,
    centers: Any, columns: Any, indices: Any, tree: Any,
) -> Any:  # fmt: skip
    """Accept or reject the evaluated proposals in order.

    ``known`` centres were met by the proposals in `evaluate`; those accepted here are met by
    the proposals after them. Returns the centres now known, the proposals settled, the
    distances computed and how many of all were spent on rejected proposals.
    """
    now, settled, pairs, wasted = known, 0, 0, 0
    initial = centers.shape[0] - indices.shape[0]
    for b in range(rows.shape[0]):
        if now == wanted:
            break
        settled += 1
        i = rows[b]
        start = n_compared[i]
        mass = bounds[i] * (weights[i] if weights.shape[0] else 1.0)
        limit = uniforms[b] * np.float64(bounds[i])
        open_ = found[b] >= limit and mass > 0.0
        if open_:
            for s in range(known, now):
                distance = squared_distance(points, i, centers, s, family)
                pairs += 1
                seen[b] = s + 1
                if distance < limit:
                    found[b], found_labels[b] = distance, s
                    open_ = False
                    break
        if open_ and found[b] > 0.0:
            add_center(points, i, now, centers, columns)
            indices[now - initial] = i
            found[b], found_labels[b], seen[b] = 0.0, now, now + 1
            now += 1
        else:
            wasted += seen[b] - start
    for b in range(settled):
        i = rows[b]
        if seen[b] > n_compared[i]:
            bounds[i], labels[i], n_compared[i] = found[b], found_labels[b], seen[b]
            refresh_block(bounds, weights, i // BLOCK, tree)
    return now, settled, pairs, wasted


@inlined
def add_center(points: Any, i: int, now: int, centers: Any, columns: Any) -> None:
    """Append row i to the centres in both layouts."""
    d = points.shape[1]
    group = now // COLUMNS * d
    for j in range(d):
        centers[now, j] = points[i, j]
        columns[group + _place_of(j, d), now % COLUMNS] = points[i, j]


_sweep_is_due = inlined(sweep_is_due)


@kernel
def run_batches(
    points: Any, family: int, known: int, wanted: int, uniforms: Any, weights: Any,
    draw_cost: float, pair_cost: float, price: Any, swept: int, least: float,
    bounds: Any, labels: Any, n_compared: Any, rows: Any, found: Any, found_labels: Any, seen: Any,
    centers: Any, columns: Any, indices: Any, tree: Any, counts: Any,
) -> Any:  # fmt: skip
    """Run whole batches of proposals until one of four things happens.

    All seeds found; less mass left than ``least``; no uniforms left; or what rejected proposals
    have cost since the last sweep has reached the price of a sweep. Returns the centres known and
    the batches used; ``counts`` gathers proposals, distances, and wasted cost.
    """
    used = 0
    for batch in range(uniforms.shape[0]):
        if known == wanted or tree[1] < least:
            break
        propose(uniforms[batch, 0], bounds, weights, tree, rows)
        pairs = evaluate(
            points, centers, columns, family, known, uniforms[batch, 1], rows, 0,
            rows.shape[0], bounds, labels, n_compared, found, found_labels, seen,
        )  # fmt: skip
        now, settled, more, wasted = settle(
            points, family, known, wanted, uniforms[batch, 1], rows, weights, bounds, labels,
            n_compared, found, found_labels, seen, centers, columns, indices, tree,
        )  # fmt: skip
        counts[0] += settled
        counts[3] += settled
        counts[1] += pairs + more
        counts[2] += (settled - (now - known)) * draw_cost + wasted * pair_cost
        known = now
        used += 1
        if _sweep_is_due(counts[2], counts[3], known, wanted, swept, price):
            break
    return known, used


@kernel
def sweep(
    points: Any, start: int, stop: int, centers: Any, family: int, known: int,
    threshold: float, weights: Any, bounds: Any, labels: Any, n_compared: Any, tree: Any,
) -> int:  # fmt: skip
    """Let the rows of mass at least ``threshold`` meet all centres they have not met.

    ``start`` and ``stop`` are rows, at multiples of a block. Sums of blocks are brought up to
    date, inner nodes of the tree are left to the caller. Returns the distances computed.
    """
    n, leaves, d = bounds.shape[0], tree.shape[0] // 2, points.shape[1]
    tile = np.zeros((d, COLUMNS), points.dtype)
    sums = np.empty(COLUMNS, points.dtype)
    best = np.empty(COLUMNS, points.dtype)
    near = np.empty(COLUMNS, np.int32)
    chosen = np.empty(COLUMNS, np.int64)
    size, pairs = 0, 0
    first_block, last_block = start // BLOCK, (stop + BLOCK - 1) // BLOCK
    weighted = weights.shape[0] > 0
    for b in range(first_block, last_block):
        if tree[leaves + b] < threshold or tree[leaves + b] <= 0.0:
            continue
        for i in range(b * BLOCK, min((b + 1) * BLOCK, n)):
            mass = np.float64(bounds[i])
            if weighted:
                mass *= weights[i]
            if mass < threshold or mass <= 0.0 or n_compared[i] >= known:
                continue
            if family != EUCLIDEAN:
                pairs += catch_up_row(points, i, centers, known, family, bounds, labels, n_compared)
                continue
            chosen[size] = i
            size += 1
            if size == COLUMNS:
                pairs += catch_up_tile(
                    points, centers, known, chosen, size, tile, sums, best, near,
                    bounds, labels, n_compared,
                )  # fmt: skip
                size = 0
    if size > 0:
        pairs += catch_up_tile(
            points, centers, known, chosen, size, tile, sums, best, near, bounds, labels, n_compared
        )
    for b in range(first_block, last_block):
        if not (tree[leaves + b] < threshold or tree[leaves + b] <= 0.0):
            tree[leaves + b] = mass_of(bounds, weights, b * BLOCK, min((b + 1) * BLOCK, n))
    return pairs
