"""Gains of candidates among sparse rows: see `kseeds.methods.greedy.postings`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kseeds.distances.sparse_kernels import from_dot
from kseeds.runtime.block_sizes import BLOCK
from kseeds.runtime.compiler import inlined, kernel
from kseeds.sampling.sum_tree import Masses
from kseeds.sampling.sum_tree_kernels import sum_block, sum_inner


class Postings(NamedTuple):
    """The entries of all rows by column: those from ``starts[j]`` to ``starts[j + 1]``."""

    starts: Any
    rows: Any
    values: Any


@kernel
def transpose(points: Any, places: Any, rows: Any, values: Any) -> None:
    """Sort the entries of rows by column; ``places`` is where the next of each column goes."""
    for i in range(points.norms.shape[0]):
        for p in range(points.indptr[i], points.indptr[i + 1]):
            place = places[points.indices[p]]
            rows[place], values[place] = i, points.data[p]
            places[points.indices[p]] = place + 1


@kernel
def products(points: Any, postings: Postings, candidate: int, dots: Any) -> float:
    """Write the scalar product of every row with a candidate; return a bound of their errors.

    In units of the squared norms of both: a distance that is computed from a product errs by less
    than that times |x|² + |c|².
    """
    for i in range(dots.shape[0]):
        dots[i] = 0.0
    first, last = points.indptr[candidate], points.indptr[candidate + 1]
    for p in range(first, last):
        column, value = points.indices[p], np.float64(points.data[p])
        for q in range(postings.starts[column], postings.starts[column + 1]):
            dots[postings.rows[q]] += value * np.float64(postings.values[q])
    return float(4.0 * (last - first + 4) * np.finfo(np.float64).eps)


@inlined
def _closer(
    points: Any, i: int, candidate: int, dots: Any, error: float, squared: Any, family: Any
) -> Any:
    """Return the squared distance of row i to a candidate, or something not below its α²."""
    if family is None:
        norms = points.norms[i] + points.norms[candidate]
        if norms - 2.0 * dots[i] - error * norms > 1.001 * squared[i]:
            return squared[i]
    return from_dot(dots[i], points, i, points, candidate, family)


@kernel
def gain(
    points: Any, postings: Postings, candidate: int, squared: Any, weights: Any, family: Any,
    dots: Any,
) -> float:  # fmt: skip
    """Return by how much a candidate would lower Σ w·α²."""
    error = products(points, postings, candidate, dots)
    total = 0.0
    for i in range(squared.shape[0]):
        distance = _closer(points, i, candidate, dots, error, squared, family)
        if distance < squared[i]:
            lowered = np.float64(squared[i]) - np.float64(distance)
            total += lowered * (weights[i] if weights.shape[0] else 1.0)
    return total


@kernel
def take(
    points: Any, postings: Postings, candidate: int, squared: Any, labels: Any, number: int,
    masses: Masses, family: Any, dots: Any,
) -> None:  # fmt: skip
    """Make a candidate the centre of this number; bring the sums up to date."""
    error = products(points, postings, candidate, dots)
    n = squared.shape[0]
    for start in range(0, n, BLOCK):
        changed = False
        for i in range(start, start + BLOCK if start + BLOCK < n else n):
            distance = _closer(points, i, candidate, dots, error, squared, family)
            if distance < squared[i]:
                squared[i], labels[i] = distance, number
                changed = True
        if changed:
            sum_block(masses, start // BLOCK)
    sum_inner(masses.sums)
