"""Distances and weights too small for squares: drawn by the law, labelled right, none twice."""

from __future__ import annotations

import warnings

import dask.array as da
import numpy as np
import pytest

import kseeds.dask
from kseeds import (
    FewerDistinctPointsWarning,
    VPTree,
    assign,
    greedy_kmeans_plusplus,
    kmeans_parallel,
    kmeans_plusplus,
)
from kseeds import laws as table
from tests.data import NORMS
from tests.harness.profiles import scaled
from tests.methods.laws import chi_square_p, euclidean, greedy_law, plusplus_law

PLUSPLUS = list(table.PLUSPLUS.algorithms)
SEEDERS = [
    *((kmeans_plusplus, algorithm) for algorithm in PLUSPLUS),
    *((greedy_kmeans_plusplus, algorithm) for algorithm in table.GREEDY.algorithms),
    *((kmeans_parallel, algorithm) for algorithm in table.PARALLEL.algorithms),
]
every = pytest.mark.parametrize(("function", "algorithm"), SEEDERS)


@every
def test_tiny_weights_are_drawn_after_the_others(function, algorithm):
    for X in (np.zeros((3, 1)), np.arange(3.0)[:, None]):
        for weights in ([1, 1e-310, 0], [1e300, 1e-310, 0], [1, 5e-324, 0]):
            with warnings.catch_warnings():
                if not X.any():
                    warnings.simplefilter("ignore", FewerDistinctPointsWarning)
                found = function(X, 2, sample_weight=weights, random_state=0, algorithm=algorithm)
            assert found.indices.tolist() == [0, 1]


def test_tiny_weights_on_dask_are_drawn_after_the_others():
    X = da.from_array(np.zeros((3, 1)), chunks=(2, 1))
    weights = da.from_array(np.array([1, 1e-310, 0]), chunks=2)
    for function in (kseeds.dask.kmeans_plusplus, kseeds.dask.kmeans_parallel):
        with pytest.warns(FewerDistinctPointsWarning):
            assert function(X, 2, sample_weight=weights).indices.tolist() == [0, 1]


@every
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tiny_distances_are_distances(function, algorithm, dtype):
    """No false warning, and every distinct point is drawn before any is repeated."""
    small = dtype(1e-25 if dtype is np.float32 else 1e-200)
    X = np.array([[0.0], [small], [1.0], [small], [3 * small]], dtype=dtype)
    for metric in NORMS:
        found = function(X, 4, metric=metric, random_state=1, algorithm=algorithm)
        assert len(np.unique(found.centers)) == 4
        with pytest.warns(FewerDistinctPointsWarning, match="the 4 seeds drawn"):
            found = function(X, 5, metric=metric, random_state=1, algorithm=algorithm)
        assert sorted(found.indices.tolist()) == [0, 1, 2, 3, 4]


def test_tiny_distances_on_dask_are_those_in_memory():
    X = np.array([[0.0], [1e-25], [1.0], [1e-25], [3e-25]], dtype=np.float32)
    for chunks in (5, 2):
        data = da.from_array(X, chunks=(chunks, 1))
        found = kseeds.dask.kmeans_plusplus(data, 4, random_state=1)
        plain = kmeans_plusplus(X, 4, random_state=1, algorithm="rounds")
        assert found.indices.tolist() == plain.indices.tolist()
        found = kseeds.dask.kmeans_parallel(data, 4, random_state=1)
        assert found.indices.tolist() == kmeans_parallel(X, 4, random_state=1).indices.tolist()


FEW, WEIGHTS = [[0.0], [1.5], [2.0], [4.0]], [1, 1, 2, 3]
CASES = {
    "small distances": (2.0**-80, 1.0, np.float32),
    "distances whose squares have few digits": (2.0**-74, 1.0, np.float32),
    "small distances, double": (2.0**-560, 1.0, np.float64),
    "small weights": (1.0, 2.0**-1050, np.float64),
    "small distances and weights": (2.0**-530, 2.0**-600, np.float64),
}


def law_beside_a_far_center(far, trials):
    """Return the law of three of the few rows, given a centre at 1 that may be far from them."""
    if not far:
        return greedy_law(FEW, WEIGHTS, 3, euclidean, [[1.0]], trials)
    law = {}  # all are equally far from it, so the first is drawn by weight, all gains being equal
    for first, p in plusplus_law(FEW, WEIGHTS, 1).items():
        rest = greedy_law(FEW, WEIGHTS, 2, euclidean, [FEW[first[0]]], trials)
        law |= {first + more: p * q for more, q in rest.items()}
    return law


TWINS = {(kmeans_plusplus, "paper"): "naive", (greedy_kmeans_plusplus, "naive"): "fast"}
"""What draws the seeds of another algorithm, by its definition."""
every_small_mass = pytest.mark.parametrize("name", CASES)


def drawn_among_small_masses(function, algorithm, name, draws, seed):
    shrink, lighten, dtype = CASES[name]
    X = np.array([[1.0], *(np.array(FEW) * shrink)], dtype=dtype)
    weights = np.array([1.0, *(np.array(WEIGHTS) * lighten)])
    for t in range(draws):
        found = function(
            X, 3, sample_weight=weights, initial_centers=[[1.0]], random_state=seed + t,
            algorithm=algorithm, n_threads=1,
        )  # fmt: skip
        yield tuple(int(i) - 1 for i in found.indices)


def seeders_and_draws(short, long):
    """Yield whatever follows a law of its own; in the long profile also what has a twin."""
    for seeder in SEEDERS:
        if seeder[0] is kmeans_parallel:
            continue
        if seeder not in TWINS:
            yield pytest.param(*seeder, scaled(short))
        yield pytest.param(*seeder, scaled(long, least=scaled(short)), marks=pytest.mark.long)


# Distances that are not squared, weights that are left out and one trial too few are refused.
@pytest.mark.parametrize(("function", "algorithm", "draws"), list(seeders_and_draws(600, 1_200)))
@every_small_mass
def test_the_law_holds_among_small_masses(function, algorithm, draws, name, seed_offset):
    drawn = drawn_among_small_masses(function, algorithm, name, draws, seed_offset)
    trials = 3 if function is greedy_kmeans_plusplus else 1
    assert chi_square_p(law_beside_a_far_center(CASES[name][0] < 1.0, trials), drawn) > 1e-5


@pytest.mark.parametrize(("function", "algorithm"), TWINS)
@every_small_mass
def test_twins_draw_the_same_among_small_masses(function, algorithm, name, seed_offset):
    ours, theirs = (
        list(drawn_among_small_masses(function, each, name, scaled(100, least=20), seed_offset))
        for each in (algorithm, TWINS[function, algorithm])
    )
    assert ours == theirs


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", NORMS)
def test_labels_among_tiny_distances_are_right(metric, dtype):
    small = 1e-30 if dtype is np.float32 else 1e-200
    X = np.array([[0.0, 0.0], [1.0, 0.0], [3 * small, 4 * small]], dtype=dtype)
    centers = [[2 * small, 0.0], [small, 0.0], [1.0, 0.0], [0.0, 0.0], [3 * small, 3 * small]]
    labels, distances = assign(X, centers, metric=metric)
    assert labels.tolist() == [3, 2, 4]
    np.testing.assert_allclose(distances, np.array([0.0, 0.0, small]), rtol=1e-6)
    indices, found = VPTree(np.array(centers, dtype=dtype), metric=metric).nearest_in_range(X)
    assert indices.tolist() == [3, 2, 4]
    np.testing.assert_allclose(found, distances)


def test_centers_much_larger_or_smaller_than_rows_are_told_apart():
    found = assign(np.zeros((1, 1)), [[2e-200], [1e-200]])
    assert found.labels.tolist() == [1]
    assert found.distances.tolist() == [1e-200]
    found = assign(np.zeros((1, 1)), [[2e200], [1e200]], sample_weight=[1e-300])
    assert found.labels.tolist() == [1]
    assert found.potential == pytest.approx(1e100)


@every
@pytest.mark.parametrize(
    ("dtype", "exponent"), [(np.float32, 43), (np.float32, 120), (float, 1010)]
)
def test_rows_may_be_initial_centers_at_any_scale(function, algorithm, dtype, exponent):
    X = np.ldexp(np.random.default_rng(0).normal(size=(40, 3)), exponent).astype(dtype)
    found = function(X, 5, initial_centers=X[:4], random_state=0, algorithm=algorithm)
    small = np.ldexp(X, -exponent)
    plain = function(small, 5, initial_centers=small[:4], random_state=0, algorithm=algorithm)
    assert found.indices.tolist() == plain.indices.tolist()
    np.testing.assert_array_equal(found.labels, plain.labels)


def test_a_distance_beyond_its_precision_is_infinite_without_a_word():
    X = np.array([[3e38], [-3e38]], dtype=np.float32)
    assert assign(X, X[:1]).distances.tolist() == [0.0, np.inf]
    assert VPTree(X).nearest_in_range(X)[1].tolist() == [0.0, 0.0]
    found = kmeans_plusplus(X, 1, random_state=0)
    assert sorted(found.distances.tolist()) == [0.0, np.inf]
