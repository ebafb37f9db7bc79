"""A call draws from the caller's generator once; one that is refused, or fails, not at all."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from kseeds import kmeans_parallel, kmeans_plusplus
from kseeds.inputs.generator_state import restored_on_error
from tests.data import points_of

X = np.random.default_rng(0).normal(size=(20, 3))
BAD = X.copy()
BAD[4, 2] = np.nan
GENERATORS = [
    lambda: np.random.default_rng(3),
    lambda: np.random.Generator(np.random.MT19937(3)),
    lambda: np.random.Generator(np.random.Philox(3)),
    lambda: np.random.Generator(np.random.SFC64(3)),
    lambda: np.random.RandomState(3),
]


def fails(a, b):
    raise ZeroDivisionError


def stops(done, total):
    raise KeyboardInterrupt


COMMON = [
    {"n_clusters": 0},
    {"n_clusters": 21},
    {"X": BAD},
    {"X": BAD, "metric": "chebyshev"},
    {"X": BAD, "n_clusters": 1},
    {"X": BAD.astype(np.float32)},
    {"X": None},
    {"X": X[:0]},
    {"sample_weight": np.ones(3)},
    {"sample_weight": -np.ones(20)},
    {"sample_weight": np.eye(20)[0]},
    {"metric": "hamming"},
    {"metric": "haversine"},
    {"metric": lambda a, b: -1.0},
    {"metric": lambda a, b: "far"},
    {"metric": fails},
    {"metric": fails, "algorithm": "paper"},
    {"initial_centers": BAD},
    {"initial_centers": X[:, :1]},
    {"n_threads": 0},
    {"progress": "yes"},
    {"progress": stops},
    {"algorithm": "quick"},
    {"random_sate": 0},
    {"speed": 0},
]
CASES = [(function, change) for function in (kmeans_plusplus, kmeans_parallel) for change in COMMON]
CASES += [
    (kmeans_plusplus, {"algorithm": "paper", "keys": "none"}),
    (kmeans_plusplus, {"algorithm": "lazy", "X": BAD, "kernels": "plain"}),
    (kmeans_plusplus, {"algorithm": "naive", "X": BAD}),
    (kmeans_parallel, {"algorithm": "fast", "strategy": "none"}),
    (kmeans_parallel, {"oversampling": 0}),
    (kmeans_parallel, {"rounds": 0}),
    (kmeans_parallel, {"reduction": "none"}),
]


def same(one, other):
    if isinstance(one, dict):
        return all(same(one[key], other[key]) for key in one)
    return np.array_equal(one, other)


def state_of(generator):
    if isinstance(generator, np.random.Generator):
        return copy.deepcopy(generator.bit_generator.state)
    return generator.get_state(legacy=False)


@pytest.mark.parametrize(("function", "change"), CASES)
def test_a_refused_call_draws_nothing(function, change):
    for make in GENERATORS:
        generator = make()
        generator.random(5)
        before = state_of(generator)
        with pytest.raises((TypeError, ValueError, ZeroDivisionError, KeyboardInterrupt)):
            function(**{"X": X, "n_clusters": 3, "random_state": generator, **change})
        assert same(before, state_of(generator))


@pytest.mark.parametrize("function", [kmeans_plusplus, kmeans_parallel])
def test_a_call_that_returns_draws(function):
    for make in GENERATORS:
        generator = make()
        before = state_of(generator)
        function(X, 3, random_state=generator)
        assert not same(before, state_of(generator))


def test_values_that_are_looked_at_twice_advance_a_generator_once():
    after = []
    for data in (X, np.ldexp(X, 900)):
        generator = np.random.default_rng(0)
        kmeans_plusplus(data, 3, random_state=generator)
        after.append(state_of(generator))
    assert same(*after)


def test_what_others_drew_meanwhile_is_not_taken_back():
    generator = np.random.default_rng(0)

    def draw_and_fail(a, b):
        generator.random()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        kmeans_plusplus(X, 3, metric=draw_and_fail, random_state=generator)
    expected = np.random.default_rng(0)
    expected.integers(0, 2**64, size=2, dtype=np.uint64)
    expected.random()
    assert same(state_of(generator), state_of(expected))


@pytest.mark.parametrize("random_state", [None, 3, np.random.SeedSequence(3), "no", 1.5])
def test_what_has_no_state_is_left_alone(random_state):
    with pytest.raises(ZeroDivisionError), restored_on_error(random_state):
        raise ZeroDivisionError


def test_a_generator_is_drawn_from_once():
    X = points_of("random", 50, 3, 0)
    runs = [
        kmeans_plusplus(data, 9, random_state=np.random.default_rng(0)).indices.tolist()
        for data in (X, np.ldexp(X, 900))  # the second is looked at twice
    ]
    assert runs[0] == runs[1]
