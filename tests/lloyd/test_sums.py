"""Sums of clusters: exact, so the same in every order, and without a trace of what was undone."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kseeds.lloyd.columns import columns_of
from kseeds.lloyd.sums import ExactSums
from kseeds.runtime.threads import Workers
from tests.data import ODDITIES, points_of


def sums_of(X, weights, k, threads=1):
    workers = Workers(threads)
    return ExactSums.of_all(X, weights, columns_of(X, workers).largest, k, workers)


def random_labels(n, k, seed):
    return np.random.default_rng(seed).integers(0, k, n).astype(np.int32)


def none(n):
    return np.full(n, -1, dtype=np.int32)


@pytest.mark.parametrize("kind", ODDITIES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_are_those_of_fractions(kind, dtype, weighted):
    X = points_of(kind, 200, 3, 0).astype(dtype)
    weights = np.random.default_rng(1).random(200) * 1.9 if weighted else None
    labels, sums = random_labels(200, 5, 2), sums_of(X, weights, 5)
    sums.move(np.arange(200), none(200), labels)
    totals, masses = sums.totals()
    for c in range(5):
        mine = labels == c
        w = np.ones(200) if weights is None else weights
        # The products are rounded once, as everywhere in float64.
        for j in range(3):
            exact = sum(Fraction(float(v)) for v in w[mine] * X[mine, j].astype(np.float64))
            assert totals[c, j] == pytest.approx(float(exact), rel=1e-15, abs=1e-20)
        assert masses[c] == pytest.approx(float(sum(map(Fraction, w[mine]))), rel=1e-15)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_no_order_and_no_history_changes_a_bit(compiled, dtype, weighted):
    n, k = 3000, 7
    rng = np.random.default_rng(0)
    X = points_of("badly scaled", n, 5, 0).astype(dtype)
    weights = rng.random(n) if weighted else None
    labels = random_labels(n, k, 1)
    plain = sums_of(X, weights, k)
    plain._move_plainly(np.arange(n), none(n), labels)
    other = sums_of(X, weights, k, threads=3)
    move = other.move_compiled if compiled else other._move_plainly
    order, at = rng.permutation(n), none(n)
    for rows in np.array_split(order, 9):
        elsewhere = random_labels(len(rows), k, len(rows))
        move(rows, at[rows], elsewhere)
        at[rows] = elsewhere
    for rows in np.array_split(rng.permutation(n), 4):
        move(rows, at[rows], labels[rows])
    for ours, theirs in zip(other.totals(), plain.totals(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("compiled", [False, True])
def test_what_leaves_leaves_nothing_behind(compiled):
    X = np.array([[1e30, 1.0], [3.0, 0.1], [1e-30, 7.0]])
    sums = sums_of(X, None, 2)
    move = sums.move_compiled if compiled else sums._move_plainly
    rows = np.arange(3)
    move(rows, none(3), np.zeros(3, dtype=np.int32))
    move(rows[:1], np.zeros(1, dtype=np.int32), np.ones(1, dtype=np.int32))
    move(rows[1:], np.zeros(2, dtype=np.int32), np.ones(2, dtype=np.int32))
    totals, masses = sums.totals()
    assert masses.tolist() == [0.0, 3.0]
    assert not totals[0].any()


def test_many_rows_on_threads_are_summed_like_few(monkeypatch):
    n = 200_000
    X = np.random.default_rng(0).normal(size=(n, 3)).astype(np.float32)
    labels = random_labels(n, 4, 0)
    found = []
    for threads in (1, 2, 5):
        sums = sums_of(X, None, 4, threads)
        sums.move_compiled(np.arange(n), none(n), labels)
        found.append(sums.totals()[0])
    plain = sums_of(X, None, 4)
    plain._move_plainly(np.arange(n), none(n), labels)
    for one in found:
        np.testing.assert_array_equal(one, plain.totals()[0])


def test_weights_of_any_size_count():
    X = np.array([[1.0], [2.0], [5.0]])
    sums = sums_of(X, np.array([1.0, 1e-40, 2e-40]), 2)
    sums.move(np.arange(3), none(3), np.array([0, 1, 1], dtype=np.int32))
    totals, masses = sums.totals()
    assert totals[1, 0] / masses[1] == pytest.approx(4.0, rel=1e-12)
