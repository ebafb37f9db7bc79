"""Products of bytes: the instruction, what stands in for it elsewhere, and its twin in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from kseeds.runtime.block_sizes import COLUMNS
from kseeds.simd import byte_products, interpreted
from tests.simd.test_interpreted_twins import compiled

BYTE_PRODUCTS = compiled(byte_products.byte_products(), 10)
WITHOUT_THE_INSTRUCTION = compiled(byte_products.byte_products(), 10)
ENTRIES_WITHIN = compiled(byte_products.entries_within(), 3)


def problem_of(rng, words, height):
    """Return words of all bytes there are, and numbers whose products are exact."""
    tile = rng.integers(-(2**31), 2**31, size=(words, COLUMNS)).astype(np.int32)
    factors = rng.integers(-(2**31), 2**31, size=(height // 4 * words, 4)).astype(np.int32)
    starts = rng.integers(-9, 10, size=height).astype(np.int32)
    scales, slopes = (
        np.exp2(rng.integers(-2, 3, size=size)).astype(np.float32) for size in (COLUMNS, height)
    )
    return tile, factors, starts, scales, slopes, np.zeros(height, dtype=np.float32)


def found_by(function, problem, height):
    table, fours = (np.empty((size, COLUMNS), np.float32) for size in (height + 3, height // 4 + 1))
    least, at = np.empty(COLUMNS, np.float32), np.empty(COLUMNS, np.int32)
    function(*problem, table, fours, least, at)
    return table[:height], fours[: height // 4], least, at


@pytest.mark.parametrize("height", [4, 8, 100])
@pytest.mark.parametrize("words", [1, 4, 33])
def test_products_of_bytes(words, height, monkeypatch):
    problem = problem_of(np.random.default_rng(words), words, height)
    wanted = found_by(interpreted.byte_products, problem, height)
    for function, has_instruction in ((BYTE_PRODUCTS, None), (WITHOUT_THE_INSTRUCTION, False)):
        if has_instruction is not None:
            monkeypatch.setattr(byte_products, "MULTIPLIES_BYTES", has_instruction)
        for mine, twin in zip(found_by(function, problem, height), wanted, strict=True):
            np.testing.assert_array_equal(mine, twin)
    # Written out once: column 5 and factor 2.
    tile, factors, starts, scales, slopes, _ = problem
    rows = tile[:, 5].copy().view(np.uint8).astype(int)
    signed = factors[:words, 2].copy().view(np.int8).astype(int)
    assert wanted[0][2, 5] == slopes[2] * (scales[5] * np.float32(starts[2] + rows @ signed))


@pytest.mark.parametrize("function", [BYTE_PRODUCTS, interpreted.byte_products])
def test_the_first_of_equal_fours_is_the_least_and_infinity_if_need_be(function):
    problem = problem_of(np.random.default_rng(0), 3, 12)
    problem[4][:] = 0.0  # so that entries are what is added
    added = problem[-1]
    added[:] = np.inf, 3.0, np.inf, 7.0, 9.0, -1e9, 2.0, 5.0, -1e9, 8.0, 8.0, 8.0
    _, fours, least, at = found_by(function, problem, 12)
    assert (fours == np.array([[3.0], [-1e9], [-1e9]], dtype=np.float32)).all()
    assert (least == np.float32(-1e9)).all()
    assert (at == 1).all()
    added[:] = np.inf
    _, fours, least, at = found_by(function, problem, 12)
    assert np.isinf(fours).all()
    assert np.isinf(least).all()
    assert (at == 0).all()


@pytest.mark.parametrize("within", [ENTRIES_WITHIN, interpreted.entries_within])
def test_what_is_no_number_is_always_within(within):
    table = np.repeat(np.array([[np.nan], [3.0], [np.inf], [-1e9]], np.float32), COLUMNS, axis=1)
    limits = np.full(COLUMNS, -1e8, dtype=np.float32)
    limits[[3, 40]] = np.nan, -np.inf
    bits = [int(within(table, k, limits)) & (2**64 - 1) for k in range(4)]
    assert bits == [2**64 - 1, 2**3, 2**3, 2**64 - 1 - 2**40]
