"""What must not change when the input changes in ways that mean nothing."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kseeds import greedy_kmeans_plusplus, kmeans_parallel, kmeans_plusplus
from kseeds import laws as table
from tests.data import METRICS, OF_ANY_COLUMNS, fit_for, points_of

FUNCTIONS = {
    kmeans_plusplus: table.PLUSPLUS,
    greedy_kmeans_plusplus: table.GREEDY,
    kmeans_parallel: table.PARALLEL,
}
SETTINGS = settings(max_examples=40, deadline=None, derandomize=True)


def draws():
    """Return every way of calling every function: all algorithms, each with all its options.

    Small inputs run in plain NumPy unless told otherwise; the options ask for compiled kernels.
    """
    found = {"kmeans_parallel, reduced greedily": partial(kmeans_parallel, reduction="greedy")}
    for function, law in FUNCTIONS.items():
        found[f"{function.__name__}, auto"] = function
        for algorithm in law.algorithms:
            draw = partial(function, algorithm=algorithm)
            found[f"{function.__name__}, {algorithm}"] = draw
            options = law.options_of(algorithm)
            for name, value in ((name, v) for name, allowed in options.items() for v in allowed):
                given = partial(draw, **{name: value})
                found[f"{function.__name__}, {algorithm}, {name}={value}"] = given
    return found


DRAWS = draws()
every = pytest.mark.parametrize("draw", DRAWS)


def test_no_algorithm_is_left_out():
    named = {draw.partition(", ")[2] for draw in DRAWS}
    assert {"auto", "lazy", "rounds", "fast", "naive", "paper", "lazy, kernels=compiled"} <= named


@every
@pytest.mark.parametrize("metric", OF_ANY_COLUMNS)
@pytest.mark.parametrize("exponent", [-30, -1, 3, 40])
def test_scaling_data_by_a_power_of_two_changes_no_seed(draw, metric, exponent):
    X = points_of("clustered", 150, 4, 0)
    plain = DRAWS[draw](X, 11, metric=metric, random_state=1)
    scaled = DRAWS[draw](np.ldexp(X, exponent), 11, metric=metric, random_state=1)
    assert scaled.indices.tolist() == plain.indices.tolist()
    np.testing.assert_array_equal(scaled.labels, plain.labels)


@every
@pytest.mark.parametrize("factor", [2.0**-7, 2.0**9, 3.0, 0.1])
def test_scaling_weights_changes_no_seed(draw, factor):
    X = points_of("random", 150, 3, 0)
    w = np.random.default_rng(0).random(150)
    plain = DRAWS[draw](X, 11, sample_weight=w, random_state=1)
    scaled = DRAWS[draw](X, 11, sample_weight=w * factor, random_state=1)
    assert scaled.indices.tolist() == plain.indices.tolist()
    assert scaled.potential == pytest.approx(plain.potential * factor)


@every
def test_equal_weights_are_no_weights(draw):
    X = points_of("random", 150, 3, 0)
    plain = DRAWS[draw](X, 11, random_state=1)
    weighted = DRAWS[draw](X, 11, sample_weight=np.full(150, 4), random_state=1)
    assert weighted.indices.tolist() == plain.indices.tolist()


@every
@SETTINGS
@given(st.integers(0, 2**31), st.sampled_from(METRICS))
def test_zero_weight_rows_are_never_chosen(draw, seed, metric):
    rng = np.random.default_rng(seed)
    X = fit_for(metric, points_of("random", 40, 2, seed))
    w = rng.integers(0, 2, size=40).astype(float)
    w[:5] = 1.0
    found = DRAWS[draw](X, 5, sample_weight=w, metric=metric, random_state=seed)
    assert (w[found.indices] > 0).all()
    assert len(set(found.indices.tolist())) == 5


@every
def test_translating_whole_numbers_changes_no_seed(draw):
    X = np.random.default_rng(0).integers(-50, 50, size=(200, 3)).astype(float)
    plain = DRAWS[draw](X, 9, random_state=0)
    moved = DRAWS[draw](X + 1024.0, 9, random_state=0)
    assert moved.indices.tolist() == plain.indices.tolist()


@pytest.mark.parametrize("algorithm", ["naive", "paper"])
def test_more_seeds_begin_with_fewer(algorithm):
    """k-means++ draws one seed after the other; asking for more must not change the first.

    (Lazy k-means++ and its rounds keep the law but not this: how many seeds are wanted decides
    their refreshes and batches.)
    """
    X = points_of("random", 150, 3, 0)
    long = kmeans_plusplus(X, 20, random_state=3, algorithm=algorithm).indices.tolist()
    short = kmeans_plusplus(X, 7, random_state=3, algorithm=algorithm).indices.tolist()
    assert short == long[:7]


@pytest.mark.parametrize("algorithm", table.GREEDY.algorithms)
def test_more_greedy_seeds_begin_with_fewer(algorithm):
    """As many candidates a step, that is: their number grows with that of the seeds."""
    X = points_of("random", 150, 3, 0)
    same = {"n_local_trials": 3, "random_state": 3, "algorithm": algorithm}
    long = greedy_kmeans_plusplus(X, 20, **same).indices.tolist()
    assert greedy_kmeans_plusplus(X, 7, **same).indices.tolist() == long[:7]
