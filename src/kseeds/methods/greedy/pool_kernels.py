"""Kernels of the steps that a pool of candidates serves, by their lists of rows.

What is in a list: see `kseeds.methods.greedy.pool_list_kernels`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kseeds.distances.pair_kernels import sum_of_squares
from kseeds.methods.greedy.pool_list_kernels import PARTS, Rows
from kseeds.methods.greedy.proposal_kernels import is_accepted, is_outdated
from kseeds.methods.greedy.rule import TIE
from kseeds.runtime.block_sizes import BLOCK, LANES
from kseeds.runtime.compiler import inlined, kernel
from kseeds.sampling.sum_tree import Masses
from kseeds.sampling.sum_tree_kernels import draw_rows, sum_block, sum_inner
from kseeds.simd.runs import prefetch

_prefetch = prefetch()

_UNIT = 1.0 / PARTS * (1.0 - 1e-12)
_AHEAD = 8
"""Rows that are read ahead of the one that is looked at."""
SUMMING = 1e-7
"""Rounding of sums in double precision, as a share of them, and more."""


class Pool(NamedTuple):
    """Proposals in their order, each with its number, and the list of rows of its column.

    Of block b, the list of column k is from ``starts[b, k]`` to ``starts[b, k + 1]``. Upper bounds
    of distances in it are ``doubts[b, k]`` more than lower ones.
    """

    rows: Any
    columns: Any
    uniforms: Any
    numbers: Any
    of_columns: Any
    starts: Any
    doubts: Any
    entries: Any


class Step(NamedTuple):
    """The columns of a step, bounds of their gains by block, their sums, and the exact gains.

    ``place`` has the place in the pool, the columns of the step, the entries looked at, and the
    columns of all steps.
    """

    columns: Any
    most: Any
    least: Any
    exact: Any
    totals: Any
    place: Any


@kernel
def look_ahead(
    frozen: Masses, numbers: Any, first: int, squared: Any, targets: Any, rows: Any, places: Any
) -> int:
    """Write the next proposals that could be accepted now, with their numbers; return how many."""
    at, found = first, 0
    while found < rows.shape[0]:
        missing = min(rows.shape[0] - found, numbers.shape[2] - at)
        if missing == 0:
            break
        begin = found
        draw_rows(frozen, numbers, 0, at, targets, rows[begin : begin + missing])
        for b in range(missing):
            i = rows[begin + b]
            if is_accepted(numbers[0, 1, at + b], frozen.bounds[i], squared[i]):
                rows[found], places[found] = i, at + b
                found += 1
        at += missing
    return found


@kernel
def next_candidates(rows: Rows, pool: Pool, bounds: Any, step: Step) -> bool:
    """Write the columns of the next step, each once; or tell that the pool has not enough."""
    at, accepted, count = step.place[0], 0, 0
    trials = step.columns.shape[0]
    while accepted < trials:
        if at == pool.rows.shape[0]:
            return False
        i = pool.rows[at]
        if is_accepted(pool.uniforms[at], bounds[i], rows.squared[i]):
            accepted += 1
            is_new, column = True, pool.columns[at]
            for q in range(count):
                is_new = is_new and step.columns[q] != column
            if is_new:
                step.columns[count] = column
                count += 1
        at += 1
    step.place[0], step.place[1] = at, count
    step.place[3] += count
    return True


@kernel
def bound_gains(rows: Rows, pool: Pool, bounds: Any, first: Any, last: Any, step: Step) -> int:
    """Bound the gains of a step in some blocks, from both sides; return the entries looked at."""
    looked, is_weighted = 0, rows.weights.shape[0] > 0
    for block in range(first, last):
        start = block * rows.size
        for q in range(step.place[1]):
            column, most, least = step.columns[q], 0.0, 0.0
            begin, end = pool.starts[block, column], pool.starts[block, column + 1]
            doubt = pool.doubts[block, column]
            looked += end - begin
            for e in range(begin, end):
                entry = np.int64(pool.entries[e])
                i = start + (entry & 0xFFFF)
                now, unit = np.float64(rows.squared[i]), np.float64(bounds[i]) * _UNIT
                lowered = now - (entry >> 16) * unit
                if lowered > 0.0:
                    weight = rows.weights[i] if is_weighted else 1.0
                    most += weight * lowered
                    surely = lowered - 1.01 * unit - 8.0 * rows.relative * now - doubt
                    least += weight * (surely if surely > 0.0 else 0.0)
            step.most[block, q], step.least[block, q] = most, least
    return looked


@inlined
def _read_ahead(points: Any, i: Any) -> None:
    """Have a row read before it is needed."""
    for j in range(0, points.shape[1], LANES):
        _prefetch(points, i * points.shape[1] + j)


@kernel
def exact_gains(
    rows: Rows, pool: Pool, bounds: Any, column: int, first: Any, last: Any, gains: Any
) -> None:
    """Write the exact gain of a column in some blocks."""
    candidate = pool.of_columns[column]
    for block in range(first, last):
        start, total = block * rows.size, 0.0
        begin, end = pool.starts[block, column], pool.starts[block, column + 1]
        for e in range(begin, end):
            if e + _AHEAD < end:
                _read_ahead(rows.points, start + (np.int64(pool.entries[e + _AHEAD]) & 0xFFFF))
            entry = np.int64(pool.entries[e])
            i = start + (entry & 0xFFFF)
            now = np.float64(rows.squared[i])
            if (entry >> 16) * (np.float64(bounds[i]) * _UNIT) < now:
                found = np.float64(sum_of_squares(rows.points, i, rows.points, candidate))
                if found < now:
                    total += (rows.weights[i] if rows.weights.shape[0] else 1.0) * (now - found)
        gains[block] = total


@kernel
def take(
    rows: Rows, pool: Pool, masses: Masses, bounds: Any, column: int, number: int, first: Any,
    last: Any,
) -> None:  # fmt: skip
    """Compare the rows of some blocks with a column that becomes a centre; sum what has changed."""
    candidate = pool.of_columns[column]
    for block in range(first, last):
        start, changed = block * rows.size, -1
        begin, end = pool.starts[block, column], pool.starts[block, column + 1]
        for e in range(begin, end):
            if e + _AHEAD < end:
                _read_ahead(rows.points, start + (np.int64(pool.entries[e + _AHEAD]) & 0xFFFF))
            entry = np.int64(pool.entries[e])
            i: Any = start + (entry & 0xFFFF)
            if (entry >> 16) * (np.float64(bounds[i]) * _UNIT) < np.float64(rows.squared[i]):
                found = sum_of_squares(rows.points, i, rows.points, candidate)
                if found < rows.squared[i]:
                    rows.squared[i], rows.labels[i] = found, number
                    if i // BLOCK != changed:
                        if changed >= 0:
                            sum_block(masses, changed)
                        changed = i // BLOCK
        if changed >= 0:
            sum_block(masses, changed)


@kernel
def add_blocks(found: Any, count: int, totals: Any) -> None:
    """Add up what blocks have found of the candidates of a step, in the order of the blocks."""
    for q in range(count):
        totals[q] = 0.0
    for block in range(found.shape[0]):
        for q in range(count):
            totals[q] += found[block, q]


@kernel
def run(
    rows: Rows, pool: Pool, masses: Masses, frozen: Masses, least: float, number: int, most: int,
    seeds: Any, step: Step,
) -> int:  # fmt: skip
    """Take steps while Σ w·α² is at least ``least``, and at most so many entries were looked at.

    Stops where the pool or an epoch of proposals ends. Returns how many steps were taken.
    """
    # Not 0 itself, for which kernels would be compiled again.
    blocks, none, bounds, done = pool.starts.shape[0], np.int64(0), frozen.bounds, 0
    step.place[2] = 0
    while done < seeds.shape[0] and step.place[2] <= most and masses.sums[1] >= least:
        if is_outdated(masses.sums[1], frozen.sums[1]):
            break
        if not next_candidates(rows, pool, bounds, step):
            break
        step.place[2] += bound_gains(rows, pool, bounds, none, blocks, step)
        count, upper, lower, known = step.place[1], step.totals[0], step.totals[1], step.totals[2]
        add_blocks(step.most, count, upper)
        add_blocks(step.least, count, lower)
        surely = 0.0
        for q in range(count):
            surely = lower[q] if lower[q] > surely else surely
            known[q] = -1.0
        surely *= (1.0 - TIE) * (1.0 - SUMMING)
        left, at = 0, 0
        for q in range(count):
            if upper[q] * (1.0 + SUMMING) >= surely:
                left, at = left + 1, q
        if left > 1:
            best = 0.0
            while True:
                at = -1
                for q in range(count):
                    if known[q] < 0.0 and (at < 0 or upper[q] > upper[at]):
                        at = q
                if at < 0 or upper[at] * (1.0 + SUMMING) < best * (1.0 - TIE):
                    break
                if upper[at] * (1.0 + SUMMING) < surely:
                    break
                exact_gains(rows, pool, bounds, step.columns[at], none, blocks, step.exact)
                known[at] = 0.0
                for block in range(blocks):
                    known[at] += step.exact[block]
                best = known[at] if known[at] > best else best
            at = 0
            while known[at] < best * (1.0 - TIE):
                at += 1
        column = step.columns[at]
        take(rows, pool, masses, bounds, column, number + done, none, blocks)
        sum_inner(masses.sums)
        seeds[done] = pool.of_columns[column]
        done += 1
    return done
