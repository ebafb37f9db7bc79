"""Lazy k-means++ on sparse rows: what `kernels` does with dense ones, in the same steps.

A proposal meets all its pending centres at once, by the lists of `sparse_seeds`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kseeds.distances.sparse_kernels import dot_with, from_dot
from kseeds.methods.plusplus.lazy.sparse_seeds import Lists
from kseeds.methods.plusplus.lazy.state import Proposals
from kseeds.nearest.state import Rows
from kseeds.runtime.block_sizes import BLOCK, COLUMNS
from kseeds.runtime.compiler import inlined, kernel
from kseeds.sampling.sum_tree import Masses
from kseeds.sampling.sum_tree_kernels import refresh_block, sum_block


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
def copy_lists(seeds: Lists, known: int) -> None:
    """Copy the lists of all columns, one after the other."""
    place = 0
    for entry in range(seeds.rows.indptr[known]):
        column = seeds.rows.indices[entry]
        at = seeds.heads[column]
        # All lists are copied from their newest entry on, each when that comes up.
        if at != entry:
            continue
        seeds.bounds[column, 0] = place
        while at >= 0:
            seeds.copies[place], seeds.copied_owners[place] = seeds.rows.data[at], seeds.owners[at]
            place += 1
            at = seeds.following[at]
        seeds.bounds[column, 1] = place


@kernel
def dots_with_seeds(
    points: Any, i: int, seeds: Lists, n_copied: int, first: int, last: int, dots: Any
) -> None:
    """Write the scalar products of row i with the seeds ``first`` to ``last``."""
    for s in range(last - first):
        dots[s] = 0.0
    newer = n_copied if n_copied > first else first
    for p in range(points.indptr[i], points.indptr[i + 1]):
        column, value = points.indices[p], np.float64(points.data[p])
        at = seeds.heads[column]
        while at >= 0 and seeds.owners[at] >= newer:
            dots[seeds.owners[at] - first] += value * np.float64(seeds.rows.data[at])
            at = seeds.following[at]
        if n_copied > first:
            for q in range(seeds.bounds[column, 0], seeds.bounds[column, 1]):
                if seeds.copied_owners[q] < first:
                    break
                dots[seeds.copied_owners[q] - first] += value * np.float64(seeds.copies[q])


@inlined
def _is_beyond(points: Any, i: int, seeds: Lists, s: int, dot: float, limit: float) -> bool:
    """Tell whether row i is surely farther from seed s than a squared distance.

    See `kseeds.distances.sparse_reference` for the error; an arc is longer than its chord.
    """
    norms = points.norms[i] + seeds.rows.norms[s]
    error = 4.0 * (points.indptr[i + 1] - points.indptr[i] + 4) * np.finfo(np.float64).eps
    return bool(norms - 2.0 * dot - error * norms > 1.001 * limit)


@kernel
def evaluate(
    rows: Rows, seeds: Lists, proposals: Proposals, family: Any, n_copied: int, known: int,
    uniforms: Any, batch: int, start: int, stop: int, dots: Any,
) -> int:  # fmt: skip
    """Compare the proposals ``start`` to ``stop`` with the ``known`` centres they have pending.

    A proposal stops after the first group of centres that holds a witness, as in `kernels`.
    Returns the distances computed: a centre without a product with the row costs next to nothing.
    """
    points, pairs = rows.points, 0
    for b in range(start, stop):
        i = proposals.rows[b]
        oldest = rows.n_compared[i]
        least, near = rows.squared[i], rows.labels[i]
        limit = uniforms[batch, 1, b] * np.float64(least)
        proposals.squared[b], proposals.labels[b] = least, near
        at = oldest
        if oldest < known and least >= limit:
            dots_with_seeds(points, i, seeds, n_copied, oldest, known, dots)
        while at < known and not (least < limit):
            group = at - at % COLUMNS + COLUMNS
            last = group if group < known else known
            for s in range(at, last):
                dot = dots[s - oldest]
                if dot != 0.0:
                    pairs += 1
                if _is_beyond(points, i, seeds, s, dot, limit):
                    continue
                distance = from_dot(dot, points, i, seeds.rows, s, family)
                if distance < least:
                    least, near = distance, s
            at = last
        if least < limit:
            proposals.squared[b], proposals.labels[b] = least, near
        proposals.n_compared[b] = at
    return pairs


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
            dots_with_seeds(points, i, seeds, known, known, now, dots)
            for s in range(known, now):
                pairs += 1
                n_compared[b] = s + 1
                if _is_beyond(points, i, seeds, s, dots[s - known], limit):
                    continue
                distance = from_dot(dots[s - known], points, i, seeds.rows, s, family)
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
        seeds.owners[place], seeds.following[place] = number, seeds.heads[column]
        seeds.heads[column] = place
        place += 1
    seeds.rows.indptr[number + 1], seeds.rows.norms[number] = place, points.norms[i]


@kernel
def entries_of(points: Any, rows: Any) -> int:
    """Return how many entries some rows have."""
    total = 0
    for b in range(rows.shape[0]):
        total += points.indptr[rows[b] + 1] - points.indptr[rows[b]]
    return total


@kernel
def partial_refresh(
    rows: Rows, masses: Masses, seeds: Lists, family: Any, n_copied: int, known: int,
    threshold: float, start: int, stop: int, dots: Any,
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
            dots_with_seeds(points, i, seeds, n_copied, oldest, known, dots)
            for s in range(oldest, known):
                limit = np.float64(rows.squared[i])
                if _is_beyond(points, i, seeds, s, dots[s - oldest], limit):
                    continue
                distance = from_dot(dots[s - oldest], points, i, seeds.rows, s, family)
                if distance < rows.squared[i]:
                    rows.squared[i], rows.labels[i] = distance, s
            rows.n_compared[i] = known
            pairs += known - oldest
            changed = True
        if changed:
            sum_block(masses, b)
    return pairs
