"""Greedy steps on sparse rows: whatever products leave out or round, the seeds are naive's."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy import sparse

from kseeds import greedy_kmeans_plusplus
from kseeds.methods.greedy import cuts, postings

N, D, K = 700, 400, 40
N_CUTS = len(cuts.Choice(1).sizes)


def text(kind, dtype=np.float64):
    """Return rows of many words: some are in nearly every row, and weigh little or much."""
    rng = np.random.default_rng(7)
    share = np.minimum(0.9, 8.0 / np.arange(1, D + 1))
    present = rng.random((N, D)) < share
    values = np.where(present, rng.exponential(size=(N, D)), 0.0)
    if kind != "counts":
        values *= np.log(1.0 / share)
    if kind == "signed":
        values *= rng.choice([-1.0, 1.0], size=(N, D))
    if kind == "topics":  # rows that are near each other, so that many are looked at
        values[1::2] = values[::2] * rng.choice([1.0, 1.01], size=(N // 2, D))
    return sparse.csr_array(values.astype(dtype))


@functools.cache
def text_and_wanted(kind):
    """Return rows and the seeds of naive, which takes its time."""
    X = text(kind)
    return X, seeds(X, algorithm="naive")


def seeds(X, **options):
    found = greedy_kmeans_plusplus(X, K, random_state=3, **options)
    return found.indices.tolist(), found.labels.tobytes(), found.distances.tobytes()


@pytest.mark.parametrize("kind", ["words", "counts", "signed", "topics"])
@pytest.mark.parametrize("cut", range(N_CUTS))
def test_every_cut_finds_the_seeds_of_naive(cut, kind, monkeypatch):
    monkeypatch.setattr(cuts.Choice, "of_step", lambda self, n: np.full(n, cut))
    X, wanted = text_and_wanted(kind)
    assert seeds(X, algorithm="fast", strategy="pool") == wanted


@pytest.mark.parametrize("kind", ["counts", "topics"])
@pytest.mark.parametrize("cut", [0, 2, N_CUTS - 1])
@pytest.mark.parametrize("rows", [64, 256])
def test_blocks_of_rows_and_candidates_that_are_compared_again(rows, cut, kind, monkeypatch):
    monkeypatch.setattr(cuts.Choice, "of_step", lambda self, n: np.full(n, cut))
    monkeypatch.setattr(postings, "_ROWS", rows)
    monkeypatch.setattr(postings, "_KEPT", N)  # room for 64 rows, which the first steps exceed
    X, wanted = text_and_wanted(kind)
    assert seeds(X, algorithm="fast", strategy="pool") == wanted


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "angular"])
def test_cuts_change_as_seeds_are_found(metric, dtype):
    X = text("topics", dtype)
    wanted = seeds(X, algorithm="naive", metric=metric)
    assert seeds(X, algorithm="fast", strategy="pool", metric=metric) == wanted


@pytest.mark.parametrize("scale", [1e-170, 1e-30, 1e30, 1e150])
def test_no_scale_is_too_large_or_small_for_bounds(scale):
    """They are in single precision, where such values would overflow or vanish."""
    X = text("signed") * scale
    assert seeds(X, algorithm="fast", strategy="pool") == seeds(X, algorithm="naive")


@pytest.mark.parametrize("cut", [0, 1, N_CUTS - 1])
def test_rows_that_are_tiny_beside_others_are_not_lost(cut, monkeypatch):
    monkeypatch.setattr(cuts.Choice, "of_step", lambda self, n: np.full(n, cut))
    X = text("signed")
    X.data[X.indptr[3] :] *= 1e-21
    assert seeds(X, algorithm="fast", strategy="pool") == seeds(X, algorithm="naive")


def test_columns_that_weigh_much_are_kept_dense():
    assert len(rows_of(text("counts"))._columns) > 0
    assert len(rows_of(text("words"))._columns) == 0


def rows_of(X):
    from kseeds.inputs.problem import prepare_problem
    from kseeds.runtime.threads import Workers

    problem, _, _ = prepare_problem(
        X, K, sample_weight=None, metric="euclidean", initial_centers=None, random_state=0,
        n_threads=1, progress=False,
    )  # fmt: skip
    with Workers(1) as workers:
        return postings.PostingRows(problem, workers)


def test_few_rows_are_looked_at_for_a_bound(monkeypatch):
    """On text, a cut spares most steps and is chosen for it."""
    chosen, learn = [], cuts.Choice.learn

    def learning(self, taken, costs):
        learn(self, taken, costs)
        chosen.append(self.best)

    monkeypatch.setattr(cuts.Choice, "learn", learning)
    rng = np.random.default_rng(0)
    n, d = 4000, 4000
    share = np.minimum(0.95, 60.0 / np.arange(1, d + 1))
    X = sparse.random_array((n, d), density=0.01, rng=rng, format="csr")
    common = rng.random((n, 60)) < share[:60]
    X = sparse.hstack([sparse.csr_array(0.02 * common), X]).tocsr()
    greedy_kmeans_plusplus(X, 100, random_state=0, algorithm="fast", strategy="pool")
    assert chosen[-1] > 0
