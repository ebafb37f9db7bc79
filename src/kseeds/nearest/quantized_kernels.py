"""Nearest centres from scalar products of bytes, whose doubts are settled at once.

Products are scaled and shifted into lower bounds of |x − c|² − |x|², but for terms of the row,
which are in its limit; see `kseeds.nearest.quantized`. All bounds of 64 rows are kept while they
are looked at. The centre of the least is compared first, and then those that are within reach of
what was found.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kseeds.distances.metrics import FloatArray
from kseeds.distances.pair_kernels import sum_of_squares
from kseeds.nearest.gemm_kernels import compare_all
from kseeds.nearest.steps_kernels import EXACT, UNBOUNDED, UNKNOWN, Factors, Steps, Tile, set_steps
from kseeds.runtime.aligned import aligned
from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.compiler import inlined, kernel
from kseeds.simd.byte_products import TOGETHER, byte_products, entries_within
from kseeds.simd.products import ABREAST
from kseeds.simd.row_products import lowest_bit
from kseeds.simd.runs import prefetch

_byte_products = byte_products()
_entries_within = entries_within()
_lowest_bit = lowest_bit()
_prefetch = prefetch()

_UP = 2.0**-23
"""Share of a limit that no rounding to single precision exceeds."""
_LINE = 64
_AHEAD = 512
"""Bytes of a row that are read ahead; the machine guesses the rest."""


class Found(NamedTuple):
    """The bounds of 64 rows and all centres, the least of each four, and of each row.

    ``at`` is the four that has the least of a row. ``limits`` are the largest of a centre that may
    be the nearest, ``near`` the centres that were taken so far, −1 where there is none.
    """

    table: Any
    fours: Any
    least: Any
    at: Any
    limits: Any
    near: Any


def workspace(points: FloatArray, n_centers: int) -> tuple[Tile, Found]:
    """Return what `settle_rows` needs for so many centres, a multiple of four."""
    values = aligned((-(-points.shape[1] // TOGETHER) * TOGETHER + 2, COLUMNS), points.dtype)
    values[:-2] = 0.0
    at, near = aligned((2, COLUMNS), np.int32)
    singles = aligned((n_centers + n_centers // ABREAST + 2, COLUMNS), np.float32)
    table, fours = singles[:n_centers], singles[n_centers:-2]
    tile = Tile(aligned(COLUMNS, np.int64), values[:-2], *values[-2:])
    return tile, Found(table, fours, singles[-2:-1], at, singles[-1], near)


@inlined
def of_row(factors: Factors, norm: float, left: float) -> float:
    """Return by how much bounds may exceed |x − c|² − |x|², for terms of the row."""
    of_steps = factors.of_norm * np.float64(norm) + factors.of_error * np.float64(left)
    return of_steps + factors.slack


@inlined
def _limit(factors: Factors, norm: float, left: float, squared: float) -> np.float32:
    """Return the largest bound of a centre that may be as near as ``squared``."""
    limit = np.float64(squared) * factors.stretch - np.float64(norm) + of_row(factors, norm, left)
    return np.float32(limit + _UP * abs(limit))


@inlined
def _are_exact(norms: Any, rows: int, most: float) -> bool:
    """Tell whether all squared norms are small enough for products of whole numbers to be exact."""
    largest = norms.dtype.type(0.0)
    for c in range(rows):
        largest = norms[c] if norms[c] > largest else largest
    return bool(largest <= most)


@inlined
def _keep_least(
    low: int, rows: int, number: int, squared: Any, labels: Any, norms: Any, found: Found
) -> None:
    """Write the nearest of rows whose products are exact."""
    for c in range(rows):
        exact = found.least[0, c] + norms[c]
        if exact < squared[low + c]:
            squared[low + c], labels[low + c] = exact, number + _place_of_least(found, c)


@inlined
def _place_of_least(found: Found, c: int) -> int:
    """Return the first centre that has the least bound of row c, without a branch."""
    k, least = ABREAST * int(found.at[c]), found.least[0, c]
    place = 2 + (found.table[k + 2, c] != least)
    place = 1 if found.table[k + 1, c] == least else place
    return k + (0 if found.table[k, c] == least else place)


@inlined
def _take_out(found: Found, k: int, c: int) -> None:
    """Have a centre looked at no more, which row c has been compared with."""
    first, least = k - k % ABREAST, np.float32(np.inf)
    found.table[k, c] = least
    for other in range(first, first + ABREAST):
        least = found.table[other, c] if found.table[other, c] < least else least
    found.fours[k // ABREAST, c] = least


@inlined
def _compare_least(
    points: Any, low: int, bits: int, centers: Any, factors: Factors, number: int, squared: Any,
    labels: Any, norms: Any, errors: Any, found: Found,
) -> int:  # fmt: skip
    """Compare the rows of ``bits`` with the centre of the least bound, and limit others by it.

    Returns how many distances were computed.
    """
    computed, near = 0, found.near
    ahead, width = bits, min(points.shape[1], _AHEAD // points.itemsize)
    while ahead != 0:
        place = (low + _lowest_bit(ahead)) * points.shape[1]
        ahead &= ahead - 1
        for line in range(place, place + width, _LINE // points.itemsize):
            _prefetch(points, line)
    while bits != 0:
        c = _lowest_bit(bits)
        bits &= bits - 1
        i, near[c] = low + c, -1
        computed += 1
        k = _place_of_least(found, c)
        _take_out(found, k, c)
        exact = sum_of_squares(points, i, centers, k)
        if exact < squared[i]:
            squared[i], labels[i], near[c] = exact, number + k, k
            found.limits[c] = _limit(factors, norms[c], errors[c], exact)
    return computed


@inlined
def _compare_others(
    points: Any, low: int, of_rows: int, centers: Any, factors: Factors, number: int,
    squared: Any, labels: Any, norms: Any, errors: Any, found: Found,
) -> int:  # fmt: skip
    """Compare the rows of the bits ``of_rows`` with all other centres within their limits.

    Returns how many distances were computed.
    """
    computed, near = 0, found.near
    for first in range(0, centers.shape[0], ABREAST):
        of_four = _entries_within(found.fours, first // ABREAST, found.limits) & of_rows
        if of_four == 0:
            continue
        for k in range(first, min(first + ABREAST, centers.shape[0])):
            bits = _entries_within(found.table, k, found.limits) & of_four
            while bits != 0:
                c = _lowest_bit(bits)
                bits &= bits - 1
                i = low + c
                computed += 1
                exact = sum_of_squares(points, i, centers, k)
                if exact < squared[i] or (exact == squared[i] and k < near[c]):
                    squared[i], labels[i], near[c] = exact, number + k, k
                    found.limits[c] = _limit(factors, norms[c], errors[c], exact)
    return computed


@kernel
def settle_rows(
    points: Any, centers: Any, factors: Factors, steps: Steps, start: int, stop: int, number: int,
    squared: Any, labels: Any, tile: Tile, found: Found,
) -> int:  # fmt: skip
    """Compare the rows from ``start`` to ``stop`` with ``centers``, numbered from ``number``.

    Overwrites ``squared`` and ``labels`` where a centre is strictly nearer, ties to the lowest
    number. Returns how many distances of whole rows were computed. If steps are kept, ``start`` is
    a multiple of 64.
    """
    computed, d = 0, points.shape[1]
    for low in range(start, stop, COLUMNS):
        rows = COLUMNS if low + COLUMNS < stop else stop - low
        at = low // COLUMNS if steps.are_kept else 0
        if not steps.are_kept or steps.state[at] == UNKNOWN:
            set_steps(points, low, rows, factors, at, steps, tile)
            # The next rows are read while products of these are computed.
            following = low + 2 * COLUMNS if low + 2 * COLUMNS < stop else stop
            for place in range((low + COLUMNS) * d, following * d, _LINE // points.itemsize):
                _prefetch(points, place)
        norms, errors, limits = steps.norms[at], steps.errors[at], found.limits
        if steps.state[at] == UNBOUNDED:
            computed += compare_all(points, low, rows, centers, number, squared, labels)
            continue
        _byte_products(
            steps.words[at], factors.words, factors.starts, steps.scales[at], factors.slopes,
            factors.added, found.table, found.fours, found.least[0], found.at,
        )  # fmt: skip
        if steps.state[at] == EXACT and _are_exact(norms, rows, factors.whole):
            _keep_least(low, rows, number, squared, labels, norms, found)
            continue
        for c in range(rows):
            limits[c] = _limit(factors, norms[c], errors[c], squared[low + c])
        of_rows = (1 << rows) - 1 if rows < COLUMNS else -1
        of_rows &= _entries_within(found.least, 0, limits)
        if of_rows != 0:
            computed += _compare_least(
                points, low, of_rows, centers, factors, number, squared, labels, norms, errors,
                found,
            )  # fmt: skip
            computed += _compare_others(
                points, low, of_rows, centers, factors, number, squared, labels, norms, errors,
                found,
            )  # fmt: skip
    return computed
