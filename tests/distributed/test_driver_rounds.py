"""The rounds, without Dask or Spark: their law, and that nothing depends on how rows are cut."""

from __future__ import annotations

import functools
import warnings
from itertools import pairwise

import numpy as np
import pytest

from kseeds import FewerDistinctPointsWarning, kmeans_parallel, kmeans_plusplus
from kseeds.distributed import driver as rounds
from kseeds.distributed.driver import Driver, Request
from kseeds.distributed.local_backend import LocalBackend
from kseeds.distributed.partition import Part
from kseeds.methods.parallel.schedule import Schedule
from kseeds.sampling.streams import Purpose, Stream
from tests.data import METRICS
from tests.distributed.common import K, N, cuts_of, whole_numbers
from tests.harness.profiles import sizes
from tests.methods.cases import METHODS
from tests.methods.laws import chi_square_p, greedy_law, parallel_law, plusplus_law


class Twice(LocalBackend):
    """Runs every task twice, as a backend does after a fault; the second answer counts."""

    def run(self, task, message, keep):
        super().run(task, message, keep=False)
        return super().run(task, message, keep)


def engine_over(X, weights, borders, kind=LocalBackend):
    return kind(
        [
            Part.of(number, X[lo:hi], None if weights is None else weights[lo:hi])
            for number, (lo, hi) in enumerate(pairwise(borders))
        ]
    )


def driver_over(X, weights, borders, k, seed, initial=None, kind=LocalBackend, metric="euclidean"):
    stream = Stream.from_random_state(seed)
    return Driver(engine_over(X, weights, borders, kind), Request(k, metric, initial, stream))


@functools.cache
def seeds_in_memory(weighted, with_initial):
    X, weights = whole_numbers()
    same = {
        "sample_weight": weights if weighted else None,
        "initial_centers": X[:3] + 1.0 if with_initial else None,
        "random_state": 5,
    }
    return (
        kmeans_plusplus(X, K, algorithm="rounds", **same),
        kmeans_parallel(X, K, algorithm="fast", **same),
        kmeans_parallel(X, K, algorithm="fast", reduction="greedy", **same),
    )


@pytest.mark.parametrize("kind", [LocalBackend, Twice])
@pytest.mark.parametrize("parts", [1, 3, 17])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("with_initial", [False, True])
def test_partitions_and_repeated_tasks_change_no_seed(parts, weighted, with_initial, kind):
    X, weights = whole_numbers()
    weights = weights if weighted else None
    initial = X[:3] + 1.0 if with_initial else None
    borders, in_memory = cuts_of(N, parts), seeds_in_memory(weighted, with_initial)
    expected = in_memory[0]
    driver = driver_over(X, weights, borders, K, 5, initial, kind)
    found = rounds.kmeans_plusplus(driver)
    assert found.indices.tolist() == expected.indices.tolist()
    np.testing.assert_array_equal(found.values, X[found.indices])
    expected = in_memory[1]
    driver = driver_over(X, weights, borders, K, 5, initial, kind)
    found = rounds.kmeans_parallel(driver, Schedule(2.0, 5))
    assert found.indices.tolist() == expected.indices.tolist()
    assert found.work.candidates == expected.work.candidates
    expected = in_memory[2]
    driver = driver_over(X, weights, borders, K, 5, initial, kind)
    found = rounds.kmeans_parallel(driver, Schedule(2.0, 5, "greedy"))
    assert found.indices.tolist() == expected.indices.tolist()


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_agrees_with_memory(metric):
    rng = np.random.default_rng(0)
    X = rng.uniform(0.1, 1.5, size=(600, 2))
    expected = kmeans_parallel(X, 9, metric=metric, random_state=1)
    driver = driver_over(X, None, cuts_of(600, 4), 9, 1, metric=metric)
    found = rounds.kmeans_parallel(driver, Schedule(2.0, 5))
    assert found.indices.tolist() == expected.indices.tolist()


@pytest.mark.parametrize(
    ("points", "weights"),
    [
        ([0.0, 1.0, 2.5, 7.0, 7.5, 12.0], [1, 1, 1, 1, 1, 1]),
        ([0.0, 1.0, 2.5, 7.0, 7.5, 12.0], [1, 0, 2, 0.5, 1, 3]),
        ([0.0, 0.0, 3.0, 3.0, 3.0, 10.0], [1, 2, 1, 1, 0, 2]),
    ],
)
@sizes("draws", 1_000, 2_000)
def test_the_law_holds_with_small_batches(points, weights, draws, monkeypatch, seed_offset):
    """Batches of 2 proposals: updates, rejections and leftovers all happen."""
    monkeypatch.setattr(rounds, "_LEAST", 2)
    monkeypatch.setattr(rounds, "_MOST", 2)
    X, weights = np.array(points)[:, None], np.array(weights, dtype=float)
    drawn = []
    for t in range(draws):
        driver = driver_over(X, weights, [0, 2, 2, 6], 3, seed_offset + t)
        drawn.append(tuple(rounds.kmeans_plusplus(driver).indices.tolist()))
    assert chi_square_p(plusplus_law(X.tolist(), weights.tolist(), 3), drawn) > 1e-5


def test_too_few_distinct_points_are_filled_as_in_memory():
    X = np.repeat([[1.0], [5.0], [9.0]], 20, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerDistinctPointsWarning)
        expected = kmeans_plusplus(X, 7, random_state=0, algorithm="rounds")
        several = kmeans_parallel(X, 7, random_state=0)
    found = rounds.kmeans_plusplus(driver_over(X, None, [0, 11, 60], 7, 0))
    assert found.distinct == 3
    assert found.indices.tolist() == expected.indices.tolist()
    found = rounds.kmeans_parallel(driver_over(X, None, [0, 11, 60], 7, 0), Schedule(2.0, 5))
    assert found.distinct == 3
    assert len(set(found.indices.tolist())) == 7
    assert sorted(X[found.indices[:3], 0]) == sorted(X[several.indices[:3], 0])


@pytest.mark.parametrize("reduction", ["k-means++", "greedy"])
def test_too_few_candidates_are_completed(reduction):
    X, _ = whole_numbers(400)
    driver = driver_over(X, None, [0, 100, 400], 60, 2)
    found = rounds.kmeans_parallel(driver, Schedule(0.1, 2, reduction))
    assert len(set(found.indices.tolist())) == 60
    np.testing.assert_array_equal(found.values, X[found.indices])


@sizes("draws", 1_000, 2_000)
def test_too_few_candidates_are_completed_greedily_by_the_law(draws, seed_offset):
    rows = METHODS["kmeans_parallel"].inputs["greedy reduction of too few"]
    X, weights = np.array(rows.points), np.array(rows.weights, dtype=float)
    drawn = []
    for t in range(draws):
        driver = driver_over(X, weights, [0, 1, 1, 4], rows.k, seed_offset + t)
        found = rounds.kmeans_parallel(driver, Schedule(**rows.others))
        drawn.append(tuple(found.indices.tolist()))
    law = parallel_law(rows.points, rows.weights, rows.k, **rows.others)
    assert chi_square_p(law, drawn) > 1e-5


@sizes("draws", 1_000, 2_000)
def test_greedy_steps_follow_the_law_with_its_ties(draws, seed_offset):
    rows = METHODS["greedy_kmeans_plusplus"].inputs["ties"]
    initial = np.array(rows.others["initial_centers"])
    drawn = []
    for t in range(draws):
        driver = driver_over(
            np.array(rows.points), None, [0, 2, 2, 5], rows.k, seed_offset + t, initial
        )
        found = rounds.kmeans_plusplus(driver, Purpose.COMPLETION, trials=3)
        drawn.append(tuple(found.indices.tolist()))
    law = greedy_law(rows.points, rows.weights, rows.k, **rows.others)
    assert chi_square_p(law, drawn) > 1e-5


def test_many_seeds_take_few_rounds_and_few_bytes():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(500, 4)) * 20)[rng.integers(0, 500, 40_000)]
    X += rng.normal(size=X.shape)
    driver = driver_over(X, None, [0, 10_000, 40_000], 1024, 0)
    found = rounds.kmeans_plusplus(driver)
    assert len(found.indices) == 1024
    assert found.work.communications <= 40
    assert found.work.bytes_out < 4e6
    assert found.work.bytes_back < 4e6


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda X: [X[:5], X[5:, :2]], "2 and of 3 columns"),
        (lambda X: [X[:5], np.where(X[5:] > 60, np.nan, X[5:])], "partition 1 cannot be used: X"),
        (lambda X: [X[:5], X[5:].astype(str)], "partition 1 cannot be used: X has dtype"),
        (lambda X: [X[:0], X[:0]], "X is empty"),
        (lambda X: [X[:5], X[5:9]], "n_clusters=25 is more than the 9 rows of X"),
    ],
)
def test_bad_partitions_are_named(make, message):
    X, _ = whole_numbers(100)
    backend = LocalBackend([Part.of(number, block) for number, block in enumerate(make(X))])
    request = Request(K, "euclidean", None, Stream.from_random_state(0))
    with pytest.raises(ValueError, match=message):
        Driver(backend, request)


def test_bad_initial_centers_are_named():
    X, _ = whole_numbers(100)
    with pytest.raises(ValueError, match="initial_centers has 2 columns but the data has 3"):
        driver_over(X, None, [0, 50, 100], 3, 0, initial=X[:4, :2])


def test_bad_weights_are_named():
    X, weights = whole_numbers(100)
    weights[60] = -1.0
    with pytest.raises(ValueError, match=r"partition 1 cannot be used: sample_weight has -1\.0"):
        driver_over(X, weights, [0, 50, 100], 3, 0)
    with pytest.raises(ValueError, match="0 for every row"):
        driver_over(X, np.zeros(100), [0, 50, 100], 3, 0)
    weights[:] = 0.0
    weights[7] = 1.0
    with pytest.raises(ValueError, match="1 rows with positive sample_weight"):
        driver_over(X, weights, [0, 50, 100], 3, 0)
