"""Lazy k-means++ on sparse rows: what `kernels` does with dense ones, in the same steps.

A proposal meets all its pending centres at once, by the lists of `sparse_seeds`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from kseeds.distances.sparse_kernels import dot_with, from_dot
from kseeds.methods.plusplus.lazy.sparse_seeds import NONE, Lists
from kseeds.methods.plusplus.lazy.state import Proposals
from kseeds.nearest.state import Rows
from kseeds.runtime.block_sizes import BLOCK, COLUMNS
from kseeds.runtime.compiler import inlined, kernel
from kseeds.sampling.sum_tree import Masses
from kseeds.sampling.sum_tree_kernels import refresh_block, sum_block

PARTS = 48
"""Parts that the entries of a proposal are sorted into: by powers of two of what they are worth."""
_FEW_STEPS = 4
"""Steps along lists, per entry of a proposal, that are taken without looking for shorter ways."""
_LEFT_OUT = 0.5
"""Of the product that it would take, what the columns left out may have."""


class Space(NamedTuple):
    """A workspace: products with all seeds, parts of a proposal, a dense row of zeros."""

    dots: Any
    parts: Any
    dense: Any


@kernel
def first_pass(
    rows: Rows, masses: Masses, seeds: Lists, dense: Any, family: Any, start: int, stop: int
) -> None:
    """Compare rows ``start`` to ``stop`` with the first centre, ``dense``; sum their blocks."""
    points = rows.points
    for first in range(start, stop, BLOCK):
        for i in range(first, first + BLOCK if first + BLOCK < stop else stop):
            dot = dot_with(points, i, dense)
            rows.squared[i] = from_dot(dot, points, i, seeds.rows, 0, family)
            rows.labels[i], rows.n_compared[i] = 0, 1
        sum_block(masses, first // BLOCK)


@kernel
def link(seeds: Lists, known: int) -> None:
    """Enter the first seeds, so many, in the lists."""
    for number in range(known):
        for place in range(seeds.rows.indptr[number], seeds.rows.indptr[number + 1]):
            _enter(seeds, seeds.rows.indices[place], number, seeds.rows.data[place])


@inlined
def _enter(seeds: Lists, column: int, number: int, value: Any) -> None:
    """Append the newest entry to the list of a column; the caller has made room."""
    chunks, chunk = seeds.chunks, seeds.heads[column]
    if chunk < 0 or chunks[chunk, 1] == chunks[chunk, 2]:
        new, room = seeds.used[1], 1 if chunk < 0 else 2 * chunks[chunk, 2]
        chunks[new, 0], chunks[new, 1] = seeds.used[0], 0
        chunks[new, 2], chunks[new, 3] = room, chunk
        seeds.used[0] += room
        seeds.used[1] += 1
        seeds.heads[column] = new
        chunk = new
    place = chunks[chunk, 0] + chunks[chunk, 1]
    seeds.owners[place], seeds.values[place] = number, value
    chunks[chunk, 1] += 1


@inlined
def _entries_in(seeds: Lists, column: int) -> int:
    """Return how many seeds have an entry in a column."""
    chunk = seeds.heads[column]
    # All chunks before it have one entry less than it has room for.
    return seeds.chunks[chunk, 1] + seeds.chunks[chunk, 2] - 1 if chunk >= 0 else 0


@inlined
def _walk(seeds: Lists, column: int, value: float, first: Any, dots: Any) -> None:
    """Add what a column contributes to the products with the seeds from ``first`` on.

    Seeds are unsigned: else every use of one would look whether it counts from the end.
    """
    chunks, owners, values, chunk = seeds.chunks, seeds.owners, seeds.values, seeds.heads[column]
    while chunk >= 0:
        start, stop = chunks[chunk, 0], chunks[chunk, 0] + chunks[chunk, 1]
        chunk = chunks[chunk, 3]
        if owners[start] >= first:
            for q in range(start, stop):
                dots[owners[q]] += value * np.float64(values[q])
            continue
        chunk, q = NONE, stop - 1  # all chunks before it are older still
        while owners[q] >= first:
            dots[owners[q]] += value * np.float64(values[q])
            q -= 1


@kernel
def dots_with_seeds(points: Any, i: int, seeds: Lists, first: int, last: int, dots: Any) -> None:
    """Write the scalar products of row i with the seeds ``first`` to ``last``."""
    dots[first:last] = 0.0
    for p in range(points.indptr[i], points.indptr[i + 1]):
        _walk(seeds, points.indices[p], np.float64(points.data[p]), np.uint32(first), dots)


@kernel
def bounds_with_seeds(
    points: Any, i: int, seeds: Lists, first: int, last: int, limit: float, dots: Any, parts: Any
) -> float:
    """Write the scalar products of row i with the seeds ``first`` to ``last`` in some columns.

    Returns the norm of the row in the other columns: what it has there in common with a seed is at
    most this times the norm of the seed (Cauchy and Schwarz). It is 0 if no column was left out.
    Left out are columns of long lists in which the row has little, as many as leave
    seeds of its own norm too far away to be nearer than ``limit``. ``parts`` is a workspace.
    """
    norm, steps = points.norms[i], 0
    for p in range(points.indptr[i], points.indptr[i + 1]):
        steps += _entries_in(seeds, points.indices[p])
    own = norm - 0.5 * limit  # of a product with a seed of the same norm, to be that near
    pending = np.float64(last - first) / np.float64(last)
    if steps * pending < _FEW_STEPS * (points.indptr[i + 1] - points.indptr[i]) or own <= 0.0:
        dots_with_seeds(points, i, seeds, first, last, dots)
        return 0.0
    parts[:] = 0.0
    _, top = math.frexp(norm)
    for p in range(points.indptr[i], points.indptr[i + 1]):
        square = np.float64(points.data[p]) * np.float64(points.data[p])
        length = _entries_in(seeds, points.indices[p])
        parts[_part_of(square, length, top, parts.shape[0])] += square
    most = (_LEFT_OUT * own) * (_LEFT_OUT * own) / norm
    cut, left = 0, 0.0
    while cut < parts.shape[0] - 1 and left + parts[cut] <= most:
        left += parts[cut]
        cut += 1
    if left == 0.0:
        dots_with_seeds(points, i, seeds, first, last, dots)
        return 0.0
    dots[first:last] = 0.0
    for p in range(points.indptr[i], points.indptr[i + 1]):
        value = np.float64(points.data[p])
        length = _entries_in(seeds, points.indices[p])
        if _part_of(value * value, length, top, parts.shape[0]) >= cut:
            _walk(seeds, points.indices[p], value, np.uint32(first), dots)
    return math.sqrt(left)


@inlined
def _part_of(square: float, length: int, top: int, parts: int) -> int:
    """Return which part an entry belongs to: the first are those that cost most for what they hold.

    Entries of columns without a list are in the last, which is not left out.
    """
    if length == 0 or square == 0.0:
        return parts - 1
    _, exponent = math.frexp(square / length)
    part = exponent - top + parts - 2
    return part if part > 0 else 0


@inlined
def _is_beyond(
    points: Any, i: int, seeds: Lists, s: int, dot: float, left: float, limit: float
) -> bool:
    """Tell whether row i is surely farther from seed s than a squared distance.

    ``left`` is what `bounds_with_seeds` returns. See `kseeds.distances.sparse_reference` for the
    error; an arc is longer than its chord.
    """
    norms = points.norms[i] + seeds.rows.norms[s]
    error = 4.0 * (points.indptr[i + 1] - points.indptr[i] + 4) * np.finfo(np.float64).eps
    most = dot + left * seeds.lengths[s]
    return bool(norms - 2.0 * most - error * norms > 1.001 * limit)


@kernel
def evaluate(
    rows: Rows, seeds: Lists, proposals: Proposals, family: Any, known: int, uniforms: Any,
    batch: int, start: int, stop: int, space: Space,
) -> int:  # fmt: skip
    """Compare the proposals ``start`` to ``stop`` with the ``known`` centres they have pending.

    A proposal stops after the first group of centres that holds a witness, as in `kernels`.
    Returns the distances computed: those of centres that products do not rule out.
    """
    points, dots, pairs = rows.points, space.dots, 0
    for b in range(start, stop):
        i, is_written = proposals.rows[b], False
        oldest = rows.n_compared[i]
        least, near, left = rows.squared[i], rows.labels[i], 0.0
        limit = uniforms[batch, 1, b] * np.float64(least)
        proposals.squared[b], proposals.labels[b] = least, near
        at = oldest
        if oldest < known and least >= limit:
            left = bounds_with_seeds(points, i, seeds, oldest, known, limit, dots, space.parts)
        while at < known and not (least < limit):
            group = at - at % COLUMNS + COLUMNS
            last = group if group < known else known
            for s in range(at, last):
                dot = dots[s]
                if _is_beyond(points, i, seeds, s, dot, left, limit):
                    continue
                pairs += 1
                if left > 0.0:
                    if not is_written:
                        _write(points, i, 1.0, space.dense)
                        is_written = True
                    dot = dot_with(seeds.rows, s, space.dense)
                distance = from_dot(dot, points, i, seeds.rows, s, family)
                if distance < least:
                    least, near = distance, s
            at = last
        if least < limit:
            proposals.squared[b], proposals.labels[b] = least, near
        proposals.n_compared[b] = at
        if is_written:
            _write(points, i, 0.0, space.dense)
    return pairs


@inlined
def _write(points: Any, i: int, scale: float, dense: Any) -> None:
    """Write row i, times 1 or 0, to a dense row."""
    for p in range(points.indptr[i], points.indptr[i + 1]):
        dense[points.indices[p]] = scale * np.float64(points.data[p])


@kernel
def settle(
    rows: Rows, masses: Masses, seeds: Lists, proposals: Proposals, family: Any, known: int,
    uniforms: Any, batch: int, dots: Any,
) -> Any:  # fmt: skip
    """Accept or reject the evaluated proposals in order: see `kernels.settle`.

    Seeds of the same batch are the newest of their lists, where one walk meets them all.
    """
    points, squared, n_compared = rows.points, proposals.squared, proposals.n_compared
    now, settled, pairs, wasted = known, 0, 0, 0
    wanted = seeds.rows.norms.shape[0]
    initial = wanted - seeds.indices.shape[0]
    for b in range(proposals.rows.shape[0]):
        if now == wanted:
            break
        settled += 1
        i = proposals.rows[b]
        mass = rows.squared[i] * (masses.weights[i] if masses.weights.shape[0] else 1.0)
        limit = uniforms[batch, 1, b] * np.float64(rows.squared[i])
        is_open = squared[b] >= limit and mass > 0.0
        if is_open:
            dots_with_seeds(points, i, seeds, known, now, dots)
            for s in range(known, now):
                n_compared[b] = s + 1
                if _is_beyond(points, i, seeds, s, dots[s], 0.0, limit):
                    continue
                pairs += 1
                distance = from_dot(dots[s], points, i, seeds.rows, s, family)
                if distance < limit:
                    squared[b], proposals.labels[b] = distance, s
                    is_open = False
                    break
        if is_open and squared[b] > 0.0:
            _append(points, i, seeds, now)
            seeds.indices[now - initial] = i
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


@inlined
def _append(points: Any, i: int, seeds: Lists, number: int) -> None:
    """Make row i the seed of this number; the caller has made room."""
    place = seeds.rows.indptr[number]
    for p in range(points.indptr[i], points.indptr[i + 1]):
        column = points.indices[p]
        seeds.rows.data[place], seeds.rows.indices[place] = points.data[p], column
        _enter(seeds, column, number, points.data[p])
        place += 1
    seeds.rows.indptr[number + 1], seeds.rows.norms[number] = place, points.norms[i]
    seeds.lengths[number] = math.sqrt(points.norms[i])


@kernel
def entries_of(points: Any, rows: Any) -> int:
    """Return how many entries some rows have."""
    total = 0
    for b in range(rows.shape[0]):
        total += points.indptr[rows[b] + 1] - points.indptr[rows[b]]
    return total


@kernel
def partial_refresh(
    rows: Rows, masses: Masses, seeds: Lists, family: Any, known: int, threshold: float,
    start: int, stop: int, dots: Any,
) -> int:  # fmt: skip
    """Compare the rows of mass at least ``threshold`` with all centres they have pending.

    Sums of blocks are brought up to date, inner nodes are left to the caller. Returns the
    distances computed.
    """
    points, pairs, weights = rows.points, 0, masses.weights
    for b in range(start // BLOCK, (stop + BLOCK - 1) // BLOCK):
        changed = False
        for i in range(b * BLOCK, (b + 1) * BLOCK if (b + 1) * BLOCK < stop else stop):
            mass = np.float64(rows.squared[i]) * (weights[i] if weights.shape[0] else 1.0)
            oldest = rows.n_compared[i]
            if mass < threshold or mass <= 0.0 or oldest >= known:
                continue
            dots_with_seeds(points, i, seeds, oldest, known, dots)
            for s in range(oldest, known):
                limit = np.float64(rows.squared[i])
                if _is_beyond(points, i, seeds, s, dots[s], 0.0, limit):
                    continue
                distance = from_dot(dots[s], points, i, seeds.rows, s, family)
                if distance < rows.squared[i]:
                    rows.squared[i], rows.labels[i] = distance, s
            rows.n_compared[i] = known
            pairs += known - oldest
            changed = True
        if changed:
            sum_block(masses, b)
    return pairs
