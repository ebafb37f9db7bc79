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
    values, columns, is_done = sort_compiled(*given, d)
    wanted = by_scipy(*given, d)
    assert is_done
    np.testing.assert_array_equal(values, wanted[0])
    np.testing.assert_array_equal(columns, wanted[1])
    assert values.dtype == dtype
    assert columns.dtype == np.int32


def test_rows_longer_than_a_block_and_blocks_of_many_rows():
    rng = np.random.default_rng(0)
    counts = np.concatenate([[5, 100_000, 3], np.ones(40_000, dtype=int), [70_000]])
    given = unsorted(rng, counts, 300_000)
    values, columns, is_done = sort_compiled(*given, 300_000, 2)
    assert is_done
    wanted = by_scipy(*given, 300_000)
    np.testing.assert_array_equal(values, wanted[0])
    np.testing.assert_array_equal(columns, wanted[1])


@pytest.mark.parametrize("count", [13, 60, 3000])
def test_columns_that_crowd_together_are_sorted_too(count):
    rng = np.random.default_rng(count)
    crowded = np.concatenate([rng.permutation(count), [MOST - 1, MOST - 2]]).astype(np.int32)
    values = rng.normal(size=len(crowded))
    pointers = np.array([0, len(crowded)])
    found = sort_compiled(values, crowded, pointers, MOST)
    wanted = by_scipy(values, crowded, pointers, MOST)
    np.testing.assert_array_equal(found[0], wanted[0])
    np.testing.assert_array_equal(found[1], wanted[1])


@pytest.mark.parametrize("count", [5, 40, 500])
def test_equal_columns_are_told(count):
    rng = np.random.default_rng(count)
    columns = rng.permutation(count).astype(np.int32)
    for place, is_strict in ((columns[0], False), (np.int32(count), True)):
        given = np.append(columns, place)
        found = sort_compiled(np.ones(count + 1), given, np.array([0, count + 1]), count + 1)
        assert found[2] is is_strict
        assert found[1].tolist() == sorted(given.tolist())


def test_rows_in_order_are_told_from_others():
    rng = np.random.default_rng(8)
    counts = rng.integers(0, 300, size=1500)
    entries, columns, pointers = unsorted(rng, counts, 5000)
    columns = by_scipy(entries, columns, pointers, 5000)[1]
    assert len(columns) > 3 * sorting._LOOKED_AT
    assert is_sorted(columns, pointers)
    inner = np.setdiff1d(np.arange(1, len(columns)), pointers)
    for place in [inner[0], inner[-1], *(x * sorting._LOOKED_AT for x in (1, 2)), *inner[::9973]]:
        if place in pointers:
            continue
        for wrong in (columns[place - 1], columns[place - 1] - 1):
            changed = columns.copy()
            changed[place] = wrong
            assert not is_sorted(changed, pointers), place


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
