"""Leaves that keep their lists from one iteration to the next find what naive finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kseeds import kmeans
from kseeds.lloyd import tree
from kseeds.runtime.threads import Workers
from tests.lloyd.test_algorithms_agree import KINDS, Side, compare, rows_of


@pytest.fixture(scope="module", autouse=True)
def at_once():
    """Lists are kept from the second iteration on, however far centres move."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree, "_RESTLESS", np.inf)
        patch.setattr(tree, "_WORTH", -1.0)
        yield


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    kind=st.sampled_from(KINDS),
    n=st.integers(30, 3000),
    d=st.sampled_from([1, 2, 3, 6, 8, 15]),
    k=st.integers(1, 29),
    seed=st.integers(0, 2**20),
    dtype=st.sampled_from([np.float32, np.float64]),
    weighted=st.booleans(),
    adopted=st.booleans(),
)
def test_every_iteration_is_the_naive_one(kind, n, d, k, seed, dtype, weighted, adopted):
    X = rows_of(kind, n, d, seed, dtype)
    weights = None
    if weighted:
        weights = np.random.default_rng(seed).integers(0, 4, n) * 0.25
        weights[:k] = 1.0
    compare(X, weights, k, "tree", "euclidean", 15, adopted)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_more_centres_than_are_measured_by_every_leaf(kind, dtype):
    for d, k in ((2, 200), (6, 100)):
        compare(rows_of(kind, 12_000, d, 1, dtype), None, k, "tree", "euclidean", 10)


@pytest.mark.parametrize("longest", [1, 4, 12])
def test_lists_for_which_there_is_no_room(longest, monkeypatch):
    monkeypatch.setattr(tree, "_LONGEST", longest)
    for d, k in ((2, 150), (5, 80)):
        compare(rows_of("random", 6000, d, 2, np.float32), None, k, "tree", "euclidean", 10)


@pytest.mark.parametrize("share", [0.0, 1e3])
def test_lists_without_a_margin_and_with_all_of_it(share, monkeypatch):
    monkeypatch.setattr(tree, "_LASTING", share)
    compare(rows_of("clustered", 8000, 3, 3, np.float32), None, 120, "tree", "euclidean", 15)


def test_centres_that_jump_are_listed_where_they_land():
    """Assignments of centres that are exchanged, and that come from far away."""
    X = rows_of("random", 6000, 2, 4, np.float32)
    rng = np.random.default_rng(0)
    far = X[:90].copy()
    jumping = [X[rng.choice(len(X), 90, replace=False)].copy() for _ in range(3)]
    jumping += [far, far[::-1].copy(), far + np.float32(1e4), far]
    with Workers(2) as workers:
        side = Side(X, None, 90, "tree", "euclidean", workers)
        naive = Side(X, None, 90, "naive", "euclidean", workers)
        for centers in jumping:
            changed = [one.assigner.assign(centers, one.sums) for one in (side, naive)]
            found = [one.assigner.nearest(centers) for one in (side, naive)]
            assert changed[0] == changed[1]
            np.testing.assert_array_equal(found[0].labels, found[1].labels)
            np.testing.assert_array_equal(side.sums.folds, naive.sums.folds)


def test_rows_are_skipped_and_fewer_distances_computed(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60_000, 3)).astype(np.float32)
    options = {"init": X[:80], "max_iter": 30, "tol": 0, "algorithm": "tree"}
    kept = kmeans(X, 80, **options)
    monkeypatch.setattr(tree, "_RESTLESS", -1.0)
    anew = kmeans(X, 80, **options)
    assert anew.work.rows_skipped == 0 < kept.work.rows_skipped
    assert kept.work.distances < 0.8 * anew.work.distances
    np.testing.assert_array_equal(kept.centers, anew.centers)
