"""Nearest centres from scalar products of bytes, whose doubts are settled at once.

Products are scaled and shifted into lower bounds of |x − c|² − |x|², but for terms of the row,
which are in its limit; see `kseeds.nearest.quantized`. All bounds of 64 rows are kept while they
are looked at. The centre of the least is compared first, and then those that are within reach of
what was found.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from kseeds.distances.metrics import FloatArray
from kseeds.distances.pair_kernels import sum_of_squares
from kseeds.nearest.brute_force_kernels import load_columns
from kseeds.runtime.aligned import aligned
from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.compiler import inlined, kernel
from kseeds.simd.byte_products import TOGETHER, byte_products, entries_within
from kseeds.simd.row_products import lowest_bit
from kseeds.simd.runs import prefetch

STEPS, OFFSET = 127, 128
"""How many steps the largest coordinate has, and what is added to those of rows: none is negative
then."""

_byte_products = byte_products()
_entries_within = entries_within()
_lowest_bit = lowest_bit()
_prefetch = prefetch()

_ROUNDS_SINGLE, _ROUNDS_DOUBLE = 1.5 * 2.0**23, 1.5 * 2.0**52
_UP = 2.0**-23
"""Share of a limit that no rounding to single precision exceeds."""
_LEAST = 1e-30
"""The least step: what has smaller ones is taken for 0, and left as it is."""
_BYTE, _OF_1, _OF_2, _OF_3 = np.int32(255), np.int32(8), np.int32(16), np.int32(24)
_OFFSETS = np.int32(OFFSET * 0x01010101 - 2**32)
_LINE = 64


class Factors(NamedTuple):
    """Centres in steps, four side by side, and what makes products of them lower bounds.

    ``theta`` and ``epsilon`` bound what steps and rounding leave out, ``slack`` is what shifts may
    be too large by, and ``stretch`` the factor by which a squared distance may be too small.
    ``whole`` is the largest squared norm up to which products of rows of whole numbers are exact;
    negative if those of no row are.
    """

    words: Any
    starts: Any
    slopes: Any
    added: Any
    mean: Any
    theta: float
    epsilon: float
    slack: float
    stretch: float
    whole: float


class Tile(NamedTuple):
    """64 rows: their numbers, as columns about the mean, and in steps, four to a word.

    ``scales`` are the steps of each. ``norms`` are squared, and ``errors`` the squares of what
    whole steps leave out; ``rest`` is more than 0 where subtracting the mean has lost something.
    """

    rows: Any
    columns: Any
    words: Any
    norms: Any
    errors: Any
    rest: Any
    most: Any
    scales: Any


class Found(NamedTuple):
    """The bounds of 64 rows and all centres, the least of each row and its centre.

    ``limits`` are the largest of a centre that may be the nearest, ``near`` the centres that were
    taken so far, −1 where there is none.
    """

    table: Any
    least: Any
    at: Any
    limits: Any
    near: Any


def workspace(points: FloatArray, n_centers: int) -> tuple[Tile, Found]:
    """Return what `settle_rows` needs for so many centres, a multiple of four."""
    dtype, n_words = points.dtype, -(-points.shape[1] // TOGETHER)
    values = aligned((TOGETHER * n_words + 4, COLUMNS), dtype)
    values[:-4] = 0.0
    norms, errors, rest, most = values[-4:]
    numbers = aligned((n_words + 2, COLUMNS), np.int32)
    words, at, near = numbers[:-2], *numbers[-2:]
    singles = aligned((n_centers + 3, COLUMNS), np.float32)
    table, scales, least, limits = singles[:-3], *singles[-3:]
    rows = aligned(COLUMNS, np.int64)
    tile = Tile(rows, values[:-4], words, norms, errors, rest, most, scales)
    return tile, Found(table, least, at, limits, near)


@inlined
def _load_moved(points: Any, low: int, count: int, factors: Factors, tile: Tile) -> None:
    """Write rows about the mean as columns, their squared norms and their largest coordinates.

    If products of whole numbers may be exact, ``rest`` tells where something was lost.
    """
    columns, norms, rest, most = tile.columns, tile.norms, tile.rest, tile.most
    for c in range(COLUMNS):
        tile.rows[c] = low + c
        norms[c], rest[c], most[c] = 0.0, 0.0, 0.0
    load_columns(points, tile.rows, count, columns)
    for j in range(points.shape[1]):
        mean = factors.mean[j]
        if factors.whole >= 0.0:
            for c in range(COLUMNS):
                value = columns[j, c]
                rest[c] += abs(((value - mean) + mean) - value)
        for c in range(COLUMNS):
            value = columns[j, c] - mean
            columns[j, c] = value
            norms[c] += value * value
            most[c] = abs(value) if abs(value) > most[c] else most[c]


@inlined
def _quantize(factors: Factors, tile: Tile) -> None:
    """Write the rows in steps, and the squares of what these leave out.

    Adding a number between the first two powers of two from which on floats are whole, and
    subtracting it again, rounds. What is beyond the last coordinate is 0.
    """
    columns, scales, errors, most = tile.columns, tile.scales, tile.errors, tile.most
    kind = columns.dtype.type
    big = kind(_ROUNDS_SINGLE if columns.itemsize == 4 else _ROUNDS_DOUBLE)
    for c in range(COLUMNS):
        is_small = factors.whole >= 0.0 and most[c] <= kind(STEPS)
        scale = np.float32(1.0) if is_small else np.float32(most[c] / kind(STEPS))
        scales[c] = scale if scale > np.float32(_LEAST) else np.float32(1.0)
        most[c], errors[c] = kind(1.0) / kind(scales[c]), 0.0
    for word in range(tile.words.shape[0]):
        j = TOGETHER * word
        for c in range(COLUMNS):
            a, b, scale = most[c], big, kind(scales[c])
            x, y, z, w = columns[j, c], columns[j + 1, c], columns[j + 2, c], columns[j + 3, c]
            p, q, r, s = (x * a + b) - b, (y * a + b) - b, (z * a + b) - b, (w * a + b) - b
            x, y, z, w = x - p * scale, y - q * scale, z - r * scale, w - s * scale
            errors[c] += (x * x + y * y) + (z * z + w * w)
            tile.words[word, c] = _OFFSETS ^ (
                (np.int32(p) & _BYTE)
                | (np.int32(q) & _BYTE) << _OF_1
                | (np.int32(r) & _BYTE) << _OF_2
                | np.int32(s) << _OF_3
            )


@inlined
def _of_row(factors: Factors, norm: float, left: float) -> float:
    """Return by how much bounds may exceed |x − c|² − |x|², for terms of the row."""
    length, missing = math.sqrt(np.float64(norm)), math.sqrt(np.float64(left))
    missing += factors.epsilon * (missing + length)
    length += factors.epsilon * length + missing
    of_steps = factors.theta * length * length + missing * missing / factors.theta
    return of_steps + factors.epsilon * length * length + factors.slack


@inlined
def _limit(factors: Factors, norm: float, of_row: float, squared: float) -> np.float32:
    """Return the largest bound of a centre that may be as near as ``squared``."""
    limit = np.float64(squared) * factors.stretch - np.float64(norm) + of_row
    return np.float32(limit + _UP * abs(limit))


@inlined
def _is_whole(factors: Factors, tile: Tile, rows: int) -> bool:
    """Tell whether the products of all rows are exact."""
    others = 0
    for c in range(rows):
        is_exact = tile.errors[c] + tile.rest[c] == 0.0 and tile.scales[c] == np.float32(1.0)
        others += not (is_exact and tile.norms[c] <= factors.whole)
    return others == 0


@inlined
def _keep_least(low: int, rows: int, number: int, squared: Any, labels: Any, tile: Tile,
                found: Found) -> None:  # fmt: skip
    """Write the nearest of rows whose products are exact."""
    for c in range(rows):
        exact = found.least[c] + tile.norms[c]
        is_nearer = exact < squared[low + c]
        label = np.int32(number) + found.at[c]
        labels[low + c] = label if is_nearer else labels[low + c]
        squared[low + c] = exact if is_nearer else squared[low + c]


@inlined
def _compare_least(
    points: Any, low: int, rows: int, centers: Any, factors: Factors, number: int, squared: Any,
    labels: Any, tile: Tile, found: Found,
) -> int:  # fmt: skip
    """Compare rows with the centre of the least bound, and set limits for the others.

    Returns how many distances were computed.
    """
    computed, limits, at, near = 0, found.limits, found.at, found.near
    for c in range(rows):
        i, norm = low + c, tile.norms[c]
        of_row = _of_row(factors, norm, tile.errors[c])
        limits[c], near[c] = _limit(factors, norm, of_row, squared[i]), -1
        # What is no number has not been looked at.
        if not found.least[c] <= limits[c]:
            at[c] = -1
            continue
        computed += 1
        exact = sum_of_squares(points, i, centers, at[c])
        if exact < squared[i]:
            squared[i], labels[i], near[c] = exact, number + at[c], at[c]
            limits[c] = _limit(factors, norm, of_row, exact)
    return computed


@inlined
def _compare_others(
    points: Any, low: int, rows: int, centers: Any, factors: Factors, number: int, squared: Any,
    labels: Any, tile: Tile, found: Found,
) -> int:  # fmt: skip
    """Compare rows with all other centres within their limits; return how many that were."""
    computed, near = 0, found.near
    # Bounds of columns without a row may be no numbers, which nothing rules out.
    of_rows = (1 << rows) - 1 if rows < COLUMNS else -1
    for k in range(centers.shape[0]):
        bits = _entries_within(found.table, k, found.limits) & of_rows
        while bits != 0:
            c = _lowest_bit(bits)
            bits &= bits - 1
            if k == found.at[c]:
                continue
            i = low + c
            computed += 1
            exact = sum_of_squares(points, i, centers, k)
            if exact < squared[i] or (exact == squared[i] and k < near[c]):
                squared[i], labels[i], near[c] = exact, number + k, k
                of_row = _of_row(factors, tile.norms[c], tile.errors[c])
                found.limits[c] = _limit(factors, tile.norms[c], of_row, exact)
    return computed


@kernel
def settle_rows(
    points: Any, centers: Any, factors: Factors, start: int, stop: int, number: int,
    squared: Any, labels: Any, tile: Tile, found: Found,
) -> int:  # fmt: skip
    """Compare the rows from ``start`` to ``stop`` with ``centers``, numbered from ``number``.

    Overwrites ``squared`` and ``labels`` where a centre is strictly nearer, ties to the lowest
    number. Returns how many distances of whole rows were computed.
    """
    computed, d = 0, points.shape[1]
    for low in range(start, stop, COLUMNS):
        rows = COLUMNS if low + COLUMNS < stop else stop - low
        _load_moved(points, low, rows, factors, tile)
        # The next rows are read while products of these are computed.
        following = low + 2 * COLUMNS if low + 2 * COLUMNS < stop else stop
        for place in range((low + COLUMNS) * d, following * d, _LINE // points.itemsize):
            _prefetch(points, place)
        _quantize(factors, tile)
        _byte_products(
            tile.words, factors.words, factors.starts, tile.scales, factors.slopes,
            factors.added, found.table, found.least, found.at,
        )  # fmt: skip
        if factors.whole >= 0.0 and _is_whole(factors, tile, rows):
            _keep_least(low, rows, number, squared, labels, tile, found)
            continue
        computed += _compare_least(
            points, low, rows, centers, factors, number, squared, labels, tile, found
        )
        computed += _compare_others(
            points, low, rows, centers, factors, number, squared, labels, tile, found
        )
    return computed
