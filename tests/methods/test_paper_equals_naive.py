"""The accelerated algorithms draw what the oracle draws, index for index, for less."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kseeds import FewerDistinctPointsWarning, kmeans_parallel, kmeans_plusplus
from tests.data import METRICS, ODDITIES, fit_for, points_of

SETTINGS = settings(max_examples=120, deadline=None, derandomize=True)


@st.composite
def problems(draw):
    metric = draw(st.sampled_from(METRICS))
    n = draw(st.integers(1, 60))
    d = draw(st.sampled_from([1, 2, 3, 5, 16, 17, 40]))
    X = points_of(draw(st.sampled_from(ODDITIES)), n, d, draw(st.integers(0, 2**31)))
    X = fit_for(metric, X).astype(draw(st.sampled_from([np.float32, np.float64])))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    weights = rng.integers(0, 4, size=n) * rng.random(n) if draw(st.booleans()) else None
    if weights is not None and not weights.any():
        weights[0] = 1.0
    most = n if weights is None else int(np.count_nonzero(weights))
    keywords = {"metric": metric, "sample_weight": weights, "random_state": draw(st.integers(0))}
    return X, draw(st.integers(1, most)), keywords


def _both(function, X, k, accelerated, keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerDistinctPointsWarning)
        plain = function(X, k, algorithm="naive", **keywords)
        fast = function(X, k, algorithm="paper", **accelerated, **keywords)
    assert fast.indices.tolist() == plain.indices.tolist()
    np.testing.assert_array_equal(fast.centers, plain.centers)
    np.testing.assert_array_equal(fast.labels, plain.labels)
    np.testing.assert_allclose(fast.distances, plain.distances, rtol=1e-6)
    return plain, fast


@SETTINGS
@given(problems(), st.booleans())
def test_plusplus_draws_what_naive_draws_for_no_more_distances(problem, queue):
    X, k, keywords = problem
    plain, fast = _both(kmeans_plusplus, X, k, {"queue": queue}, keywords)
    assert fast.work.distances <= plain.work.distances
    assert plain.work.distances <= len(X) * (k - 1) or k == 1


@SETTINGS
@given(problems(), st.sampled_from([0.3, 2.0]), st.integers(1, 4))
def test_parallel_draws_what_naive_draws_for_no_more_distances(problem, oversampling, rounds):
    X, k, keywords = problem
    keywords = {**keywords, "oversampling": oversampling, "rounds": rounds}
    plain, fast = _both(kmeans_parallel, X, k, {}, keywords)
    assert fast.work.distances <= plain.work.distances
    assert fast.work.candidates == plain.work.candidates
    _both(kmeans_parallel, X, k, {"in_range": False}, keywords)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", METRICS)
def test_seeds_around_initial_centers_are_those_of_naive(metric, dtype):
    X = fit_for(metric, points_of("clustered", 200, 4, 1)).astype(dtype)
    initial = X[:7] * dtype(0.9)
    keywords = {"metric": metric, "initial_centers": initial, "random_state": 5}
    _both(kmeans_plusplus, X, 20, {}, keywords)
    _both(kmeans_parallel, X, 20, {}, keywords)


def test_pruning_saves_nine_distances_of_ten():
    X = points_of("clustered", 3000, 2, 0)
    plain = kmeans_plusplus(X, 200, random_state=0, algorithm="naive")
    fast = kmeans_plusplus(X, 200, random_state=0, algorithm="paper")
    assert fast.work.distances < 0.1 * plain.work.distances
    assert fast.work.seed_distances == 198 * 199 // 2, "the last seed is compared with none"
    assert len(fast.work.queue_examined) == 200
    assert np.mean(fast.work.queue_examined[2:]) < 0.1 * len(X)


def test_nearest_in_range_prunes_more_than_a_plain_search():
    X = points_of("clustered", 3000, 2, 0)
    fast = kmeans_parallel(X, 50, random_state=0, algorithm="paper")
    ablated = kmeans_parallel(X, 50, random_state=0, algorithm="paper", in_range=False)
    assert fast.work.distances < 0.7 * ablated.work.distances
    assert 0 < fast.work.tree_nodes < ablated.work.tree_nodes
