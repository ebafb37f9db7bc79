"""Short fits, of which a kernel does many iterations in one call: the same result as naive."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest

from kseeds import FewerDistinctPointsWarning, kmeans
from kseeds.distances.metrics import bind
from kseeds.inputs.sparse import from_dense
from kseeds.lloyd import choice, short
from kseeds.lloyd.iteration import Limits, Means, iterate
from kseeds.lloyd.naive import Naive
from kseeds.lloyd.short import Short
from kseeds.lloyd.sums import ExactSums
from kseeds.nearest.choice import Job
from kseeds.runtime import compile_policy
from kseeds.runtime.threads import Workers
from tests.harness.profiles import scaled

KINDS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "tied": lambda rng, shape: rng.integers(0, 4, size=shape),
    "far away": lambda rng, shape: 1e5 + rng.normal(size=shape),
    "of all sizes": lambda rng, shape: rng.normal(size=shape) * 10.0 ** rng.integers(-4, 5, shape),
}


@pytest.fixture
def calls(monkeypatch):
    """Have every fit that may be short done so; count the iterations of each call."""
    monkeypatch.setattr(compile_policy, "pays", lambda kernel_set, *_: kernel_set == "lloyd_short")
    found, theirs = [], Short.skip_ahead

    def counted(self, *arguments):
        result = theirs(self, *arguments)
        found.append(result[1])
        return result

    monkeypatch.setattr(Short, "skip_ahead", counted)
    return found


def assert_same(found, wanted):
    assert (found.n_iter, found.converged) == (wanted.n_iter, wanted.converged)
    assert found.inertia == wanted.inertia
    for name in ("labels", "centers", "distances"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fits_are_those_of_the_oracle(kind, dtype, calls, seed_offset):
    for turn in range(scaled(40, least=10)):
        rng = np.random.default_rng(seed_offset + turn)
        n, d = int(rng.integers(2, 400)), int(rng.choice([1, 2, 3, 16, 17, 40]))
        k = int(rng.integers(1, min(n, 12) + 1))
        X = KINDS[kind](rng, (n, d)).astype(dtype)
        weights = rng.integers(0, 3, n) + 0.5 * (turn % 5 == 0) if turn % 3 == 0 else None
        if weights is not None and (weights > 0).sum() < k:
            weights = None
        same = {
            "sample_weight": weights, "random_state": turn, "tol": (0.0, 1e-4, 0.1)[turn % 3],
            "max_iter": int(rng.choice([1, 2, 3, 300])),
        }  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewerDistinctPointsWarning)
            assert_same(kmeans(X, k, **same), kmeans(X, k, algorithm="naive", **same))
    assert max(calls) > 1


def test_several_calls_are_as_one(calls, monkeypatch):
    X = np.random.default_rng(0).normal(size=(500, 3))
    wanted = kmeans(X, 9, random_state=0, tol=0.0)
    before = len(calls)
    monkeypatch.setattr(short, "_CALL_NS", 0.0)  # one iteration a call
    assert_same(kmeans(X, 9, random_state=0, tol=0.0), wanted)
    assert set(calls[before:]) == {0, 1}
    assert len(calls) - before > wanted.n_iter // 2


def test_empty_clusters_are_filled_by_the_rule(calls):
    X = np.random.default_rng(0).normal(size=(300, 2))
    init = np.concatenate([X[:4], [[50.0, 50.0], [60.0, 60.0]]])
    found = kmeans(X, 6, init=init)
    assert_same(found, kmeans(X, 6, init=init, algorithm="naive"))
    assert len(np.unique(found.labels)) == 6
    assert calls


def test_labels_that_are_known_are_adopted(calls):
    from kseeds import greedy_kmeans_plusplus

    X = np.random.default_rng(0).normal(size=(300, 2)).astype(np.float32)
    seeding = greedy_kmeans_plusplus(X, 7, random_state=0)  # has its labels
    assert_same(kmeans(X, 7, init=seeding), kmeans(X, 7, init=seeding, algorithm="naive"))
    assert calls


def fit(assigner, points, centers, limits, workers):
    sums = ExactSums.of_all(points, None, np.abs(points).max(axis=0), len(centers), workers)
    return iterate(assigner, sums, Means(sums, None, False), centers, limits)


def test_a_movement_that_is_just_the_tolerance_ends_it():
    """Where rounding could decide, the kernel leaves it to the iteration."""
    rng = np.random.default_rng(1)
    points = rng.normal(size=(400, 3))
    metric, _ = bind("euclidean", points, 1.0)
    with Workers(1) as workers:
        path = [points[:5].copy()]
        for turn in range(1, 12):
            path.append(
                fit(Naive(points, metric), points, path[0], Limits(turn, 0.0), workers).centers
            )
        shifts = [float(np.einsum("ij,ij->", b - a, b - a)) for a, b in pairwise(path)]
        for turn, shift in enumerate(shifts, start=1):
            for tol in (np.nextafter(shift, 0.0), shift, np.nextafter(shift, np.inf)):
                found, wanted = (
                    fit(assigner, points, path[0], Limits(100, float(tol)), workers)
                    for assigner in (Short(points), Naive(points, metric))
                )
                assert (found.n_iter, found.converged) == (wanted.n_iter, wanted.converged)
                np.testing.assert_array_equal(found.centers, wanted.centers)
            assert wanted.n_iter <= turn  # by the last tolerance


def test_whoever_looks_on_is_told_of_every_iteration(calls):
    X = np.random.default_rng(0).normal(size=(300, 2))
    told = []
    found = kmeans(X, 5, random_state=0, progress=lambda done, total: told.append(done))
    assert set(range(found.n_iter)) <= set(told)
    assert set(calls) <= {0}
    assert_same(found, kmeans(X, 5, random_state=0, algorithm="naive"))


def test_it_is_for_euclidean_means_of_little_data():
    X = np.random.default_rng(0).normal(size=(300, 4))

    def is_possible(points, name, k=5):
        metric, _ = bind(name, X, 1.0)
        return short.is_possible(Job(points, metric, Workers(1), k), k)

    assert is_possible(X, "euclidean")
    assert not is_possible(X, "cosine")  # whose means are divided by their norms
    assert not is_possible(X, "manhattan")
    assert not is_possible(from_dense(X), "euclidean")
    assert not is_possible(np.zeros((1 << 18, 4)), "euclidean")


def test_many_short_fits_load_its_kernels(monkeypatch):
    """What they take without is counted, and in the end repays loading them."""
    X = np.random.default_rng(0).normal(size=(300, 2))
    name = compile_policy.name_of("lloyd_short", X.dtype)
    monkeypatch.setattr(compile_policy, "_ready", set())
    monkeypatch.setattr(compile_policy, "_spent", {})
    kmeans(X, 3, random_state=0)
    spent = compile_policy._spent[name]
    assert spent > 0.0
    kmeans(X, 3, random_state=0)
    assert compile_policy._spent[name] > spent
    metric, _ = bind("euclidean", X, 1.0)
    job = choice.Job(X, metric, Workers(1), 3, 300)
    assert not isinstance(choice.build(job, "auto"), Short)
    compile_policy._spent[name] = 60.0
    assert isinstance(choice.build(job, "auto"), Short)
