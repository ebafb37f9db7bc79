"""Proposals that meet many seeds: products of few columns rule most of them out, and none shows."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from scipy import sparse

from kseeds import kmeans_plusplus
from kseeds.distances.sparse_rows import SparseRows

N, D, K = 900, 500, 300


def text(kind, dtype):
    """Return rows of which most share some columns, in which they have little or much."""
    rng = np.random.default_rng(11)
    share = np.minimum(0.8, 6.0 / np.arange(1, D + 1))
    values = np.where(rng.random((N, D)) < share, rng.exponential(size=(N, D)), 0.0)
    if kind != "counts":
        values *= np.log(1.0 / share) ** 2
    if kind == "signed":
        values *= rng.choice([-1.0, 1.0], size=(N, D))
    if kind == "scales":
        values *= 10.0 ** rng.uniform(-3, 3, size=(N, 1))
    values[1::3] = values[::3] * rng.choice([1.0, 1.0 + 1e-6, 1.1], size=(N // 3, 1))
    values[5] = 0.0
    return sparse.csr_array(values.astype(dtype))


def seeded(X, kernels, **options):
    found = kmeans_plusplus(X, K, algorithm="lazy", kernels=kernels, random_state=5, **options)
    return (
        found.indices.tolist(), found.labels.tobytes(), found.distances.tobytes(),
        found.work.proposals,
    ), found.work.distances  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["words", "counts", "signed", "scales"])
def test_bounds_change_nothing(kind, dtype):
    X = text(kind, dtype)
    wanted, all_pairs = seeded(X, "plain")
    found, pairs = seeded(X, "compiled")
    assert found == wanted
    assert pairs < 0.5 * all_pairs


@pytest.mark.parametrize("metric", ["cosine", "angular"])
def test_bounds_change_nothing_by_other_metrics(metric):
    X = text("signed", np.float64)
    X = X[np.diff(X.indptr) > 0]
    assert seeded(X, "compiled", metric=metric)[0] == seeded(X, "plain", metric=metric)[0]


def test_initial_centres_refreshes_and_threads():
    X = text("words", np.float64)
    for refresh in ("auto", "partial", "never"):
        options = {"initial_centers": X[:40], "refresh": refresh}
        wanted = seeded(X, "plain", n_threads=1, **options)[0]
        found = [seeded(X, "compiled", n_threads=t, **options) for t in (1, 2, 5)]
        assert [each for each, _ in found] == [wanted] * 3
        assert len({pairs for _, pairs in found}) == 1


def test_more_seeds_than_there_was_room_for():
    """Long rows are drawn first, so that lists are moved to where there is room."""
    rng = np.random.default_rng(3)
    counts = np.where(np.arange(2000) < 100, 600, 1)
    columns = np.concatenate([np.sort(rng.choice(1000, count, replace=False)) for count in counts])
    pointers = np.concatenate([[0], np.cumsum(counts)])
    X = sparse.csr_array((rng.normal(size=pointers[-1]), columns, pointers), (2000, 1000))
    runs = [
        kmeans_plusplus(X, 90, algorithm="lazy", kernels=each, random_state=0).indices.tolist()
        for each in ("plain", "compiled")
    ]
    assert runs[0] == runs[1]
    assert np.diff(X.indptr)[runs[0]].sum() > 2 * 90 * X.nnz / 2000 + 64


def test_rows_are_let_go_at_once(monkeypatch):
    """Sorted copies are as large as the data: they cannot wait for garbage to be collected."""
    seen, make = [], SparseRows.__init__

    def making(self, *parts):
        make(self, *parts)
        seen.append(weakref.ref(self))

    X = text("words", np.float64)
    gc.collect()
    gc.disable()
    try:
        monkeypatch.setattr(SparseRows, "__init__", making)
        seeded(X, "compiled")
        assert seen
        assert not [each for each in seen if each() is not None]
    finally:
        gc.enable()
