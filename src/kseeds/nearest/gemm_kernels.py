"""Nearest centres from scalar products, whose doubts are settled row by row.

A product of row b and centre k is −2·c_k·x_b; with ``shifts[k]`` ≈ |c_k|² and |x_b|², both rounded
down, their sum is a lower bound of |x_b − c_k|². The least two of a row decide, mostly: only the
least is computed anew, or neither. With few columns, four centres count as one: their least product
is found, and all four are computed anew. Where more are within reach, products are computed a
second time, and the distances of those that are. In whole numbers nothing is rounded, and products
are the distances. See `kseeds.nearest.gemm` for the bounds.
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
from kseeds.simd.groups import nearest_of_groups
from kseeds.simd.products import ABREAST, least_products, products_within

_least_products = least_products(1)
_least_of_four = least_products(ABREAST)
_products_within = products_within()
_nearest_of_groups = nearest_of_groups()

_ROUNDS_SINGLE, _ROUNDS_DOUBLE = 1.5 * 2.0**23, 1.5 * 2.0**52


class Products(NamedTuple):
    """Centres as factors, and what makes products lower bounds of squared distances.

    ``groups`` are the centres as they are, four side by side, if they have few coordinates.
    ``stretch`` is the factor by which a squared distance may be too small, ``shrunk`` the one that
    makes the squared norm of a row a bound, and ``slack`` what shifts may be too large by.
    ``whole`` is the largest squared norm up to which products of rows of whole numbers are exact;
    negative if those of no row are. ``most`` is the largest with which nothing overflows.
    """

    factors: Any
    groups: Any
    shifts: Any
    mean: Any
    stretch: float
    shrunk: float
    slack: float
    whole: float
    most: float


class Tile(NamedTuple):
    """64 rows: their numbers, as columns about the mean, and their squared norms.

    ``given`` are the columns as they are, of rows of few coordinates; ``rest`` is more than 0 where
    rows are not of whole numbers, as far as that was looked at.
    """

    rows: Any
    columns: Any
    given: Any
    norms: Any
    rest: Any


class Found(NamedTuple):
    """Of 64 rows the two least products, the centre of the least, and the squared distance to it.

    Of rows ``in_doubt``, 64 and those of a tile at most, ``limits`` are the largest products of a
    centre that may be the nearest.
    """

    least: Any
    next_least: Any
    at: Any
    near: Any
    exact: Any
    in_doubt: Any
    limits: Any
    within: Any


def workspace(points: FloatArray) -> tuple[Tile, Found]:
    """Return what `settle_rows` needs."""
    d, dtype = points.shape[1], points.dtype
    kept = d if d < LANES else 0
    # One array of each type: making one takes as long as comparing a few rows.
    values = aligned((d + kept + 7, COLUMNS), dtype)
    values[: d + kept] = 0.0
    columns, given, rest_of = values[:d], values[d : d + kept], values[d + kept :]
    norms, rest, least, next_least, exact = rest_of[:5]
    limits = rest_of[5:].reshape(-1)
    numbers = aligned((3, COLUMNS), np.int64)
    rows, in_doubt = numbers[0], numbers[1:].reshape(-1)
    at, near = aligned((2, COLUMNS), np.int32)
    within = np.empty((ABREAST, COLUMNS // LANES), dtype=np.uint16)
    tile = Tile(rows, columns, given, norms, rest)
    return tile, Found(least, next_least, at, near, exact, in_doubt, limits, within)


@inlined
def _load_moved(points: Any, rows: Any, count: int, products: Products, tile: Tile) -> None:
    """Write rows about the mean as columns, and their squared norms.

    If products of whole numbers may be exact, ``rest`` tells where something was lost.
    """
    columns, norms, rest, mean = tile.columns, tile.norms, tile.rest, products.mean
    is_kept = tile.given.shape[0] > 0
    load_columns(points, rows, count, tile.given if is_kept else columns)
    for c in range(COLUMNS):
        norms[c], rest[c] = 0.0, 0.0
    for j in range(points.shape[1]):
        if products.whole >= 0.0:
            for c in range(COLUMNS):
                value = tile.given[j, c] if is_kept else columns[j, c]
                rest[c] += abs(((value - mean[j]) + mean[j]) - value)
        for c in range(COLUMNS):
            value = (tile.given[j, c] if is_kept else columns[j, c]) - mean[j]
            columns[j, c] = value
            norms[c] += value * value


@inlined
def _is_whole(tile: Tile, most: float) -> bool:
    """Tell whether all rows are of whole numbers, and of squared norms up to ``most``.

    They are if they are whole about the mean, which is, and nothing was lost by subtracting it
    (``rest``). Adding a number between the first two powers of two from which on floats are whole,
    and subtracting it again, rounds.
    """
    largest = tile.norms.dtype.type(0.0)
    for c in range(COLUMNS):
        largest = tile.norms[c] if tile.norms[c] > largest else largest
    if not largest <= most:
        return False
    big = tile.norms.dtype.type(_ROUNDS_SINGLE if tile.norms.itemsize == 4 else _ROUNDS_DOUBLE)
    for j in range(tile.columns.shape[0]):
        for c in range(COLUMNS):
            value = tile.columns[j, c]
            tile.rest[c] += abs(((value + big) - big) - value)
    total = tile.norms.dtype.type(0.0)
    for c in range(COLUMNS):
        total += tile.rest[c]
    return total == 0.0


@inlined
def _are_bounded(norms: Any, rows: int, most: float) -> bool:
    """Tell whether no squared norm is more than ``most``, or no number."""
    beyond = 0
    for c in range(rows):
        beyond += not norms[c] <= most
    return beyond == 0


@inlined
def compare_all(
    points: Any, low: int, rows: int, centers: Any, number: int, squared: Any, labels: Any
) -> int:
    """Compare rows with all centres; return how many distances were computed."""
    for i in range(low, low + rows):
        for k in range(centers.shape[0]):
            exact = sum_of_squares(points, i, centers, k)
            if exact < squared[i]:
                squared[i], labels[i] = exact, number + k
    return rows * len(centers)


@inlined
def _limit(products: Products, norm: float, squared: float) -> float:
    """Return the largest product of a centre that may be as near as ``squared``."""
    most = np.float64(squared) * products.stretch - np.float64(norm) * products.shrunk
    return most + products.slack


@inlined
def _measure(
    points: Any, low: int, rows: int, centers: Any, products: Products, squared: Any, tile: Tile,
    found: Found,
) -> int:  # fmt: skip
    """Compute the squared distances of rows to the nearest of those with the least product.

    Infinity where no centre can be nearer than what a row has, or for rows of few columns than what
    any of them has. Returns how many were computed.
    """
    possible, m = 0, centers.shape[0]
    for c in range(rows):
        possible += found.least[c] <= _limit(products, tile.norms[c], squared[low + c])
    if possible == 0 or tile.given.shape[0] == 0:
        for c in range(COLUMNS):
            found.exact[c], found.near[c] = np.inf, found.at[c]
    if possible == 0:
        return 0
    if tile.given.shape[0] == 0:
        for c in range(rows):
            if found.least[c] <= _limit(products, tile.norms[c], squared[low + c]):
                found.exact[c] = sum_of_squares(points, low + c, centers, found.at[c])
        return possible
    # Few coordinates are summed one after the other, so four centres can be side by side.
    _nearest_of_groups(tile.given, products.groups, found.at, found.exact, found.near)
    return rows * (ABREAST if m > ABREAST else m)


@inlined
def _keep(low: int, rows: int, number: int, squared: Any, labels: Any, found: Found) -> None:
    """Write the nearest of rows that are not in doubt, where it is nearer than what they had."""
    for c in range(rows):
        is_nearer = found.exact[c] < squared[low + c]
        label = np.int32(number) + found.near[c]
        labels[low + c] = label if is_nearer else labels[low + c]
        squared[low + c] = found.exact[c] if is_nearer else squared[low + c]


@inlined
def _keep_or_doubt(
    low: int, rows: int, products: Products, number: int, squared: Any, labels: Any, norms: Any,
    doubts: int, found: Found,
) -> int:  # fmt: skip
    """Write the nearest as `_keep` does, but of rows in doubt, which join the ``doubts`` so far.

    Returns how many there are.
    """
    limits = found.limits
    for c in range(rows):
        i, exact = low + c, found.exact[c]
        is_nearer = exact < squared[i]
        # Ties with what the row had before change nothing.
        limit = _limit(products, norms[c], exact if is_nearer else squared[i])
        if found.next_least[c] <= limit:
            found.in_doubt[doubts], limits[doubts] = i, limit
            limits[doubts] = np.nextafter(limits[doubts], limits.dtype.type(np.inf))
            doubts += 1
        elif is_nearer:
            squared[i], labels[i] = exact, number + found.near[c]
    return doubts


@inlined
def _is_any_in_doubt(
    low: int, rows: int, products: Products, squared: Any, norms: Any, found: Found
) -> bool:
    """Tell whether a second product of any row is within reach of what it has."""
    count = 0
    for c in range(rows):
        exact, had = found.exact[c], squared[low + c]
        count += found.next_least[c] <= _limit(products, norms[c], exact if exact < had else had)
    return count > 0


@inlined
def _settle_doubts(
    points: Any, centers: Any, products: Products, count: Any, number: int, squared: Any,
    labels: Any, tile: Tile, found: Found,
) -> int:  # fmt: skip
    """Compare rows in doubt with all centres within their limits, in the order of the centres."""
    computed, m = 0, centers.shape[0]
    _load_moved(points, found.in_doubt, count, products, tile)
    for c in range(count, COLUMNS):
        found.limits[c] = -np.inf
    for first in range(0, m, ABREAST):
        if not _products_within(
            tile.columns, products.factors, products.shifts, first, found.limits, found.within
        ):
            continue
        for k in range(first, first + ABREAST if first + ABREAST < m else m):
            for part in range(COLUMNS // LANES):
                bits, c = np.int64(found.within[k - first, part]), part * LANES
                while bits != 0:
                    if bits & 1 and c < count:  # there may be anything in other columns
                        i = found.in_doubt[c]
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
    squared: Any, labels: Any, tile: Tile, found: Found,
) -> int:  # fmt: skip
    """Compare the rows from ``start`` to ``stop`` with ``centers``, numbered from ``number``.

    Overwrites ``squared`` and ``labels`` where a centre is strictly nearer, ties to the lowest
    number. Returns how many distances of whole rows were computed.
    """
    computed, norms, limits = 0, tile.norms, found.limits
    # Plain numbers would have `_settle_doubts` compiled for each of them.
    doubts: Any = np.int64(0)
    width: Any = np.int64(COLUMNS)
    for low in range(start, stop, COLUMNS):
        rows = COLUMNS if low + COLUMNS < stop else stop - low
        for c in range(COLUMNS):
            tile.rows[c] = low + c
        _load_moved(points, tile.rows, rows, products, tile)
        if not _are_bounded(norms, rows, products.most):
            computed += compare_all(points, low, rows, centers, number, squared, labels)
            continue
        # With few columns, finding the least products takes as long as computing them.
        if tile.given.shape[0] > 0:
            _least_of_four(
                tile.columns, products.factors, products.shifts, found.least, found.next_least,
                found.at,
            )  # fmt: skip
        else:
            _least_products(
                tile.columns, products.factors, products.shifts, found.least, found.next_least,
                found.at,
            )  # fmt: skip
        is_whole = products.whole >= 0.0 and _is_whole(tile, products.whole)
        if is_whole and tile.given.shape[0] == 0:
            for c in range(COLUMNS):
                found.exact[c], found.near[c] = found.least[c] + norms[c], found.at[c]
        else:
            computed += _measure(points, low, rows, centers, products, squared, tile, found)
        if is_whole or not _is_any_in_doubt(low, rows, products, squared, norms, found):
            _keep(low, rows, number, squared, labels, found)
            continue
        doubts = _keep_or_doubt(low, rows, products, number, squared, labels, norms, doubts, found)
        if doubts >= COLUMNS:  # here, since the tile is overwritten
            computed += _settle_doubts(
                points, centers, products, width, number, squared, labels, tile, found
            )
            doubts -= COLUMNS
            for c in range(doubts):
                found.in_doubt[c], limits[c] = found.in_doubt[c + COLUMNS], limits[c + COLUMNS]
    if doubts > 0:
        computed += _settle_doubts(
            points, centers, products, doubts, number, squared, labels, tile, found
        )
    return computed
