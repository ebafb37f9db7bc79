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
    """What rules rows out, in single precision.

    ``levels[i]`` is what the product of row i with a candidate must reach for it to be nearer than
    the nearest centre, but for a part that depends on the candidate alone. ``error`` is that of a
    distance that is computed from a product, relative to the squared norms. ``norms[g, i]`` is the
    norm of row i in the columns of group g.
    """

    levels: Any
    error: float
    norms: Any


class Space(NamedTuple):
    """A workspace: exact products, a dense row of zeros, the rows that would be nearer, groups."""

    exact: Any
    dense: Any
    rows: Any
    distances: Any
    which: Any
    factors: Any


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
        for group in range(squares.shape[0]):
            norms[group, i] = math.sqrt(squares[group])


@inlined
def _add_groups(bounds: Bounds, candidate: int, size: int, dots: Any, space: Space) -> None:
    """Add no less than the products of all rows with a candidate in the first groups."""
    count = 0
    for group in range(size):
        norm = bounds.norms[group, candidate]
        if norm > 0.0:
            space.which[count], space.factors[count] = group, norm
            count += 1
    _add_runs(bounds.norms, space.which, space.factors, count, dots)


@inlined
def _add_lists(points: Any, postings: Postings, candidate: int, size: int, dots: Any) -> int:
    """Add the products of all rows with a candidate that lists have; return the steps it took.

    The first groups, ``size`` of them, are left out.
    """
    steps, scale = 0, postings.unit * postings.unit
    for p in range(points.indptr[candidate], points.indptr[candidate + 1]):
        column = points.indices[p]
        if postings.groups[column] >= size:
            value = np.float64(points.data[p]) * scale
            start, stop = postings.starts[column], postings.starts[column + 1]
            steps += stop - start
            for q in range(start, stop):
                dots[postings.rows[q]] += np.float32(value * np.float64(postings.values[q]))
    return steps


@inlined
def _multiply(points: Any, postings: Postings, candidate: int, exact: Any, dots: Any) -> int:
    """Write the products of all rows with a candidate; return the steps it took."""
    steps, scale = 0, postings.unit * postings.unit
    exact[:] = 0.0
    for p in range(points.indptr[candidate], points.indptr[candidate + 1]):
        column, value = points.indices[p], np.float64(points.data[p])
        start, stop = postings.starts[column], postings.starts[column + 1]
        steps += stop - start
        for q in range(start, stop):
            exact[postings.rows[q]] += value * np.float64(postings.values[q])
    for i in range(exact.shape[0]):
        dots[i] = scale * exact[i]
    return steps


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
    bounds.levels[i] = level * unit * unit


@kernel
def set_levels(points: Any, squared: Any, unit: float, bounds: Bounds) -> None:
    """Set the levels of all rows."""
    for i in range(points.norms.shape[0]):
        _set_level(points, i, squared, unit, bounds)


@kernel
def _nearer(
    points: Any, postings: Postings, bounds: Bounds, candidate: int, size: int, dots: Any,
    is_added: bool, squared: Any, family: Any, space: Space,
) -> Any:  # fmt: skip
    """Write which rows a candidate would be nearer to, and how near; return how many, and a cost.

    ``dots`` have what dense columns contribute to the products with all rows, or, if all else was
    added already, no less than the products.
    """
    unit, is_exact, steps = postings.unit, size < 0, 0
    if is_exact:
        steps = _multiply(points, postings, candidate, space.exact, dots)
    elif not is_added:
        _add_groups(bounds, candidate, size, dots, space)
        steps = _add_lists(points, postings, candidate, size, dots)
    cost = steps + (_EXACT_SCAN if is_exact else _ROUGH_SCAN) * points.norms.shape[0]
    limit = np.float32(-0.5 * (1.0 - bounds.error) * points.norms[candidate] * unit * unit + _TINY)
    found = 0
    for first in range(0, bounds.levels.shape[0], LANES):
        within = _gaps_within(bounds.levels, dots, first, limit)
        i = first
        while within > 0:
            if within & 1:
                space.rows[found] = i
                found += 1
            within >>= 1
            i += 1
    _scatter(points, candidate, space.dense, 1.0)
    count = 0
    for place in range(found):
        i = space.rows[place]
        if is_exact:
            dot = space.exact[i]
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
    points: Any, postings: Postings, bounds: Bounds, candidates: Any, sizes: Any, products: Any,
    squared: Any, weights: Any, family: Any, start: int, stop: int, space: Space, found: Any,
    costs: Any,
) -> None:  # fmt: skip
    """Write by how much the candidates ``start`` to ``stop`` would each lower Σ w·α².

    ``sizes`` are those of their cuts, and ``products`` what `_nearer` takes.
    """
    for t in range(start, stop):
        count, cost = _nearer(
            points, postings, bounds, candidates[t], sizes[t], products[t], False, squared, family,
            space,
        )  # fmt: skip
        total = 0.0
        for place in range(count):
            i = space.rows[place]
            lowered = np.float64(squared[i]) - np.float64(space.distances[place])
            total += lowered * (weights[i] if weights.shape[0] else 1.0)
        found[t], costs[t] = total, cost


@kernel
def take(
    points: Any, postings: Postings, bounds: Bounds, candidate: int, size: int, dots: Any,
    squared: Any, labels: Any, number: int, masses: Masses, family: Any, space: Space,
) -> None:  # fmt: skip
    """Make a candidate, whose gain is known, the centre of this number."""
    count, _ = _nearer(
        points, postings, bounds, candidate, size, dots, True, squared, family, space
    )
    changed = -1
    for place in range(count):
        i = space.rows[place]
        squared[i], labels[i] = space.distances[place], number
        _set_level(points, i, squared, postings.unit, bounds)
        if changed >= 0 and i // BLOCK != changed:
            sum_block(masses, changed)
        changed = i // BLOCK
    if changed >= 0:
        sum_block(masses, changed)
    sum_inner(masses.sums)
