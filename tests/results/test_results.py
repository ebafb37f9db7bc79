"""What a seeding says of its rows, at once or later: never a wrong number."""

from __future__ import annotations

import copy
import pickle
import sys
import threading

import numpy as np
import pytest

from kseeds import (
    DistributedSeeding,
    assign,
    greedy_kmeans_plusplus,
    kmeans_parallel,
    kmeans_plusplus,
)
from kseeds import laws as table
from kseeds.inputs.fingerprint import fingerprint_of
from kseeds.runtime.threads import Workers
from tests.data import points_of

SEEDERS = [
    *((kmeans_plusplus, algorithm) for algorithm in table.PLUSPLUS.algorithms),
    *((greedy_kmeans_plusplus, algorithm) for algorithm in table.GREEDY.algorithms),
    *((kmeans_parallel, algorithm) for algorithm in table.PARALLEL.algorithms),
]
every = pytest.mark.parametrize(("function", "algorithm"), SEEDERS)
ASKED = ("labels", "distances", "potential")


def points(n=3000, d=5, dtype=np.float32):
    return np.random.default_rng(0).normal(size=(n, d)).astype(dtype)


def swap_rows(X):
    X[[10, 42]] = X[[42, 10]]


def swap_values(X):
    X[7, 0], X[7, 1] = X[7, 1], X[7, 0]


def mirror_a_row(X):
    X[5] = -X[5]


CHANGES = {
    "one value": lambda X: X.__setitem__((2999, 4), X[2999, 4] + 1),
    "the last bit": lambda X: X.__setitem__((70, 0), np.nextafter(X[70, 0], np.inf)),
    "two rows swapped": swap_rows,
    "two values swapped": swap_values,
    "a row mirrored": mirror_a_row,
    "shuffled": lambda X: np.random.default_rng(1).shuffle(X),
    "centred": lambda X: np.subtract(X, X.mean(axis=0), out=X),
    "nan": lambda X: X.fill(np.nan),
}


@every
@pytest.mark.parametrize("change", CHANGES)
def test_changed_rows_are_refused(function, algorithm, change):
    X = points()
    found = function(X, 9, random_state=0, algorithm=algorithm)
    CHANGES[change](X)
    for name in ASKED:
        with pytest.raises(RuntimeError, match=r"X has changed since .*kseeds\.assign"):
            getattr(found, name)
    assert "potential" not in repr(found)


@pytest.mark.parametrize("d", [1, 3, 15, 16, 17, 40, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_change_anywhere_is_noticed_by_both_tiers(d, dtype):
    X = points(200, d, dtype)
    rng = np.random.default_rng(3)
    for kernels in ("plain", "compiled"):
        for _ in range(20):
            data = X.copy()
            found = kmeans_plusplus(data, 4, random_state=0, algorithm="lazy", kernels=kernels)
            row, column = rng.integers(200), rng.integers(d)
            data[row, column] = np.nextafter(data[row, column], dtype(0))
            with pytest.raises(RuntimeError, match="X has changed"):
                _ = found.labels
            data[row, column] = X[row, column]  # as it was: then the answer is known again
            assert found.labels.shape == (200,)


def test_rows_of_round_numbers_do_not_cancel():
    """Of ones and zeros only the upper bits differ; swapped rows must still be told apart."""
    X = np.random.default_rng(0).integers(0, 2, size=(64, 256)).astype(np.float32)
    before = fingerprint_of(X, Workers(1))
    for i in range(64):
        for j in range(i):
            X[[i, j]] = X[[j, i]]
            assert (fingerprint_of(X, Workers(1)) != before).all()
            X[[i, j]] = X[[j, i]]


@every
def test_a_changed_weight_changes_nothing(function, algorithm):
    X, weights = points(), np.ones(3000)
    weights[1::2] = 1e-320  # kept apart, since scaling would lose them
    found = function(X, 9, random_state=0, sample_weight=weights, algorithm=algorithm)
    twin = function(X, 9, random_state=0, sample_weight=weights, algorithm=algorithm)
    wanted = twin.potential
    weights[:] = 7.0
    assert found.potential == wanted


@every
def test_changed_centers_and_indices_change_nothing(function, algorithm):
    X, initial = points(500), points(500)[:3] * np.float32(2)
    wanted = function(X, 9, initial_centers=initial, random_state=0, algorithm=algorithm)
    labels, potential = wanted.labels, wanted.potential
    found = function(X, 9, initial_centers=initial, random_state=0, algorithm=algorithm)
    initial[:] = -1e6
    found.indices.sort()
    np.testing.assert_array_equal(found.labels, labels)
    assert found.potential == potential


@every
@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_changed_rows_are_refused_where_kernels_see_a_scaled_copy(function, algorithm, scale):
    X = points(500) * np.float32(scale)
    found = function(X, 9, random_state=0, algorithm=algorithm)
    X[7, 2] = 0.0
    with pytest.raises(RuntimeError, match="X has changed"):
        _ = found.labels


@every
def test_pickles_and_copies_answer_alike(function, algorithm):
    found = function(points(), 9, random_state=0, algorithm=algorithm)
    assert found._finished is None
    before = pickle.loads(pickle.dumps(found))
    assert found._finished is None, "pickling must not pay for labels"
    for name in ASKED:
        with pytest.raises(RuntimeError, match="not computed before it was pickled or copied"):
            getattr(before, name)
    np.testing.assert_array_equal(before.indices, found.indices)
    np.testing.assert_array_equal(copy.copy(found).labels, found.labels)
    after = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(after.labels, found.labels)
    np.testing.assert_array_equal(copy.deepcopy(found).distances, found.distances)
    assert after.potential == found.potential


@every
def test_labels_asked_again_after_an_interruption_are_right(function, algorithm, monkeypatch):
    """Interrupted at every block of the work in turn, and asked again each time."""
    X = points(20_000, 3)
    found = function(X, 300, random_state=0, algorithm=algorithm, n_threads=1)
    wanted = assign(X, found.centers)
    whole, left = Workers.over_blocks, 0

    def interrupted(self, task, n_rows, block_rows=65_536):
        def watched(start, stop):
            nonlocal left
            done = task(start, stop)
            left -= 1
            if left == 0:
                raise KeyboardInterrupt
            return done

        return whole(self, watched, n_rows, min(block_rows, 4096))

    tries = 0
    monkeypatch.setattr(Workers, "over_blocks", interrupted)
    while True:
        tries += 1
        left = tries
        try:
            labels = found.labels
            break
        except KeyboardInterrupt:
            continue
    assert tries > 4
    np.testing.assert_array_equal(labels, wanted.labels)
    np.testing.assert_array_equal(found.distances, wanted.distances)


def test_labels_asked_again_after_a_function_failed_are_right():
    calls, fails_at = 0, None

    def hop(a, b):
        nonlocal calls
        calls += 1
        if calls == fails_at:
            raise OSError("not now")
        return abs(a[0] - b[0])

    X = np.random.default_rng(0).integers(0, 50, size=(500, 1)).astype(float)
    found = kmeans_plusplus(X, 12, metric=hop, random_state=0)
    for after in (1, 2, 700, 1900):
        fails_at = calls + after
        with pytest.raises(OSError, match="not now"):
            _ = found.labels
    fails_at = None
    gaps = np.abs(X - found.centers[:, 0])
    np.testing.assert_array_equal(found.labels, gaps.argmin(axis=1))


@every
def test_threads_that_ask_together_get_the_same(function, algorithm):
    X = points(60_000, 4)
    wanted = assign(X, function(X, 64, random_state=0, algorithm=algorithm).centers)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(3):
            found = function(X, 64, random_state=0, algorithm=algorithm)
            answers: list[np.ndarray] = []

            def ask(found=found, answers=answers):
                answers.append(found.labels)

            threads = [threading.Thread(target=ask) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(answers) == 4
            for labels in answers:
                np.testing.assert_array_equal(labels, wanted.labels)
    finally:
        sys.setswitchinterval(interval)


def test_results_carry_what_they_promise():
    X = points_of("clustered", 400, 3, 0)
    w = np.random.default_rng(0).random(400)
    found = kmeans_plusplus(X, 12, sample_weight=w, random_state=0, algorithm="paper")
    gaps = np.sqrt(((X[:, None] - found.centers) ** 2).sum(axis=2))
    np.testing.assert_array_equal(found.labels, gaps.argmin(axis=1))
    np.testing.assert_allclose(found.distances, gaps.min(axis=1), atol=1e-12)
    assert found.potential == pytest.approx((w * gaps.min(axis=1) ** 2).sum())
    assert found.algorithm == "paper"
    assert found.seconds > 0
    assert "12 seeds of 3 columns by 'paper'" in repr(found)
    copy = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(copy.labels, found.labels)
    assert copy.work == found.work


def as_distributed(found):
    return DistributedSeeding(found.centers, found.indices, "k-means++", found.work, 0.0)


@pytest.mark.parametrize("kind", [lambda found: found, as_distributed])
def test_a_seeding_is_an_array_of_its_centers(kind):
    found = kind(kmeans_plusplus(points(), 9, random_state=0))
    assert np.asarray(found) is found.centers
    assert found.__array__() is found.centers
    for copied in (np.array(found), found.__array__(copy=True), found.__array__(np.float64)):
        assert not np.shares_memory(copied, found.centers)
        np.testing.assert_array_equal(copied, found.centers)
    assert np.asarray(found, dtype=np.float64).dtype == np.float64
    assert found.__array__(np.float32, copy=False) is found.centers
    with pytest.raises(ValueError, match="copy=False is not possible for dtype=float64"):
        found.__array__(np.float64, copy=False)
    assert np.concatenate([found, found]).shape == (18, 5)


def test_a_seeding_is_taken_for_centers():
    X = points()
    found = kmeans_plusplus(X, 9, random_state=0)
    np.testing.assert_array_equal(assign(X, found).labels, found.labels)
    again = kmeans_plusplus(X, 3, initial_centers=found, random_state=0)
    assert len(np.unique(np.concatenate([found, again]), axis=0)) == 12
