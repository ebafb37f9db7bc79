"""Gains of candidates among sparse rows: see `kseeds.methods.greedy.postings`."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from kseeds.distances.sparse_kernels import dot_with, from_dot
from kseeds.runtime.block_sizes import BLOCK, LANES
from kseeds.runtime.compiler import inlined, kernel
from kseeds.sampling.sum_tree import Masses
from kseeds.sampling.sum_tree_kernels import sum_block, sum_inner
from kseeds.simd.runs import add_runs, gaps_within, prefetch

_add_runs, _gaps_within, _prefetch = add_runs(), gaps_within(), prefetch()

_AHEAD = 6
"""Rows that are read ahead of the one that is looked at."""

_ROW, _ENTRY = 60.0, 2.5
"""What looking at a row and at an entry of it costs, in steps along a list."""
_NEAR = 10.0
"""What a row costs that may be near and whose product is known exactly."""
_EXACT_SCAN, _ROUGH_SCAN = 1.0, 1.2
"""What any row costs: to have its product set to 0, or to a bound, and looked at."""
_LINE = 16
"""Entries that share a cache line, or two."""
_TINY = 1e-30
"""What single precision may lose of numbers about 1, or of the smallest beside them."""


class Postings(NamedTuple):
    """The entries of all rows by column: those from ``starts[j]`` to ``starts[j + 1]``.

    ``groups[j]`` is the group of column j that may be left out; -1 if it is kept as a dense one
    instead. Bounds are in units in which the largest norms are about 1: values times ``unit``, a
    power of two.
    """

    starts: Any
    rows: Any
    values: Any
    groups: Any
    unit: float


class Bounds(NamedTuple):
    """What rules rows out, in single precision; of one block of rows after the other.

    ``levels[b, l]`` is what the product of row l of block b with a candidate must reach for it to
    be nearer than the nearest centre, but for a part that depends on the candidate alone. ``error``
    is that of a distance that is computed from a product, relative to the squared norms.
    ``norms[b · groups + g, l]`` is the norm of the row in the columns of group g. ``lanes``
    are the bits of a row's number that tell its place in its block.
    """

    levels: Any
    error: float
    norms: Any
    lanes: int


class Space(NamedTuple):
    """A workspace: exact and rough products with a block of rows, a dense row of zeros.

    Then the rows that would be nearer, their products and their distances; groups and the norms
    of a candidate there; where lists go on and end, and the values of the candidate there.
    """

    exact: Any
    dots: Any
    dense: Any
    rows: Any
    products: Any
    distances: Any
    which: Any
    factors: Any
    cursors: Any
    values: Any


class Kept(NamedTuple):
    """The rows that each candidate would be nearer to, if they are not too many, and how near."""

    counts: Any
    rows: Any
    distances: Any


@kernel
def column_squares(points: Any, squares: Any) -> None:
    """Add up the squares of every column."""
    for p in range(points.indptr[0], points.indptr[points.norms.shape[0]]):
        squares[points.indices[p]] += np.float64(points.data[p]) * np.float64(points.data[p])


@kernel
def transpose(points: Any, places: Any, postings: Postings) -> None:
    """Sort the entries of rows by column; ``places`` is where the next of each column goes."""
    for i in range(points.norms.shape[0]):
        for p in range(points.indptr[i], points.indptr[i + 1]):
            place = places[points.indices[p]]
            postings.rows[place], postings.values[place] = i, points.data[p]
            places[points.indices[p]] = place + 1


@kernel
def group_norms(points: Any, postings: Postings, squares: Any, norms: Any) -> None:
    """Write the norms of rows in the columns of each group; ``squares`` is for those of one row."""
    for i in range(points.norms.shape[0]):
        squares[:] = 0.0
        for p in range(points.indptr[i], points.indptr[i + 1]):
            group = postings.groups[points.indices[p]]
            if 0 <= group < squares.shape[0]:
                value = np.float64(points.data[p]) * postings.unit
                squares[group] += value * value
        block, lane = divmod(i, norms.shape[1])
        for group in range(squares.shape[0]):
            norms[block * squares.shape[0] + group, lane] = math.sqrt(squares[group])


@inlined
def _groups_of(bounds: Bounds, candidate: int, size: int, space: Space) -> int:
    """Write in which of the first groups a candidate has a norm; return how many these are."""
    groups = bounds.norms.shape[0] // bounds.levels.shape[0]
    block, lane = divmod(candidate, bounds.levels.shape[1])
    count = 0
    for group in range(size):
        norm = bounds.norms[block * groups + group, lane]
        if norm > 0.0:
            space.which[count], space.factors[count] = group, norm
            count += 1
    return count


@inlined
def _lists_of(points: Any, postings: Postings, candidate: int, size: int, space: Space) -> Any:
    """Write where the lists of a candidate begin; return how many there are, and their entries.

    The columns of the first groups, ``size`` of them, are left out. None is if it is exact.
    """
    scale = 1.0 if size < 0 else postings.unit * postings.unit
    count, steps = 0, 0
    for p in range(points.indptr[candidate], points.indptr[candidate + 1]):
        column = points.indices[p]
        if size < 0 or postings.groups[column] >= size:
            start, stop = postings.starts[column], postings.starts[column + 1]
            space.cursors[count, 0], space.cursors[count, 1] = start, stop
            space.values[count] = np.float64(points.data[p]) * scale
            steps += stop - start
            count += 1
    return count, steps


@inlined
def _end_below(rows: Any, start: int, stop: int, high: Any) -> int:
    """Return where the rows of a list are no longer below ``high``."""
    if start == stop or rows[stop - 1] < high:
        return stop
    low = start
    while low < stop:
        middle = (low + stop) // 2
        if rows[middle] < high:
            low = middle + 1
        else:
            stop = middle
    return low


@inlined
def _add_lists(postings: Postings, count: int, last: int, lanes: int, space: Space) -> None:
    """Add what lists have to the products with the rows of a block, which ends at ``last``."""
    rows, values, dots = postings.rows, postings.values, space.dots
    high, mask = np.uint32(last), np.uint32(lanes)
    for place in range(count):
        start, value = space.cursors[place, 0], space.values[place]
        stop = _end_below(rows, start, space.cursors[place, 1], high)
        for q in range(start, stop):
            dots[rows[q] & mask] += np.float32(value * np.float64(values[q]))
        space.cursors[place, 0] = stop


@inlined
def _multiply(postings: Postings, count: int, last: int, lanes: int, space: Space) -> None:
    """Write the products with the rows of a block, which ends at ``last``."""
    rows, values, exact = postings.rows, postings.values, space.exact
    high, mask = np.uint32(last), np.uint32(lanes)
    scale = postings.unit * postings.unit
    exact[:] = 0.0
    for place in range(count):
        start, value = space.cursors[place, 0], space.values[place]
        stop = _end_below(rows, start, space.cursors[place, 1], high)
        for q in range(start, stop):
            exact[rows[q] & mask] += value * np.float64(values[q])
        space.cursors[place, 0] = stop
    for lane in range(exact.shape[0]):
        space.dots[lane] = scale * exact[lane]


@inlined
def _scatter(points: Any, candidate: int, dense: Any, scale: float) -> None:
    """Write a candidate, times 1 or 0, to a dense row."""
    for p in range(points.indptr[candidate], points.indptr[candidate + 1]):
        dense[points.indices[p]] = scale * np.float64(points.data[p])


@inlined
def _set_level(points: Any, i: int, squared: Any, unit: float, bounds: Bounds) -> None:
    """Set the level of a row.

    |x − c|² ≥ (1 − e)·(|x|² + |c|²) − 2·x·c with the relative error e. So α² ≤ |x − c|² unless x·c
    is at least half of (1 − e)·(|x|² + |c|²) − α². α² gets a thousandth more, for its own rounding.
    """
    level = 0.5 * ((1.0 - bounds.error) * points.norms[i] - 1.001 * np.float64(squared[i]))
    block, lane = divmod(i, bounds.levels.shape[1])
    bounds.levels[block, lane] = level * unit * unit


@kernel
def set_levels(points: Any, squared: Any, unit: float, bounds: Bounds) -> None:
    """Set the levels of all rows."""
    for i in range(points.norms.shape[0]):
        _set_level(points, i, squared, unit, bounds)


@kernel
def _nearer(
    points: Any, postings: Postings, bounds: Bounds, candidate: int, size: int, crowded: Any,
    squared: Any, family: Any, space: Space,
) -> Any:  # fmt: skip
    """Write which rows a candidate would be nearer to, and how near; return how many, and a cost.

    ``crowded`` is what dense columns contribute to the products with all rows, if there are any.
    Products are made of a few rows at a time, which stay in the first cache.
    """
    unit, is_exact, rows = postings.unit, size < 0, bounds.levels.shape[1]
    n_groups = 0 if is_exact else _groups_of(bounds, candidate, size, space)
    groups = bounds.norms.shape[0] // bounds.levels.shape[0]
    n_lists, steps = _lists_of(points, postings, candidate, size, space)
    cost = steps + (_EXACT_SCAN if is_exact else _ROUGH_SCAN) * points.norms.shape[0]
    limit = np.float32(-0.5 * (1.0 - bounds.error) * points.norms[candidate] * unit * unit + _TINY)
    found, dots = 0, space.dots
    for block in range(bounds.levels.shape[0]):
        first = block * rows
        if is_exact:
            _multiply(postings, n_lists, first + rows, bounds.lanes, space)
        else:
            if crowded.shape[0]:
                for lane in range(rows):
                    dots[lane] = crowded[first + lane]
            else:
                dots[:] = np.float32(0.0)
            _add_runs(bounds.norms, space.which, space.factors, n_groups, dots)
            for place in range(n_groups):
                space.which[place] += groups
            _add_lists(postings, n_lists, first + rows, bounds.lanes, space)
        levels = bounds.levels[block]
        for start in range(0, rows, LANES):
            within = _gaps_within(levels, dots, start, limit)
            lane = start
            while within > 0:
                if within & 1:
                    space.rows[found], space.products[found] = first + lane, space.exact[lane]
                    found += 1
                within >>= 1
                lane += 1
    _scatter(points, candidate, space.dense, 1.0)
    count = 0
    for place in range(found):
        i = space.rows[place]
        if is_exact:
            dot = space.products[place]
            cost += _NEAR
        else:
            _read_ahead(points, space.rows[min(place + _AHEAD, found - 1)])
            dot = dot_with(points, i, space.dense)
            cost += _ROW + _ENTRY * (points.indptr[i + 1] - points.indptr[i])
        distance = from_dot(dot, points, i, points, candidate, family)
        if distance < squared[i]:
            space.rows[count], space.distances[count] = i, distance
            count += 1
    _scatter(points, candidate, space.dense, 0.0)
    return count, cost


@inlined
def _read_ahead(points: Any, i: int) -> None:
    """Have the first entries of a row read, before they are needed."""
    start, stop = points.indptr[i], points.indptr[i + 1]
    for p in range(start, stop, _LINE):
        _prefetch(points.indices, p)
        _prefetch(points.data, p)


@kernel
def gains(
    points: Any, postings: Postings, bounds: Bounds, candidates: Any, sizes: Any, crowded: Any,
    squared: Any, weights: Any, family: Any, start: int, stop: int, space: Space, kept: Kept,
    found: Any, costs: Any,
) -> None:  # fmt: skip
    """Write by how much the candidates ``start`` to ``stop`` would each lower Σ w·α².

    ``sizes`` are those of their cuts, and ``crowded`` what `_nearer` takes.
    """
    for t in range(start, stop):
        count, cost = _nearer(
            points, postings, bounds, candidates[t], sizes[t], crowded[t], squared, family, space
        )
        total = 0.0
        for place in range(count):
            i = space.rows[place]
            lowered = np.float64(squared[i]) - np.float64(space.distances[place])
            total += lowered * (weights[i] if weights.shape[0] else 1.0)
        found[t], costs[t], kept.counts[t] = total, cost, count
        if count <= kept.rows.shape[1]:
            for place in range(count):
                kept.rows[t, place] = space.rows[place]
                kept.distances[t, place] = space.distances[place]


@kernel
def take(
    points: Any, postings: Postings, bounds: Bounds, candidate: int, size: int, crowded: Any,
    squared: Any, labels: Any, number: int, masses: Masses, family: Any, space: Space, kept: Kept,
    t: int,
) -> None:  # fmt: skip
    """Make a candidate, the one of this number ``t`` whose gain is known, a centre."""
    count, rows, distances = kept.counts[t], kept.rows[t], kept.distances[t]
    if count > rows.shape[0]:
        count, _ = _nearer(
            points, postings, bounds, candidate, size, crowded, squared, family, space
        )
        rows, distances = space.rows, space.distances
    changed = -1
    for place in range(count):
        i = rows[place]
        squared[i], labels[i] = distances[place], number
        _set_level(points, i, squared, postings.unit, bounds)
        if changed >= 0 and i // BLOCK != changed:
            sum_block(masses, changed)
        changed = i // BLOCK
    if changed >= 0:
        sum_block(masses, changed)
    sum_inner(masses.sums)
