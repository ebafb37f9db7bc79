"""The same for products of rows and centres, in registers."""

from __future__ import annotations

import numpy as np
import pytest

from kseeds.distances.metrics import Family
from kseeds.distances.reference import squared_distances
from kseeds.runtime.block_sizes import COLUMNS, LANES
from kseeds.simd import groups, interpreted, products, row_products
from tests.simd.test_interpreted_twins import both_types, compiled, values

LEAST_PRODUCTS = {together: compiled(products.least_products(together), 6) for together in (1, 4)}
FOUR_PRODUCTS = compiled(products.four_products(), 5)
PRODUCTS_WITHIN = compiled(products.products_within(), 6)
ROW_PRODUCTS = compiled(row_products.row_products(), 7)
NEAREST_OF_GROUPS = compiled(groups.nearest_of_groups(), 5)
LOWEST_BIT = compiled(row_products.lowest_bit(), 1)


def products_of(rng, d, height, dtype):
    """Return whole numbers, whose products are exact however they are summed."""
    tile = rng.integers(-3, 4, size=(d, COLUMNS)).astype(dtype)
    factors = rng.integers(-3, 4, size=(height // 4 * d, 4)).astype(dtype)
    return tile, factors, rng.integers(-9, 10, size=height).astype(dtype)


@pytest.mark.parametrize("height", [4, 8, 100])
@pytest.mark.parametrize("d", [1, 7, 33])
@both_types
@pytest.mark.parametrize("together", [1, 4])
def test_least_products(together, dtype, d, height):
    problem = products_of(np.random.default_rng(height), d, height, dtype)
    mine, twin = ((*np.empty((2, COLUMNS), dtype), np.empty(COLUMNS, np.int32)) for _ in "ab")
    LEAST_PRODUCTS[together](*problem, *mine)
    interpreted.least_products(together)(*problem, *twin)
    for found, wanted in zip(mine, twin, strict=True):
        np.testing.assert_array_equal(found, wanted)
    # Written out once: column 5 and all factors.
    tile, factors, added = problem
    entries = [
        added[k] + sum(tile[j, 5] * factors[k // 4 * d + j, k % 4] for j in range(d))
        for k in range(height)
    ]
    least = min(entries)
    assert mine[0][5] == least
    assert mine[2][5] == entries.index(least) // together * together


@pytest.mark.parametrize("d", [1, 7, 33])
@both_types
def test_four_products_and_those_within_limits(dtype, d):
    rng = np.random.default_rng(d)
    tile, factors, added = products_of(rng, d, 12, dtype)
    for k in (0, 4, 8):
        for limit in (-1e9, -5.0, 0.0, 1e9):
            limits = (limit + rng.integers(0, 3, COLUMNS)).astype(dtype)
            mine, twin = np.empty((2, 4, COLUMNS // LANES), dtype=np.uint16)
            entries, twins = np.empty((2, 4, COLUMNS), dtype=dtype)
            FOUR_PRODUCTS(tile, factors, added, k, entries)
            interpreted.four_products(tile, factors, added, k, twins)
            np.testing.assert_array_equal(entries, twins)
            found = PRODUCTS_WITHIN(tile, factors, added, k, limits, mine)
            assert found == interpreted.products_within(tile, factors, added, k, limits, twin)
            assert found == mine.any() == (entries <= limits).any()
            np.testing.assert_array_equal(mine, twin)
            assert limit not in (-1e9, 1e9) or bool(mine.all()) == found == (limit > 0.0)


@pytest.mark.parametrize("d", [1, 7, 33])
@both_types
def test_products_of_rows(dtype, d):
    rng = np.random.default_rng(d)
    whole, tile = values(rng, (LANES, d), dtype, "grid"), values(rng, (2 * d, LANES), dtype, "grid")
    added = values(rng, 2 * LANES, dtype, "grid")
    for k in (0, LANES):
        for limit in (-1e9, -5.0, 0.0, 1e9):
            limits = (limit + rng.integers(0, 3, LANES)).astype(dtype)
            entries, twins = np.empty((2, LANES, LANES), dtype=dtype)
            mine, twin = np.empty((2, LANES), dtype=np.uint16)
            found = ROW_PRODUCTS(whole, tile, added, k, limits, entries, mine)
            assert found == interpreted.row_products(whole, tile, added, k, limits, twins, twin)
            np.testing.assert_array_equal(entries, twins)
            np.testing.assert_array_equal(mine, twin)
            factor = tile[k // LANES * d : (k // LANES + 1) * d, 3]
            assert entries[5, 3] == added[k + 3] + whole[5] @ factor
            assert (mine[5] >> 3 & 1) == (entries[5, 3] <= limits[5])
            assert found == (entries <= limits[:, None]).any()


@pytest.mark.parametrize("d", [1, 2, 7, LANES - 1])
@both_types
@pytest.mark.parametrize("kind", ["random", "grid"])
def test_distances_to_the_nearest_of_four_are_those_to_the_last_digit(kind, dtype, d):
    rng = np.random.default_rng(d)
    centers, rows = values(rng, (10, d), dtype, kind), values(rng, (COLUMNS, d), dtype, kind)
    centers[5] = centers[6]  # the first is taken
    tile, four = np.ascontiguousarray(rows.T), products.side_by_side(centers, np.inf)
    at = 4 * rng.integers(0, 3, COLUMNS).astype(np.int32)
    mine, twin = np.empty((2, COLUMNS), dtype=dtype)
    near, near_twin = np.empty((2, COLUMNS), dtype=np.int32)
    NEAREST_OF_GROUPS(tile, four, at, mine, near)
    interpreted.nearest_of_groups(tile, four, at, twin, near_twin)
    np.testing.assert_array_equal(mine, twin)
    np.testing.assert_array_equal(near, near_twin)
    table = np.stack([squared_distances(rows, one, Family.EUCLIDEAN) for one in centers])
    for c in range(COLUMNS):
        of_four = table[at[c] : at[c] + 4, c]  # of the last, two are missing
        assert mine[c] == of_four.min()
        assert near[c] == at[c] + of_four.argmin()


def test_lowest_bit():
    for bits in (1, 2, 6, 40, 1 << 15, (1 << 40) + (1 << 16)):
        wanted = bin(bits)[::-1].index("1")
        assert LOWEST_BIT(np.int64(bits)) == interpreted.lowest_bit(np.int64(bits)) == wanted
