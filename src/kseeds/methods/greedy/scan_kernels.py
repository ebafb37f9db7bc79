"""Kernels that look at all rows: bounds of gains, exact gains, and the rows of the winner."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kseeds.distances.metrics import FloatArray
from kseeds.distances.pair_kernels import squared_distance
from kseeds.methods.greedy.proposal_kernels import draw_candidates, is_outdated
from kseeds.methods.greedy.rule import TIE
from kseeds.methods.greedy.scan import SUMMING
from kseeds.nearest.brute_force_kernels import load_columns
from kseeds.runtime.aligned import aligned
from kseeds.runtime.block_sizes import BLOCK, COLUMNS
from kseeds.runtime.compiler import inlined, kernel
from kseeds.sampling.sum_tree import Masses
from kseeds.sampling.sum_tree_kernels import sum_block, sum_inner
from kseeds.simd.products import ABREAST, four_products

_four_products = four_products()


class Scanned(NamedTuple):
    """The rows, what is known of each, and what bounds their products; see `scan.State`."""

    points: Any
    squared: Any
    labels: Any
    weights: Any
    norms: Any
    within: Any
    mean: Any
    epsilon: float
    of_squared: float


class Candidates(NamedTuple):
    """Candidates as rows, and as factors, four side by side, with what is added to products."""

    centers: Any
    factors: Any
    added: Any
    errors: Any


class Workspace(NamedTuple):
    """The numbers of 64 rows; what a product may be at most to lower a row, its error, weights."""

    rows: Any
    products: Any
    room: Any
    error: Any
    weight: Any
    within: Any


def workspace(points: FloatArray) -> Workspace:
    """Return what `run` needs."""
    products = aligned((ABREAST, COLUMNS), points.dtype)
    room, error = aligned((2, COLUMNS), points.dtype)
    rows, within = aligned(COLUMNS, np.int64), aligned(COLUMNS, np.uint16)
    return Workspace(rows, products, room, error, aligned(COLUMNS, np.float64), within)


@kernel
def set_norms(points: Any, mean: Any, start: int, stop: int, norms: Any) -> None:
    """Write the squared norms of rows about the mean."""
    for i in range(start, stop):
        total = 0.0
        for j in range(points.shape[1]):
            value = np.float64(points[i, j] - mean[j])
            total += value * value
        norms[i] = total


@inlined
def _bound_tile(
    columns: Any, low: int, stop: int, rows: Scanned, candidates: Candidates, gains: Any,
    errors: Any, space: Workspace,
) -> None:  # fmt: skip
    """Add the gains of up to 64 rows from ``low`` on, which are columns about the mean."""
    count, size = candidates.centers.shape[0], COLUMNS if low + COLUMNS < stop else stop - low
    room, error, within = space.room, space.error, space.within
    zero, one = room.dtype.type(0.0), np.uint16(1)
    epsilon, of_squared = room.dtype.type(rows.epsilon), room.dtype.type(rows.of_squared)
    for c in range(COLUMNS):
        room[c], error[c], within[c], space.weight[c] = -np.inf, zero, 0, 1.0
    for c in range(size):
        i = low + c
        room[c] = rows.squared[i] - rows.norms[i]
        error[c] = epsilon * rows.norms[i] + of_squared * rows.squared[i]
    if rows.weights.shape[0] > 0:
        for c in range(size):
            space.weight[c] = rows.weights[low + c]
    for first in range(0, count, ABREAST):
        _four_products(columns, candidates.factors, candidates.added, first, space.products)
        for q in range(first, first + ABREAST if first + ABREAST < count else count):
            wrong, bit = candidates.errors[q], one << np.uint16(q)
            for c in range(COLUMNS):
                lowered = room[c] - space.products[q - first, c]
                doubt = error[c] + wrong
                is_within = lowered > -doubt
                within[c] |= bit if is_within else np.uint16(0)
                gains[q, c] += space.weight[c] * (lowered if lowered > zero else zero)
                errors[q, c] += space.weight[c] * (doubt if is_within else zero)
    for c in range(size):
        rows.within[low + c] = within[c]


@inlined
def load_tile(rows: Scanned, low: int, stop: int, columns: Any, numbers: Any) -> None:
    """Write up to 64 rows from ``low`` on, about the mean, as columns."""
    size = COLUMNS if low + COLUMNS < stop else stop - low
    for c in range(COLUMNS):
        numbers[c] = low + c
    load_columns(rows.points, numbers, size, columns)
    for j in range(rows.points.shape[1]):
        for c in range(COLUMNS):
            columns[j, c] -= rows.mean[j]


@kernel
def load_all(rows: Scanned, tiles: Any, numbers: Any) -> None:
    """Write all rows, about the mean, as columns, 64 by 64."""
    n, d = rows.points.shape
    for low in range(0, n, COLUMNS):
        columns = tiles[low // COLUMNS * d : (low // COLUMNS + 1) * d]
        load_tile(rows, low, n, columns, numbers)


@kernel
def set_candidates(rows: Scanned, drawn: Any, order: Any, candidates: Candidates) -> int:
    """Write the rows drawn as candidates; return how many different ones there are.

    ``order[p]`` is the coordinate that stands at place p of a column, and of the mean.
    """
    d, count = order.shape[0], 0
    for q in range(drawn.shape[0]):
        is_new, i, square = True, drawn[q], 0.0
        for other in range(q):
            is_new = is_new and drawn[other] != i
        count += is_new
        for j in range(d):
            candidates.centers[q, j] = rows.points[i, j]
        for p in range(d):
            value = rows.points[i, order[p]] - rows.mean[p]
            square += np.float64(value) * np.float64(value)
            candidates.factors[q // ABREAST * d + p, q % ABREAST] = -2.0 * value
        candidates.added[q] = square
        candidates.errors[q] = rows.epsilon * square
    return count


@kernel
def run(
    rows: Scanned, tiles: Any, order: Any, masses: Masses, candidates: Candidates,
    frozen: Masses, numbers: Any, taken: Any, least: float, number: int, seeds: Any, found: Any,
    drawn: Any, targets: Any, space: Workspace,
) -> Any:  # fmt: skip
    """Take steps while Σ w·α² is at least ``least``; return how many, and the pairs compared.

    Stops where an epoch of proposals ends, or their numbers do.

    ``tiles`` are all rows as columns; ``found`` is a workspace of gains and of errors.
    """
    n, d, trials = rows.points.shape[0], order.shape[0], drawn.shape[0]
    gains, errors, pairs, done = found[0], found[1], 0, 0
    while done < seeds.shape[0] and masses.sums[1] >= least:
        if is_outdated(masses.sums[1], frozen.sums[1]):
            break
        if not draw_candidates(frozen, numbers, taken, masses.bounds, targets, drawn):
            break
        pairs += n * set_candidates(rows, drawn, order, candidates)
        for q in range(trials):
            for c in range(COLUMNS):
                gains[q, c], errors[q, c] = 0.0, 0.0
        for low in range(0, n, COLUMNS):
            columns = tiles[low // COLUMNS * d : (low // COLUMNS + 1) * d]
            _bound_tile(columns, low, n, rows, candidates, gains, errors, space)
        most_of_least = -np.inf
        for q in range(trials):
            for c in range(1, COLUMNS):
                gains[q, 0] += gains[q, c]
                errors[q, 0] += errors[q, c]
            errors[q, 0] += SUMMING * gains[q, 0]
            low_bound = gains[q, 0] - errors[q, 0]
            most_of_least = low_bound if low_bound > most_of_least else most_of_least
        bits, possible, at = np.int64(0), 0, 0
        for q in range(trials):
            if gains[q, 0] + errors[q, 0] >= most_of_least * (1.0 - TIE):
                bits |= np.int64(1) << q
                possible += 1
                at = q
        if possible > 1:
            for q in range(trials):
                gains[q, 0] = 0.0
            exact_gains(rows, candidates.centers, None, bits, 0, n, gains)
            most = 0.0
            for q in range(trials):
                most = gains[q, 0] if bits >> q & 1 and gains[q, 0] > most else most
            for q in range(trials - 1, -1, -1):
                if bits >> q & 1 and gains[q, 0] >= most * (1.0 - TIE):
                    at = q
        take(rows, candidates.centers, None, at, number + done, 0, n, masses)
        sum_inner(masses.sums)
        seeds[done] = drawn[at]
        done += 1
    return done, pairs


@kernel
def all_gains(rows: Scanned, centers: Any, family: Any, start: int, stop: int, gains: Any) -> None:
    """Add the gains of the rows ``start`` to ``stop`` by another metric, and set their bits."""
    for i in range(start, stop):
        weight = rows.weights[i] if rows.weights.shape[0] > 0 else 1.0
        bits = 0
        for q in range(centers.shape[0]):
            found = squared_distance(rows.points, i, centers, q, family)
            if found < rows.squared[i]:
                gains[q, 0] += weight * (np.float64(rows.squared[i]) - np.float64(found))
                bits |= 1 << q
        rows.within[i] = bits


@kernel
def exact_gains(
    rows: Scanned, centers: Any, family: Any, which: Any, start: int, stop: int,
    gains: Any,
) -> None:  # fmt: skip
    """Add the exact gains of the candidates whose bits are set in ``which``."""
    for i in range(start, stop):
        bits, q = which & np.int64(rows.within[i]), 0
        while bits != 0:
            if bits & 1:
                found = squared_distance(rows.points, i, centers, q, family)
                if found < rows.squared[i]:
                    weight = rows.weights[i] if rows.weights.shape[0] > 0 else 1.0
                    gains[q, 0] += weight * (np.float64(rows.squared[i]) - np.float64(found))
            bits >>= 1
            q += 1


@kernel
def take(
    rows: Scanned, centers: Any, family: Any, which: int, number: int, start: int,
    stop: int, masses: Masses,
) -> None:  # fmt: skip
    """Compare the rows ``start`` to ``stop`` with one candidate, where its bit is set.

    Sums the blocks again in which a row has changed; ``start`` is that of a block.
    """
    bit = np.uint16(1) << np.uint16(which)
    for low in range(start, stop, BLOCK):
        has_changed = False
        for i in range(low, low + BLOCK if low + BLOCK < stop else stop):
            if rows.within[i] & bit:
                found = squared_distance(rows.points, i, centers, which, family)
                if found < rows.squared[i]:
                    rows.squared[i], rows.labels[i] = found, number
                    has_changed = True
        if has_changed:
            sum_block(masses, low // BLOCK)
