"""Distances of sparse rows: exact where they are near, the same bits in both tiers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kseeds.distances import sparse_reference
from kseeds.distances.metrics import Family
from kseeds.distances.sparse_kernels import SparseArrays, squared_distance
from kseeds.distances.sparse_rows import SparseRows, stacked
from kseeds.inputs.sparse import from_dense

FAMILIES = {Family.EUCLIDEAN: None, Family.ARC: int(Family.ARC)}


def rows_of(n, d, filled, rng, dtype=np.float64):
    """Return random rows, a few of them equal, empty, or equal but for the last bits."""
    X = np.where(rng.random((n, d)) < filled, rng.normal(size=(n, d)), 0.0).astype(dtype)
    X[n // 2] = X[0]
    X[n // 3] = np.nextafter(X[0], dtype(np.inf), dtype=dtype)
    X[n // 4] = 0.0
    return X


def on_the_sphere(X):
    X = X.copy()
    X[~X.any(axis=1), 0] = 1.0
    return (X / np.linalg.norm(X.astype(np.float64), axis=1)[:, None]).astype(X.dtype)


def test_rows_are_sliced_and_indexed_like_an_array():
    rng = np.random.default_rng(0)
    X = rows_of(30, 7, 0.3, rng)
    rows = from_dense(X)
    np.testing.assert_array_equal(rows.toarray(), X)
    for which in (slice(3, 9), slice(0, 30, 4), slice(9, 3), [4, 4, 0], X[:, 0] > 0, 5, []):
        expected = X[np.arange(30)[which]] if not isinstance(which, int) else X[[which]]
        if isinstance(which, list):
            which = np.array(which, dtype=np.int64)
        np.testing.assert_array_equal(rows[which].toarray(), expected.reshape(-1, 7))
    again = rows[4:20][2:6]
    np.testing.assert_array_equal(again.toarray(), X[6:10])
    np.testing.assert_array_equal(again.norms, rows.norms[6:10])
    np.testing.assert_array_equal(stacked([again, rows[:2]]).toarray(), np.r_[X[6:10], X[:2]])
    assert [block for block in rows.blocks(8) if block[0] >= block[1]] == []
    assert rows.blocks(8)[-1][1] == 30
    assert again.compact().data.size == again.size


def test_a_slice_is_pickled_without_the_rest():
    import pickle

    rows = from_dense(np.ones((1000, 4)))
    small = pickle.dumps(rows[10:12])
    assert len(small) < 1500
    np.testing.assert_array_equal(pickle.loads(small).toarray(), np.ones((2, 4)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("family", FAMILIES)
def test_both_tiers_and_all_ways_give_the_same_bits(dtype, family):
    rng = np.random.default_rng(1)
    X = rows_of(60, 40, 0.2, rng, dtype)
    if family is Family.ARC:
        X = on_the_sphere(X)
        X[7] = -X[5]  # antipodes
    rows, centers = from_dense(X), from_dense(X[::3])
    table = sparse_reference.Table(centers, family).of(rows)
    a, b = SparseArrays.of(rows), SparseArrays.of(centers)
    for j in range(len(centers)):
        column = sparse_reference.squared_distances(rows, centers[j], family)
        np.testing.assert_array_equal(column, table[:, j])
        for i in range(len(rows)):
            assert squared_distance(a, i, b, j, FAMILIES[family]) == table[i, j]
    mine = sparse_reference.squared_distances(rows[: len(centers)], centers, family)
    np.testing.assert_array_equal(mine, table.diagonal())
    assert table[30, 0] == table[0, 0] == 0.0


@pytest.mark.parametrize("columns", [40, 10**6])
def test_a_centre_is_looked_up_densely_or_by_bisection(columns):
    rng = np.random.default_rng(2)
    places = np.sort(rng.choice(columns, size=(5, 8), replace=False), axis=1)
    places[3] = places[0]
    rows = SparseRows(rng.normal(size=40), places.reshape(-1), np.arange(0, 41, 8), columns)
    found = sparse_reference.squared_distances(rows, rows[0], Family.EUCLIDEAN)
    small = np.unique(places)
    dense = np.zeros((5, len(small)))
    np.put_along_axis(dense, np.searchsorted(small, places), rows.data.reshape(5, 8), axis=1)
    np.testing.assert_allclose(found, ((dense - dense[0]) ** 2).sum(axis=1), rtol=1e-13)
    empty = rows[1:1]
    assert len(sparse_reference.squared_distances(empty, rows[0], Family.EUCLIDEAN)) == 0


entry = st.one_of(st.just(0.0), st.floats(-1e6, 1e6), st.sampled_from([1.0, 1.0 + 2**-52, 1e-9]))
row = st.lists(entry, min_size=6, max_size=6)


@given(row, row)
def test_a_distance_is_exact_but_for_a_few_roundings(x, c):
    rows = from_dense(np.array([x, c]))
    found = sparse_reference.squared_distances(rows[:1], rows[1], Family.EUCLIDEAN)[0]
    exact = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x, c, strict=True))
    assert abs(Fraction(float(found)) - exact) <= exact * Fraction(2**-45) + Fraction(1, 10**300)


def test_near_duplicates_keep_their_distance_and_duplicates_have_none():
    base = np.random.default_rng(3).normal(size=200) * 1e3
    other = base.copy()
    other[17] += 2.0**-30
    rows = from_dense(np.array([base, other, base]))
    found = sparse_reference.squared_distances(rows, rows[0], Family.EUCLIDEAN)
    difference = other[17] - base[17]
    assert found.tolist() == [0.0, difference * difference, 0.0]
