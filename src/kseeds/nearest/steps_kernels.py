"""Rows and centres in steps of which a byte holds the number; see `kseeds.nearest.quantized`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kseeds.distances.metrics import FloatArray
from kseeds.nearest.brute_force_kernels import load_columns
from kseeds.runtime.aligned import aligned
from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.compiler import inlined, kernel
from kseeds.simd.byte_products import TOGETHER
from kseeds.simd.products import ABREAST

STEPS, OFFSET = 127, 128
"""How many steps the largest coordinate has, and what is added to those of rows: none is negative
then."""

_ROUNDS_SINGLE, _ROUNDS_DOUBLE = 1.5 * 2.0**23, 1.5 * 2.0**52
_LEAST = 1e-30
"""The least step: what has smaller ones is taken for 0, and left as it is."""
_MOST = 1e17
"""The largest coordinate of which no product with a centre is beyond single precision."""
_BYTE, _OF_1, _OF_2, _OF_3 = np.int32(255), np.int32(8), np.int32(16), np.int32(24)
_OFFSETS = np.int32(OFFSET * 0x01010101 - 2**32)


class Factors(NamedTuple):
    """Centres in steps, four side by side, and what makes products of them lower bounds.

    What steps and rounding leave out of a row is at most ``of_norm`` times its squared norm and
    ``of_error`` times the square of what its own steps leave out. ``slack`` is what shifts may be
    too large by, and ``stretch`` the factor by which a squared distance may be too small. ``whole``
    is the largest squared norm up to which products of rows of whole numbers are exact;
    negative if those of no row are.
    """

    words: Any
    starts: Any
    slopes: Any
    added: Any
    mean: Any
    of_norm: float
    of_error: float
    slack: float
    stretch: float
    whole: float


class Steps(NamedTuple):
    """Tiles of 64 rows in steps about the mean, four to a word, as columns.

    ``scales`` are the steps of each row. ``norms`` are squared, and ``errors`` the squares of what
    whole steps leave out. ``state`` tells of each tile whether it is known, and what its products
    are. If not ``are_kept``, there is one tile, which is of other rows every time.
    """

    words: Any
    scales: Any
    norms: Any
    errors: Any
    state: Any
    are_kept: bool


UNKNOWN, ROUNDED, EXACT, UNBOUNDED = 0, 1, 2, 3
"""What the state of a tile is: there are no steps of rows that have too large coordinates."""


class Tile(NamedTuple):
    """A workspace: the numbers of 64 rows, these as columns about the mean, and their largest.

    ``rest`` is more than 0 for rows that are not of whole numbers, as far as that was looked at.
    """

    rows: Any
    columns: Any
    rest: Any
    most: Any


def new_steps(points: FloatArray, are_kept: bool, columns: int | None = None) -> Steps:
    """Return room for the steps of all rows, or of one tile of them; of so many ``columns``."""
    n, d = len(points), points.shape[1] if columns is None else columns
    tiles = -(-n // COLUMNS) if are_kept else 1
    words = aligned((tiles, -(-d // TOGETHER), COLUMNS), np.int32)
    scales = aligned((tiles, COLUMNS), np.float32)
    norms, errors = aligned((2, tiles, COLUMNS), points.dtype)
    return Steps(words, scales, norms, errors, np.zeros(tiles, dtype=np.uint8), are_kept)


@kernel
def set_factors(
    centers: Any, mean: Any, order: Any, is_whole: bool, words: Any, starts: Any, slopes: Any,
    norms: Any, errors: Any,
) -> float:  # fmt: skip
    """Write centres about the mean in steps, their squared norms and the squares of their errors.

    ``mean`` is in the order of columns. Centres of whole numbers have steps of 1; returns their
    largest coordinate, which should not be more than `STEPS` then.
    """
    (m, d), n_words, largest = centers.shape, words.shape[0] // (starts.shape[0] // ABREAST), 0.0
    words[:] = 0
    for k in range(m):
        most, norm, error, total = 0.0, 0.0, 0.0, np.int64(0)
        for j in range(d):
            value = np.float64(centers[k, order[j]] - mean[j])
            norm += value * value
            most = abs(value) if abs(value) > most else most
        step = np.float32(1.0 if is_whole else most / STEPS)
        scale = np.float64(step) if step > _LEAST else np.float64(1.0)
        for j in range(d):
            value = np.float64(centers[k, order[j]] - mean[j])
            steps = min(max(np.rint(value / scale), -STEPS), STEPS)
            error += (value - steps * scale) ** 2
            whole = np.int32(steps)
            total += np.int64(whole)
            place = k // ABREAST * n_words + j // TOGETHER
            shift = np.int32(8 * (j % TOGETHER))
            words[place, k % ABREAST] |= (whole & _BYTE) << shift
        starts[k], slopes[k] = -OFFSET * total, np.float32(-2.0 * scale)
        norms[k], errors[k] = norm, error
        largest = most if most > largest else largest
    return largest


@inlined
def _load_moved(
    points: Any, low: int, count: int, factors: Factors, norms: Any, tile: Tile
) -> None:
    """Write rows about the mean as columns, their squared norms and their largest coordinates.

    If products of whole numbers may be exact, ``rest`` tells which rows are not whole, or have lost
    something. Adding a number between the first two powers of two from which on floats are whole,
    and subtracting it again, rounds.
    """
    kind = points.dtype.type
    big = kind(_ROUNDS_SINGLE if points.itemsize == 4 else _ROUNDS_DOUBLE)
    columns, rest, most = tile.columns, tile.rest, tile.most
    for c in range(COLUMNS):
        tile.rows[c] = low + c
        norms[c], rest[c], most[c] = 0.0, 0.0, 0.0
    load_columns(points, tile.rows, count, columns)
    for j in range(points.shape[1]):
        mean = factors.mean[j]
        if factors.whole >= 0.0:
            for c in range(COLUMNS):
                value = columns[j, c]
                moved = value - mean
                rest[c] += abs((moved + mean) - value) + abs(((moved + big) - big) - moved)
        for c in range(COLUMNS):
            value = columns[j, c] - mean
            columns[j, c] = value
            norms[c] += value * value
            most[c] = abs(value) if abs(value) > most[c] else most[c]


@inlined
def _quantize(factors: Factors, words: Any, scales: Any, errors: Any, tile: Tile) -> None:
    """Write the rows in steps, and the squares of what these leave out.

    Rows of whole numbers have steps of 1. What is beyond the last coordinate is 0.
    """
    columns, most = tile.columns, tile.most
    kind = columns.dtype.type
    big = kind(_ROUNDS_SINGLE if columns.itemsize == 4 else _ROUNDS_DOUBLE)
    for c in range(COLUMNS):
        is_whole = factors.whole >= 0.0 and tile.rest[c] == 0.0 and most[c] <= kind(STEPS)
        scale = np.float32(1.0) if is_whole else np.float32(most[c] / kind(STEPS))
        scales[c] = scale if scale > np.float32(_LEAST) else np.float32(1.0)
        most[c], errors[c] = kind(1.0) / kind(scales[c]), 0.0
    for word in range(words.shape[0]):
        j = TOGETHER * word
        for c in range(COLUMNS):
            a, b, scale = most[c], big, kind(scales[c])
            x, y, z, w = columns[j, c], columns[j + 1, c], columns[j + 2, c], columns[j + 3, c]
            p, q, r, s = (x * a + b) - b, (y * a + b) - b, (z * a + b) - b, (w * a + b) - b
            x, y, z, w = x - p * scale, y - q * scale, z - r * scale, w - s * scale
            errors[c] += (x * x + y * y) + (z * z + w * w)
            words[word, c] = _OFFSETS ^ (
                (np.int32(p) & _BYTE)
                | (np.int32(q) & _BYTE) << _OF_1
                | (np.int32(r) & _BYTE) << _OF_2
                | np.int32(s) << _OF_3
            )


@inlined
def set_steps(
    points: Any, low: int, rows: int, factors: Factors, at: int, steps: Steps, tile: Tile
) -> None:
    """Write rows, from number ``low`` on, as tile ``at`` of the steps."""
    words, scales = steps.words[at], steps.scales[at]
    norms, errors = steps.norms[at], steps.errors[at]
    _load_moved(points, low, rows, factors, norms, tile)
    beyond = 0
    for c in range(rows):
        beyond += not tile.most[c] <= _MOST
    if beyond > 0:
        steps.state[at] = UNBOUNDED
        return
    _quantize(factors, words, scales, errors, tile)
    steps.state[at] = ROUNDED
    if factors.whole >= 0.0:
        others = 0
        for c in range(rows):
            is_exact = errors[c] + tile.rest[c] == 0.0 and scales[c] == np.float32(1.0)
            others += not is_exact
        if others == 0:
            steps.state[at] = EXACT
