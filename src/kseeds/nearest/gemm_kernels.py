"""Nearest centres from scalar products, whose doubts are settled row by row.

A product of row b and centre k is −2·c_k·x_b; with ``shifts[k]`` ≈ |c_k|² and |x_b|², both rounded
down, their sum is a lower bound of |x_b − c_k|². The least two of a row decide, mostly: only the
least is computed anew, or neither. Where more are within reach, products are computed a second
time, and the distances of those that are. See `kseeds.nearest.gemm` for the bounds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kseeds.distances.metrics import FloatArray
from kseeds.distances.pair_kernels import sum_of_squares
from kseeds.nearest.brute_force_kernels import load_columns
from kseeds.runtime.aligned import aligned
from kseeds.runtime.block_sizes import COLUMNS, LANES
from kseeds.runtime.compiler import inlined, kernel
from kseeds.simd.products import ABREAST, least_products, products_within

_least_products = least_products(1)
_least_of_four = least_products(ABREAST)
_products_within = products_within()

_FEW_COLUMNS = 16
_MANY_CENTERS = 512
"""With few columns and many centres, finding the least products takes as long as computing them."""


class Products(NamedTuple):
    """Centres as factors, and what makes products lower bounds of squared distances.

    ``stretch`` is the factor by which a squared distance may be too small, ``shrunk`` the one that
    makes the squared norm of a row a bound.
    """

    factors: Any
    shifts: Any
    mean: Any
    stretch: float
    shrunk: float


class Workspace(NamedTuple):
    """64 rows as columns, their squared norms, their two least products, the centre of the least.

    ``spare`` are norms that nobody needs; ``limits``, of rows in doubt, the largest products of a
    centre that may be the nearest.
    """

    rows: Any
    columns: Any
    norms: Any
    spare: Any
    least: Any
    next_least: Any
    at: Any
    in_doubt: Any
    limits: Any
    within: Any


def workspace(points: FloatArray) -> Workspace:
    """Return what `settle_rows` needs."""
    columns = aligned((points.shape[1], COLUMNS), points.dtype)
    columns[:] = 0.0
    norms, spare, least, next_least, limits = aligned((5, COLUMNS), points.dtype)
    rows, in_doubt = aligned((2, COLUMNS), np.int64)
    within = np.empty((ABREAST, COLUMNS // LANES), dtype=np.uint16)
    return Workspace(
        rows, columns, norms, spare, least, next_least, aligned(COLUMNS, np.int32), in_doubt,
        limits, within,
    )  # fmt: skip


@inlined
def _load_moved(points: Any, rows: Any, count: int, mean: Any, columns: Any, norms: Any) -> None:
    """Write rows about the mean as columns, and their squared norms."""
    load_columns(points, rows, count, columns)
    for c in range(COLUMNS):
        norms[c] = 0.0
    for j in range(points.shape[1]):
        for c in range(COLUMNS):
            value = columns[j, c] - mean[j]
            columns[j, c] = value
            norms[c] += value * value


@inlined
def _limit(products: Products, norm: float, squared: float) -> float:
    """Return the largest product of a centre that may be as near as ``squared``."""
    return np.float64(squared) * products.stretch - np.float64(norm) * products.shrunk


@inlined
def _settle_doubts(
    points: Any, centers: Any, products: Products, count: Any, number: int, squared: Any,
    labels: Any, space: Workspace,
) -> int:  # fmt: skip
    """Compare rows in doubt with all centres within their limits, in the order of the centres."""
    computed, m = 0, centers.shape[0]
    _load_moved(points, space.in_doubt, count, products.mean, space.columns, space.spare)
    for c in range(count, COLUMNS):
        space.limits[c] = -np.inf
    for first in range(0, m, ABREAST):
        if not _products_within(
            space.columns, products.factors, products.shifts, first, space.limits, space.within
        ):
            continue
        for k in range(first, first + ABREAST if first + ABREAST < m else m):
            for part in range(COLUMNS // LANES):
                bits, c = np.int64(space.within[k - first, part]), part * LANES
                while bits != 0:
                    if bits & 1:
                        i = space.in_doubt[c]
                        computed += 1
                        exact = sum_of_squares(points, i, centers, k)
                        if exact < squared[i]:
                            squared[i], labels[i] = exact, number + k
                    bits >>= 1
                    c += 1
    return computed


@kernel
def settle_rows(
    points: Any, centers: Any, products: Products, start: int, stop: int, number: int,
    squared: Any, labels: Any, space: Workspace,
) -> int:  # fmt: skip
    """Compare the rows from ``start`` to ``stop`` with ``centers``, numbered from ``number``.

    Overwrites ``squared`` and ``labels`` where a centre is strictly nearer, ties to the lowest
    number. Returns how many distances of whole rows were computed.
    """
    computed, norms, limits = 0, space.norms, space.limits
    doubts: Any = np.int64(0)  # a plain 0 would have `_settle_doubts` compiled for 0 as well
    m = centers.shape[0]
    together = ABREAST if m >= _MANY_CENTERS and points.shape[1] < _FEW_COLUMNS else 1
    for low in range(start, stop, COLUMNS):
        rows = COLUMNS if low + COLUMNS < stop else stop - low
        for c in range(COLUMNS):
            space.rows[c] = low + c
        _load_moved(points, space.rows, rows, products.mean, space.columns, norms)
        if together == 1:
            _least_products(
                space.columns, products.factors, products.shifts, space.least, space.next_least,
                space.at,
            )  # fmt: skip
        else:
            _least_of_four(
                space.columns, products.factors, products.shifts, space.least, space.next_least,
                space.at,
            )  # fmt: skip
        for c in range(rows):
            i, norm = low + c, norms[c]
            if space.least[c] > _limit(products, norm, squared[i]):
                continue
            near, exact = 0, points.dtype.type(np.inf)
            for k in range(space.at[c], min(space.at[c] + together, m)):
                another = sum_of_squares(points, i, centers, k)
                if another < exact:
                    exact, near = another, k
            computed += together
            # Ties with what the row had before change nothing.
            limit = _limit(products, norm, exact if exact < squared[i] else squared[i])
            if space.next_least[c] > limit:
                if exact < squared[i]:
                    squared[i], labels[i] = exact, number + near
                continue
            space.in_doubt[doubts], limits[doubts] = i, limit
            limits[doubts] = np.nextafter(limits[doubts], limits.dtype.type(np.inf))
            doubts += 1
            if doubts == COLUMNS:
                computed += _settle_doubts(
                    points, centers, products, doubts, number, squared, labels, space
                )
                doubts = 0
    if doubts > 0:
        computed += _settle_doubts(
            points, centers, products, doubts, number, squared, labels, space
        )
    return computed
