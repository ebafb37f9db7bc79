"""Every way of drawing k-means++ against the enumerated law."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from kseeds import FewerDistinctPointsWarning, kmeans_plusplus
from tests.exactness.laws import DISTANCES, chi_square_p, plusplus_law

LINE = [[0.0], [1.0], [2.5], [7.0], [7.5], [12.0]]
INPUTS = {
    "line": (LINE, [1, 1, 1, 1, 1, 1]),
    "weights": (LINE, [1.0, 0.25, 3.0, 0.5, 2.0, 1.5]),
    "zero weights": (LINE, [1, 0, 2, 0, 1, 3]),
    "duplicates": ([[0.0], [0.0], [3.0], [3.0], [3.0], [10.0]], [1, 2, 1, 1, 0, 2]),
    "fewer distinct than k": ([[0.0], [0.0], [4.0], [4.0], [4.0]], [1, 2, 1, 3, 1]),
    "plane": ([[0, 0], [1, 0], [0, 2], [5, 5], [6, 5], [-3, 4]], [1, 1, 1, 1, 1, 1]),
}
WAYS = {
    "naive": {"algorithm": "naive"},
    "paper": {"algorithm": "paper"},
    "paper, no queue": {"algorithm": "paper", "queue": False},
    "lazy, plain": {"algorithm": "lazy", "kernels": "plain"},
    "lazy, compiled": {"algorithm": "lazy", "kernels": "compiled"},
    "lazy, never sweeping": {"algorithm": "lazy", "sweeps": "never", "batch": 1},
    "lazy, always sweeping": {"algorithm": "lazy", "sweeps": "always", "batch": 1},
    "lazy, plain, always sweeping": {
        "algorithm": "lazy", "kernels": "plain", "sweeps": "always", "batch": 8,
    },
    "lazy, refreshed by a tree": {
        "algorithm": "lazy", "kernels": "compiled", "sweeps": "whole", "batch": 1,
    },
}  # fmt: skip
DRAWS = 6_000
REJECT = 1e-5


@pytest.fixture(autouse=True)
def _scaled_draws(draws_factor, monkeypatch):
    monkeypatch.setattr(f"{__name__}.FACTOR", draws_factor)


FACTOR = 1.0


def sequences(points, weights, k, seed, draws=DRAWS, dtype=np.float64, **keywords):
    X = np.array(points, dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerDistinctPointsWarning)
        for t in range(int(draws * FACTOR)):
            found = kmeans_plusplus(
                X, k, sample_weight=weights, random_state=seed + t, n_threads=1, **keywords
            )
            yield tuple(found.indices.tolist())


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("way", WAYS)
def test_sequences_follow_the_law(way, name, seed_offset):
    points, weights = INPUTS[name]
    law = plusplus_law(points, weights, 3)
    draws = sequences(points, weights, 3, seed_offset, **WAYS[way])
    assert chi_square_p(law, draws) > REJECT


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", DISTANCES)
@pytest.mark.parametrize("way", ["naive", "paper", "lazy, plain", "lazy, never sweeping"])
def test_every_metric_and_precision(way, metric, dtype, seed_offset):
    points = [[0.1, 0.3], [0.5, -0.4], [-1.0, 0.2], [0.9, 1.1], [-0.3, -0.8]]
    weights = [1.0, 2.0, 0.5, 1.0, 0.0]
    law = plusplus_law(points, weights, 3, DISTANCES[metric])
    draws = sequences(points, weights, 3, seed_offset, 4_000, dtype, metric=metric, **WAYS[way])
    assert chi_square_p(law, draws) > REJECT


@pytest.mark.parametrize("way", WAYS)
def test_around_initial_centers(way, seed_offset):
    points, weights = INPUTS["weights"]
    initial = [[6.0], [-1.0]]
    law = plusplus_law(points, weights, 2, initial=initial)
    draws = sequences(points, weights, 2, seed_offset, initial_centers=initial, **WAYS[way])
    assert chi_square_p(law, draws) > REJECT


def squared_hop(a, b):
    """No metric: breaks the triangle inequality."""
    return float(abs(a[0] - b[0]) ** 1.5)


@pytest.mark.parametrize("way", ["naive", "lazy, plain", "lazy, never sweeping"])
def test_any_dissimilarity(way, seed_offset):
    points, weights = INPUTS["weights"]
    law = plusplus_law(points, weights, 3, squared_hop)
    draws = sequences(points, weights, 3, seed_offset, 4_000, metric=squared_hop, **WAYS[way])
    assert chi_square_p(law, draws) > REJECT


@pytest.mark.parametrize("way", ["lazy, plain", "lazy, compiled", "lazy, never sweeping"])
def test_the_next_two_seeds_after_a_prefix(way, seed_offset):
    """On a few hundred points: frequencies of the next seed, and of the one after it."""
    X = np.random.default_rng(5).normal(size=(250, 3)) ** 3
    weights = np.random.default_rng(6).integers(0, 3, size=250).astype(float)
    prefix = X[:6]
    start = ((X[:, None] - prefix) ** 2).sum(axis=2).min(axis=1)
    first = weights * start / (weights * start).sum()
    second = np.zeros(250)
    for i in np.flatnonzero(first):
        mass = weights * np.minimum(start, ((X - X[i]) ** 2).sum(axis=1))
        second += first[i] * mass / mass.sum()
    drawn = list(sequences(X, weights, 2, seed_offset, 8_000, initial_centers=prefix, **WAYS[way]))
    for place, law in enumerate([first, second]):
        table = {(i,): p for i, p in enumerate(law) if p > 0}
        assert chi_square_p(table, [(seeds[place],) for seeds in drawn]) > REJECT


def test_the_printed_keys_are_biased_and_the_harness_sees_it(seed_offset):
    """Erratum 1: one exponential a row for all rounds does not give the k-means++ law."""
    points, weights = INPUTS["line"]
    law = plusplus_law(points, weights, 3)
    draws = sequences(points, weights, 3, seed_offset, algorithm="paper", keys="printed")
    assert chi_square_p(law, draws) < 1e-9


def test_the_printed_keys_still_draw_the_first_seed_right(seed_offset):
    """So the bias above comes from what survives a round, not from the start."""
    points, weights = INPUTS["line"]
    draws = sequences(points, weights, 3, seed_offset, algorithm="paper", keys="printed")
    law = {(i,): 1 / 6 for i in range(6)}
    assert chi_square_p(law, [sequence[:1] for sequence in draws]) > REJECT


@pytest.mark.parametrize("way", WAYS)
def test_weight_two_is_a_repeated_row_in_law(way, seed_offset):
    """Both inputs follow one law on *points*; the duplicated one is drawn, not enumerated."""
    points = [[0.0], [1.0], [4.0], [9.0]]
    law = plusplus_law(points, [1, 2, 1, 1], 3)
    repeated = [[0.0], [1.0], [4.0], [9.0], [1.0]]
    draws = [
        tuple(1 if i == 4 else i for i in sequence)
        for sequence in sequences(repeated, None, 3, seed_offset, 8_000, **WAYS[way])
    ]
    assert chi_square_p(law, draws) > REJECT
