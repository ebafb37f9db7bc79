"""Greedy k-means++ with very many candidates per step: the same seeds, in bounded memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from kseeds import greedy_kmeans_plusplus
from kseeds.methods import completion
from kseeds.methods.greedy import proposals

X = np.random.default_rng(0).normal(size=(300, 3))
X[:, 0] *= np.random.default_rng(1).exponential(size=300)
TINY = np.concatenate([np.eye(3), 1e-170 * np.arange(1, 7)[:, None] ** [1, 2, 3]])
"""Rows of which the last to be drawn differ by less than a square can tell."""


@pytest.mark.parametrize("rows", ["dense", "sparse", "tiny"])
def test_blocks_of_proposals_change_no_seed(monkeypatch, rows):
    data = {"dense": X, "sparse": sparse.csr_array(np.where(abs(X) > 0.4, X, 0)), "tiny": TINY}
    same = {"n_local_trials": 50 if rows != "tiny" else 3, "random_state": 3}
    same["sample_weight"] = np.arange(data[rows].shape[0]) % 5 + 0.5
    wanted = greedy_kmeans_plusplus(data[rows], 8, **same)
    monkeypatch.setattr(proposals, "_AT_ONCE", 32)
    monkeypatch.setattr(proposals, "_KEPT", 80)
    monkeypatch.setattr(completion, "_AT_ONCE", 2)
    found = greedy_kmeans_plusplus(data[rows], 8, algorithm="naive", **same)
    np.testing.assert_array_equal(found.indices, wanted.indices)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_milliard_of_candidates_are_all_rows(form):
    """So every step takes the best row there is; no memory is kept for repeated draws."""
    tracemalloc.start()
    try:
        found = greedy_kmeans_plusplus(form(X), 5, n_local_trials=10**9, random_state=0).indices
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 2e8
    squared = np.square(X[:, None] - X).sum(axis=2)
    nearest = squared[found[0]]
    for seed in found[1:]:
        left = np.minimum(nearest, squared).sum(axis=1)
        assert seed == left.argmin()
        nearest = np.minimum(nearest, squared[seed])


def test_so_they_are_where_rows_differ_by_little():
    found = greedy_kmeans_plusplus(TINY, 9, n_local_trials=10**9, random_state=0)
    assert sorted(found.indices) == list(range(9))
