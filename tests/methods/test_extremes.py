"""The smallest, the largest, the degenerate: seeds that are specified, and warnings."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from kseeds import (
    FewerDistinctPointsWarning,
    greedy_kmeans_plusplus,
    kmeans_parallel,
    kmeans_plusplus,
)
from kseeds import laws as table
from tests.data import points_of

FUNCTIONS = [kmeans_plusplus, greedy_kmeans_plusplus, kmeans_parallel]
every = pytest.mark.parametrize(
    ("function", "algorithm"),
    [
        (function, algorithm)
        for function in FUNCTIONS
        for algorithm in ("auto", *table.LAWS[function.__name__].algorithms)
        if algorithm not in ("lazy", "rounds", "fast")  # "auto", or much the same
    ],
)


@every
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (7, 1), (12, 1000), (40, 3)])
def test_one_seed_and_as_many_as_rows_are_drawn(function, algorithm, shape):
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
def test_fewer_distinct_points_than_k_warn_and_are_filled(function, algorithm):
    X = np.repeat([[0.0, 1.0], [5.0, 5.0], [9.0, 0.0]], [3, 4, 5], axis=0)
    with pytest.warns(FewerDistinctPointsWarning, match=r"n_clusters=7.*3 seeds.*other 4") as seen:
        found = function(X, 7, random_state=1, algorithm=algorithm)
    assert seen[0].filename == __file__, "the warning must point at the caller"
    assert len(set(found.indices.tolist())) == 7
    assert len(np.unique(found.centers[:3], axis=0)) == 3
    assert found.potential == 0.0


@every
def test_the_fill_takes_no_row_of_zero_weight(function, algorithm):
    X = np.zeros((6, 2))
    weights = [0, 1, 1, 0, 1, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerDistinctPointsWarning)
        found = function(X, 4, sample_weight=weights, random_state=0, algorithm=algorithm)
    assert sorted(found.indices.tolist()) == [1, 2, 4, 5]


@every
def test_distinct_points_of_zero_weight_do_not_count(function, algorithm):
    X = np.arange(6.0)[:, None]
    found = function(X, 2, sample_weight=[0, 0, 3, 0, 0, 2], random_state=0, algorithm=algorithm)
    assert sorted(found.indices.tolist()) == [2, 5]


@pytest.mark.parametrize("reduction", ["k-means++", "greedy"])
@pytest.mark.parametrize("algorithm", ["auto", "naive", "paper"])
def test_fewer_candidates_than_k_are_completed(algorithm, reduction):
    X = np.random.default_rng(0).normal(size=(300, 2))
    found = kmeans_parallel(
        X, 50, oversampling=0.05, rounds=1, reduction=reduction, random_state=0, algorithm=algorithm
    )
    assert found.work.candidates < 50
    assert len(set(found.indices.tolist())) == 50


@every
def test_initial_centers_on_every_point_warn_and_seeds_are_filled(function, algorithm):
    X = np.arange(5.0)[:, None]
    with pytest.warns(FewerDistinctPointsWarning, match="initial centers"):
        found = function(X, 2, initial_centers=X, random_state=0, algorithm=algorithm)
    assert len(set(found.indices.tolist())) == 2


@pytest.mark.parametrize("function", FUNCTIONS)
def test_labels_count_initial_centers_first(function):
    X = np.array([[0.0], [0.1], [10.0], [10.1], [20.0]])
    found = function(X, 2, initial_centers=[[0.0], [10.0]], random_state=0)
    assert found.labels[0] == 0
    assert found.labels[2] == 1
    assert found.centers.shape == (2, 1)
    assert found.labels[4] == 2 + found.indices.tolist().index(4)


@every
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("largest", ["tiny", "huge"])
def test_scales_whose_squares_vanish_or_overflow_change_no_seed(
    function, algorithm, dtype, largest
):
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
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_subnormal_and_almost_infinite_values_change_no_seed(function, algorithm, dtype):
    X = np.random.default_rng(0).integers(1, 100, size=(60, 2)).astype(dtype)
    info = np.finfo(dtype)
    plain = function(X, 9, random_state=0, algorithm=algorithm)
    for factor in (info.smallest_subnormal, dtype(2.0) ** (info.maxexp - 7)):
        found = function(X * factor, 9, random_state=0, algorithm=algorithm)
        assert found.indices.tolist() == plain.indices.tolist()
        assert np.isfinite(found.distances).all()


def test_huge_and_tiny_weights_change_no_seed():
    X = points_of("random", 50, 3, 0)
    w = np.random.default_rng(0).random(50) + 0.5
    plain = kmeans_plusplus(X, 9, sample_weight=w, random_state=0)
    for exponent in (-1000, 1023):
        found = kmeans_plusplus(X, 9, sample_weight=np.ldexp(w, exponent), random_state=0)
        assert found.indices.tolist() == plain.indices.tolist()
