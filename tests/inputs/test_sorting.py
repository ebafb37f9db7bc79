"""Rows whose entries are in no order: sorted by the kernel as by SciPy, and never in place."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from kseeds import kmeans_plusplus
from kseeds.inputs import sorting
from kseeds.inputs.sorting import is_sorted, sort_compiled, sorted_rows
from kseeds.runtime import compile_policy

MOST = 2**31 - 1


def unsorted(rng, counts, d, dtype=np.float64, *, twice=False):
    """Return entries, columns and pointers of rows of so many entries."""
    columns = [rng.choice(min(d, 10_000_000), count, replace=twice) for count in counts]
    places = np.concatenate([np.empty(0, np.int64), *columns])
    if d > 10_000_000:  # up to the last
        places = d - 1 - places * (d // 10_000_000)
    pointers = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return rng.normal(size=len(places)).astype(dtype), places.astype(np.int32), pointers


def by_scipy(entries, columns, pointers, d):
    matrix = sparse.csr_array((entries.copy(), columns.copy(), pointers), (len(pointers) - 1, d))
    matrix.sort_indices()
    return matrix.data, matrix.indices


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 2, 2047, 2048, 2049, 2**22, 2**22 + 1, MOST])
def test_the_kernel_sorts_as_scipy(d, dtype):
    rng = np.random.default_rng(d)
    counts = rng.integers(0, min(d, 40) + 1, size=200)
    counts[[0, 7, -1]] = 0
    given = unsorted(rng, counts, d, dtype)
    values, columns = sort_compiled(*given, d)
    wanted = by_scipy(*given, d)
    np.testing.assert_array_equal(values, wanted[0])
    np.testing.assert_array_equal(columns, wanted[1])
    assert values.dtype == dtype
    assert columns.dtype == np.int32


def test_rows_longer_than_a_block_and_blocks_of_many_rows():
    rng = np.random.default_rng(0)
    counts = np.concatenate([[5, 100_000, 3], np.ones(40_000, dtype=int), [70_000]])
    given = unsorted(rng, counts, 300_000)
    values, columns = sort_compiled(*given, 300_000)
    wanted = by_scipy(*given, 300_000)
    np.testing.assert_array_equal(values, wanted[0])
    np.testing.assert_array_equal(columns, wanted[1])


def test_equal_columns_stay_in_the_order_they_are_in():
    columns = np.array([3, 1, 3, 1, 3], dtype=np.int32)
    values, places = sort_compiled(np.arange(5.0), columns, np.array([0, 5]), 4)
    assert places.tolist() == [1, 1, 3, 3, 3]
    assert values.tolist() == [1.0, 3.0, 0.0, 2.0, 4.0]


@pytest.mark.parametrize("twice", [False, True])
def test_no_tier_shows(twice, monkeypatch):
    rng = np.random.default_rng(4)
    given = unsorted(rng, rng.integers(0, 30, size=300), 50 if twice else 5000, twice=twice)
    before = [part.copy() for part in given]
    found = []
    for is_compiled in (True, False):
        monkeypatch.setattr(compile_policy, "pays", lambda *_, answer=is_compiled: answer)
        found.append(sorted_rows(*given, 5000))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    assert is_sorted(found[0][1], found[0][2])
    for part, old in zip(given, before, strict=True):
        np.testing.assert_array_equal(part, old)


def test_seeds_of_rows_in_no_order_are_those_of_rows_in_order(monkeypatch):
    rng = np.random.default_rng(5)
    entries, columns, pointers = unsorted(rng, np.full(400, 20), 3000)
    X = sparse.csr_array((entries, columns, pointers), (400, 3000))
    Y = X.copy()
    Y.sort_indices()
    wanted = kmeans_plusplus(Y, 20, random_state=0)
    used = []
    monkeypatch.setattr(compile_policy, "pays", lambda *_: True)
    monkeypatch.setattr(sorting, "sort_compiled", lambda *a: used.append(1) or sort_compiled(*a))
    found = kmeans_plusplus(X, 20, random_state=0)
    assert found.indices.tolist() == wanted.indices.tolist()
    assert used
    assert X.indices.tolist() == columns.tolist()
