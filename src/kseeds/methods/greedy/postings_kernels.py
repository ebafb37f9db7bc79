"""Gains of candidates among sparse rows: see `kseeds.methods.greedy.postings`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kseeds.distances.sparse_kernels import dot_with, from_dot
from kseeds.runtime.block_sizes import BLOCK, LANES
from kseeds.runtime.compiler import inlined, kernel
from kseeds.sampling.sum_tree import Masses
from kseeds.sampling.sum_tree_kernels import sum_block, sum_inner
from kseeds.simd.runs import gaps_within

_gaps_within = gaps_within()


class Postings(NamedTuple):
    """The entries of all rows by column: those from ``starts[j]`` to ``starts[j + 1]``.

    ``crowded[j]`` tells whether column j has so many that it is kept as a dense one instead.
    """

    starts: Any
    rows: Any
    values: Any
    crowded: Any


class Space(NamedTuple):
    """A workspace: products with all rows, and a dense row of zeros."""

    dots: Any
    dense: Any


@kernel
def transpose(points: Any, places: Any, rows: Any, values: Any) -> None:
    """Sort the entries of rows by column; ``places`` is where the next of each column goes."""
    for i in range(points.norms.shape[0]):
        for p in range(points.indptr[i], points.indptr[i + 1]):
            place = places[points.indices[p]]
            rows[place], values[place] = i, points.data[p]
            places[points.indices[p]] = place + 1


@kernel
def products(points: Any, postings: Postings, candidate: int, crowded: Any, dots: Any) -> None:
    """Write the scalar product of every row with a candidate.

    ``crowded`` are the products in crowded columns alone, in single precision.
    """
    for i in range(dots.shape[0]):
        dots[i] = crowded[i] if i < crowded.shape[0] else 0.0
    for p in range(points.indptr[candidate], points.indptr[candidate + 1]):
        column, value = points.indices[p], np.float64(points.data[p])
        if not postings.crowded[column]:
            for q in range(postings.starts[column], postings.starts[column + 1]):
                dots[postings.rows[q]] += value * np.float64(postings.values[q])


@inlined
def _scatter(points: Any, candidate: int, dense: Any, scale: float) -> None:
    """Write a candidate, times 1 or 0, to a dense row."""
    for p in range(points.indptr[candidate], points.indptr[candidate + 1]):
        dense[points.indices[p]] = scale * np.float64(points.data[p])


@inlined
def set_level(points: Any, i: int, squared: Any, error: float, levels: Any) -> None:
    """Set what the product with a candidate must reach for it to be nearer than α: see `_reached`.

    |x − c|² ≥ (1 − e)·(|x|² + |c|²) − 2·x·c with the error e of a distance that is computed from
    a product, relative to the squared norms. So α² ≤ |x − c|² unless x·c is at least half of
    (1 − e)·(|x|² + |c|²) − α²; the level is what of this does not depend on the candidate.
    """
    levels[i] = 0.5 * ((1.0 - error) * points.norms[i] - 1.001 * np.float64(squared[i]))


@kernel
def set_levels(points: Any, squared: Any, error: float, start: int, stop: int, levels: Any) -> None:
    """Set the levels of rows ``start`` to ``stop``; past the last row they are infinite."""
    for i in range(start, stop):
        set_level(points, i, squared, error, levels)


@inlined
def _limit(points: Any, candidate: int, error: float) -> float:
    """Return what levels, less products, are compared with."""
    return float(-0.5 * (1.0 - error) * points.norms[candidate])


@kernel
def gain(
    points: Any, postings: Postings, candidate: int, crowded: Any, squared: Any, weights: Any,
    family: Any, is_rough: bool, error: float, levels: Any, space: Space,
) -> float:  # fmt: skip
    """Return by how much a candidate would lower Σ w·α².

    If products are rough, they only rule rows out.
    """
    products(points, postings, candidate, crowded, space.dots)
    _scatter(points, candidate, space.dense, 1.0)
    limit, total = _limit(points, candidate, error), 0.0
    for first in range(0, levels.shape[0], LANES):
        within = _gaps_within(levels, space.dots, first, limit)
        i = first
        while within > 0:
            if within & 1:
                dot = dot_with(points, i, space.dense) if is_rough else space.dots[i]
                distance = from_dot(dot, points, i, points, candidate, family)
                if distance < squared[i]:
                    lowered = np.float64(squared[i]) - np.float64(distance)
                    total += lowered * (weights[i] if weights.shape[0] else 1.0)
            within >>= 1
            i += 1
    _scatter(points, candidate, space.dense, 0.0)
    return total


@kernel
def take(
    points: Any, postings: Postings, candidate: int, crowded: Any, squared: Any, labels: Any,
    number: int, masses: Masses, family: Any, is_rough: bool, error: float, levels: Any,
    space: Space,
) -> None:  # fmt: skip
    """Make a candidate the centre of this number; bring the sums up to date."""
    products(points, postings, candidate, crowded, space.dots)
    _scatter(points, candidate, space.dense, 1.0)
    limit, changed = _limit(points, candidate, error), -1
    for first in range(0, levels.shape[0], LANES):
        within = _gaps_within(levels, space.dots, first, limit)
        i = first
        while within > 0:
            if within & 1:
                dot = dot_with(points, i, space.dense) if is_rough else space.dots[i]
                distance = from_dot(dot, points, i, points, candidate, family)
                if distance < squared[i]:
                    squared[i], labels[i] = distance, number
                    set_level(points, i, squared, error, levels)
                    if changed >= 0 and i // BLOCK != changed:
                        sum_block(masses, changed)
                    changed = i // BLOCK
            within >>= 1
            i += 1
    if changed >= 0:
        sum_block(masses, changed)
    sum_inner(masses.sums)
    _scatter(points, candidate, space.dense, 0.0)
