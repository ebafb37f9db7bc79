"""The smallest, the largest, the degenerate: all of them specified."""

from __future__ import annotations

import itertools
import pickle
import sys
import warnings

import numpy as np
import pytest

from kseeds import FewerDistinctPointsWarning, kmeans_parallel, kmeans_plusplus
from tests.data import METRICS, fit_for, points_of

FUNCTIONS = [kmeans_plusplus, kmeans_parallel]
ALGORITHMS = ["auto", "naive", "paper"]  # "auto" is lazy k-means++
every = pytest.mark.parametrize("algorithm", ALGORITHMS)
both = pytest.mark.parametrize("function", FUNCTIONS)


@every
@both
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (7, 1), (12, 1000), (40, 3)])
def test_k_from_one_to_n(function, algorithm, shape):
    X = np.random.default_rng(0).normal(size=shape)
    for k in (1, shape[0]):
        found = function(X, k, random_state=0, algorithm=algorithm)
        centers, indices = found
        assert centers.shape == (k, shape[1])
        assert len(set(indices.tolist())) == k
        np.testing.assert_array_equal(centers, X[indices])
    assert found.potential == 0.0
    np.testing.assert_array_equal(found.indices[found.labels], np.arange(shape[0]))


@every
@both
def test_fewer_distinct_points_than_k(function, algorithm):
    X = np.repeat([[0.0, 1.0], [5.0, 5.0], [9.0, 0.0]], [3, 4, 5], axis=0)
    with pytest.warns(FewerDistinctPointsWarning, match=r"n_clusters=7.*3 seeds.*other 4") as seen:
        found = function(X, 7, random_state=1, algorithm=algorithm)
    assert seen[0].filename == __file__, "the warning must point at the caller"
    assert len(set(found.indices.tolist())) == 7
    assert len(np.unique(found.centers[:3], axis=0)) == 3
    assert found.potential == 0.0


@every
@both
def test_fill_respects_weights(function, algorithm):
    X = np.zeros((6, 2))
    weights = [0, 1, 1, 0, 1, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerDistinctPointsWarning)
        found = function(X, 4, sample_weight=weights, random_state=0, algorithm=algorithm)
    assert sorted(found.indices.tolist()) == [1, 2, 4, 5]


@every
@both
def test_distinct_points_of_zero_weight_do_not_count(function, algorithm):
    X = np.arange(6.0)[:, None]
    found = function(X, 2, sample_weight=[0, 0, 3, 0, 0, 2], random_state=0, algorithm=algorithm)
    assert sorted(found.indices.tolist()) == [2, 5]


@every
def test_fewer_candidates_than_k_are_completed(algorithm):
    X = np.random.default_rng(0).normal(size=(300, 2))
    found = kmeans_parallel(X, 50, oversampling=0.05, rounds=1, random_state=0, algorithm=algorithm)
    assert found.work.candidates < 50
    assert len(set(found.indices.tolist())) == 50


@every
@both
def test_initial_centers_on_every_point(function, algorithm):
    X = np.arange(5.0)[:, None]
    with pytest.warns(FewerDistinctPointsWarning, match="initial centers"):
        found = function(X, 2, initial_centers=X, random_state=0, algorithm=algorithm)
    assert len(set(found.indices.tolist())) == 2


@both
def test_labels_count_initial_centers_first(function):
    X = np.array([[0.0], [0.1], [10.0], [10.1], [20.0]])
    found = function(X, 2, initial_centers=[[0.0], [10.0]], random_state=0)
    assert found.labels[0] == 0
    assert found.labels[2] == 1
    assert found.centers.shape == (2, 1)
    assert found.labels[4] == 2 + found.indices.tolist().index(4)


@every
@both
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("largest", ["tiny", "huge"])
def test_scales_whose_squares_would_vanish_or_overflow(function, algorithm, dtype, largest):
    X = points_of("random", 50, 3, 0).astype(dtype)
    info = np.finfo(dtype)
    exponent = info.maxexp - 5 if largest == "huge" else info.minexp + 5
    scaled = np.ldexp(X, exponent)
    plain = function(X, 9, random_state=0, algorithm=algorithm)
    found = function(scaled, 9, random_state=0, algorithm=algorithm)
    assert found.indices.tolist() == plain.indices.tolist()
    wanted = np.ldexp(plain.distances.astype(np.float64), exponent)
    np.testing.assert_allclose(found.distances, wanted, rtol=1e-2, atol=0)


@every
@both
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_subnormal_and_almost_infinite_values(function, algorithm, dtype):
    X = np.random.default_rng(0).integers(1, 100, size=(60, 2)).astype(dtype)
    info = np.finfo(dtype)
    plain = function(X, 9, random_state=0, algorithm=algorithm)
    for factor in (info.smallest_subnormal, dtype(2.0) ** (info.maxexp - 7)):
        found = function(X * factor, 9, random_state=0, algorithm=algorithm)
        assert found.indices.tolist() == plain.indices.tolist()
        assert np.isfinite(found.distances).all()


def test_a_generator_is_drawn_from_once():
    X = points_of("random", 50, 3, 0)
    runs = [
        kmeans_plusplus(data, 9, random_state=np.random.default_rng(0)).indices.tolist()
        for data in (X, np.ldexp(X, 900))  # the second is looked at twice
    ]
    assert runs[0] == runs[1]


def test_weights_may_be_huge_or_tiny():
    X = points_of("random", 50, 3, 0)
    w = np.random.default_rng(0).random(50) + 0.5
    plain = kmeans_plusplus(X, 9, sample_weight=w, random_state=0)
    for exponent in (-1000, 1023):
        found = kmeans_plusplus(X, 9, sample_weight=np.ldexp(w, exponent), random_state=0)
        assert found.indices.tolist() == plain.indices.tolist()


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


@pytest.mark.parametrize("metric", METRICS)
def test_distances_are_the_metric(metric):
    from tests.exactness.laws import DISTANCES

    X = fit_for(metric, points_of("random", 40, 3, 4))
    found = kmeans_plusplus(X, 4, metric=metric, random_state=0)
    wanted = [min(DISTANCES[metric](x, c) for c in found.centers) for x in X]
    np.testing.assert_allclose(found.distances, wanted, rtol=1e-7, atol=1e-7)


def test_opposite_and_parallel_directions():
    X = np.array([[1.0, 1.0], [3.0, 3.0], [-1.0, -1.0], [0.0, 7.0]])
    found = kmeans_plusplus(X, 3, metric="angular", random_state=0)
    assert not {0, 1} <= set(found.indices.tolist()), "the same direction drawn twice"
    found = kmeans_plusplus(X, 1, initial_centers=X[:1], metric="angular", random_state=1)
    whole = found.distances
    assert whole[1] == 0.0
    assert kmeans_plusplus(X[[0, 2]], 1, metric="angular", random_state=0).distances.max() == (
        pytest.approx(np.pi)
    )


def test_progress_is_reported_in_order():
    seen = []
    X = np.arange(300.0)[:, None]
    for algorithm in ("naive", "paper", "lazy"):
        seen.clear()
        kmeans_plusplus(X, 90, algorithm=algorithm, progress=lambda a, b: seen.append((a, b)))
        assert seen == sorted(seen)
        assert seen[-1] == (90, 90)
        assert len(seen) > 2


def test_progress_without_rich_is_a_line(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    ticks = itertools.count(0.0, 0.5)  # every look at the clock finds half a second gone
    monkeypatch.setattr("kseeds.runtime.progress.time.perf_counter", lambda: next(ticks))
    kmeans_plusplus(np.arange(40.0)[:, None], 20, random_state=0, algorithm="naive", progress=True)
    shown = capsys.readouterr().err
    assert "kseeds: 19/20 seeds, " in shown
    assert "s left" in shown
    assert shown.endswith("\n")


def test_progress_bar_goes_to_stderr(capsys):
    kmeans_parallel(np.arange(30.0)[:, None], 3, random_state=0, progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "6/6" in shown.err
    assert "rounds" in shown.err
