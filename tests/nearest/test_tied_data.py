"""No choice of strategy, tier or number of threads shows in a result, ties included."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

from kseeds import assign, kmeans_parallel, kmeans_plusplus
from kseeds.distances.metrics import Family
from kseeds.distances.reference import squared_distances
from kseeds.inputs.points import prepare_points
from kseeds.nearest.choice import STRATEGIES, Job
from kseeds.nearest.state import Nearest
from kseeds.nearest.update import NearestUpdater
from kseeds.runtime.threads import Workers
from tests.data import METRICS, fit_for

pytestmark = pytest.mark.filterwarnings("ignore::kseeds.FewerDistinctPointsWarning")

CHOICES = [
    {"algorithm": "naive"},
    {"algorithm": "paper"},
    *(
        {"algorithm": "fast", "strategy": strategy, "n_threads": n}
        for strategy in STRATEGIES
        for n in (1, 3)
    ),
]
SAME_REDUCTION = [choice for choice in CHOICES if choice["algorithm"] == "fast"]


def tied(kind, n, d, seed, dtype=np.float32):
    rng = np.random.default_rng(seed)
    if kind == "duplicated":
        X = (rng.normal(size=(60, 6)) @ rng.normal(size=(6, d)))[rng.integers(0, 60, n)]
    elif kind == "gridded":
        X = rng.integers(0, 3, size=(n, d))
    else:  # every row has many nearest centres: corners of a cube around a few points
        X = rng.integers(0, 2, size=(n, d)) + 10 * rng.integers(0, 3, size=(n, 1))
    return X.astype(dtype)


@pytest.mark.parametrize("kind", ["duplicated", "gridded", "cornered"])
@pytest.mark.parametrize("d", [2, 7, 16, 33, 64])
def test_candidates_and_seeds_are_the_same_by_every_strategy(kind, d):
    X = tied(kind, 9000, d, d)
    found = [kmeans_parallel(X, 50, random_state=0, **choice) for choice in SAME_REDUCTION]
    for other in found[1:]:
        assert other.indices.tolist() == found[0].indices.tolist()
        assert other.work.candidates == found[0].work.candidates
        np.testing.assert_array_equal(other.labels, found[0].labels)
        assert other.potential == found[0].potential
    plain, paper = (kmeans_parallel(X, 50, random_state=0, **choice) for choice in CHOICES[:2])
    assert plain.indices.tolist() == paper.indices.tolist()
    assert plain.work.candidates == found[0].work.candidates


@pytest.mark.parametrize("kind", ["duplicated", "gridded", "cornered"])
@pytest.mark.parametrize("d", [2, 16, 40])
def test_lazy_seeds_are_the_same_by_both_tiers_and_any_threads(kind, d):
    X = tied(kind, 5000, d, d)
    weights = np.random.default_rng(0).random(5000)
    found = [
        kmeans_plusplus(
            X, 70, sample_weight=weights, random_state=1, algorithm="lazy", kernels=kernels,
            refresh=refresh, n_threads=n,
        )
        for refresh in ("auto", "partial")
        for kernels, n in (("plain", 1), ("compiled", 1), ("compiled", 3))
    ]  # fmt: skip
    for group in (found[:3], found[3:]):
        for other in group[1:]:
            assert other.indices.tolist() == group[0].indices.tolist()
            assert other.work == group[0].work
            np.testing.assert_array_equal(other.distances, group[0].distances)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 5, 15, 16, 17, 31, 64, 100])
def test_every_strategy_finds_the_numbers_of_the_definition(strategy, dtype, d):
    """In two batches: also ties between a centre of the first and one of the second."""
    X = np.random.default_rng(d).normal(size=(400, d)).astype(dtype)
    centers = np.concatenate([X[:40], X[20:60], X[:10]])  # many of them equal
    table = np.array([squared_distances(X, center, Family.EUCLIDEAN) for center in centers])
    prepared = prepare_points(X, "euclidean")
    nearest = Nearest.empty(prepared.points)
    with Workers(1) as workers:
        updater = NearestUpdater(Job(prepared.points, prepared.metric, workers, 90, 2), strategy)
        updater.update(nearest, centers[:30], 0)
        updater.update(nearest, centers[30:], 30)
    np.testing.assert_array_equal(nearest.labels, table.argmin(axis=0))
    np.testing.assert_array_equal(nearest.squared, table.min(axis=0))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_metrics_are_the_same_in_both_tiers_to_the_last_bit(metric, dtype):
    rng = np.random.default_rng(0)
    X = fit_for(metric, rng.normal(size=(3000, 19))).astype(dtype)
    prepared = prepare_points(X, metric)
    centers = np.ascontiguousarray(prepared.points[:50])
    for strategy in ("brute", "vantage"):
        states = [Nearest.empty(prepared.points) for _ in range(2)]
        with Workers(1) as workers:
            for state, choice in zip(states, ("plain", strategy), strict=True):
                job = Job(prepared.points, prepared.metric, workers, 50)
                NearestUpdater(job, choice).update(state, centers, 0)
        np.testing.assert_array_equal(states[0].squared, states[1].squared)
        np.testing.assert_array_equal(states[0].labels, states[1].labels)


@pytest.mark.parametrize("d", [3, 16, 20, 100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ties_go_to_the_lowest_center(d, dtype):
    X = np.random.default_rng(0).normal(size=(500, d)).astype(dtype)
    centers = np.repeat(X[:5], 2, axis=0)
    assert set(assign(X, centers).labels.tolist()) <= {0, 2, 4, 6, 8}
    for function, algorithm in itertools.product((kmeans_plusplus,), ("lazy", "naive", "paper")):
        found = function(X, 3, initial_centers=centers, random_state=0, algorithm=algorithm)
        assert not set(found.labels.tolist()) & {1, 3, 5, 7, 9}


TWICE = """
import numpy as np
from kseeds import kmeans_parallel
rng = np.random.default_rng(0)
X = (rng.normal(size=(60, 6)) @ rng.normal(size=(6, 64)))[rng.integers(0, 60, 9000)]
runs = [kmeans_parallel(X.astype(np.float32), 50, random_state=0).indices for _ in range(2)]
print((runs[0] == runs[1]).all())
"""


def test_a_call_repeated_in_a_fresh_process_gives_the_same():
    """The first call does without the compiler, the second may have it."""
    done = subprocess.run(
        [sys.executable, "-c", TWICE], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.strip() == "True"
