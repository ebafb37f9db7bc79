"""What must not change when the input changes in ways that mean nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kseeds import kmeans_parallel, kmeans_plusplus
from tests.data import METRICS, fit_for, points_of

FUNCTIONS = [kmeans_plusplus, kmeans_parallel]
ALGORITHMS = ["naive", "paper"]
SETTINGS = settings(max_examples=40, deadline=None, derandomize=True)
every = pytest.mark.parametrize("algorithm", ALGORITHMS)
both = pytest.mark.parametrize("function", FUNCTIONS)


@every
@both
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "angular"])
@pytest.mark.parametrize("exponent", [-30, -1, 3, 40])
def test_data_scaled_by_a_power_of_two(function, algorithm, metric, exponent):
    X = points_of("clustered", 150, 4, 0)
    plain = function(X, 11, metric=metric, random_state=1, algorithm=algorithm)
    scaled = function(np.ldexp(X, exponent), 11, metric=metric, random_state=1, algorithm=algorithm)
    assert scaled.indices.tolist() == plain.indices.tolist()


@every
@both
@pytest.mark.parametrize("factor", [2.0**-7, 2.0**9, 3.0, 0.1])
def test_scaled_weights(function, algorithm, factor):
    X = points_of("random", 150, 3, 0)
    w = np.random.default_rng(0).random(150)
    plain = function(X, 11, sample_weight=w, random_state=1, algorithm=algorithm)
    scaled = function(X, 11, sample_weight=w * factor, random_state=1, algorithm=algorithm)
    assert scaled.indices.tolist() == plain.indices.tolist()
    assert scaled.potential == pytest.approx(plain.potential * factor)


@every
@both
def test_equal_weights_are_no_weights(function, algorithm):
    X = points_of("random", 150, 3, 0)
    plain = function(X, 11, random_state=1, algorithm=algorithm)
    weighted = function(X, 11, sample_weight=np.full(150, 4), random_state=1, algorithm=algorithm)
    assert weighted.indices.tolist() == plain.indices.tolist()


@SETTINGS
@given(st.integers(0, 2**31), st.sampled_from(METRICS), st.sampled_from(FUNCTIONS))
def test_zero_weight_rows_are_never_chosen(seed, metric, function):
    rng = np.random.default_rng(seed)
    X = fit_for(metric, points_of("random", 40, 2, seed))
    w = rng.integers(0, 2, size=40).astype(float)
    w[:5] = 1.0
    for algorithm in ALGORITHMS:
        found = function(
            X, 5, sample_weight=w, metric=metric, random_state=seed, algorithm=algorithm
        )
        assert (w[found.indices] > 0).all()


@both
def test_translation_of_whole_numbers(function):
    X = np.random.default_rng(0).integers(-50, 50, size=(200, 3)).astype(float)
    plain = function(X, 9, random_state=0)
    moved = function(X + 1024.0, 9, random_state=0)
    assert moved.indices.tolist() == plain.indices.tolist()


@every
def test_more_seeds_begin_with_fewer(algorithm):
    """k-means++ draws one seed after the other; asking for more must not change the first.

    (Lazy k-means++ keeps the law but not this: how many seeds are wanted decides its sweeps.)
    """
    X = points_of("random", 150, 3, 0)
    long = kmeans_plusplus(X, 20, random_state=3, algorithm=algorithm).indices.tolist()
    short = kmeans_plusplus(X, 7, random_state=3, algorithm=algorithm).indices.tolist()
    assert short == long[:7]
