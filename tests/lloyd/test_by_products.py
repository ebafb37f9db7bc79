"""Iterations by products in plain NumPy: labels to the last tie, and distances when asked for."""

from __future__ import annotations

import numpy as np
import pytest

from kseeds.distances.metrics import Family, bind
from kseeds.distances.reference import squared_distances
from kseeds.lloyd import by_products
from kseeds.lloyd.naive import Naive
from kseeds.lloyd.sums import ExactSums
from kseeds.nearest.choice import Job
from kseeds.runtime.threads import Workers

KINDS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "tied": lambda rng, shape: rng.integers(0, 3, size=shape),
    "tied, but not whole": lambda rng, shape: rng.integers(0, 3, size=shape) / 3.0,
    "far away": lambda rng, shape: 1e5 + rng.normal(size=shape),
    "of all sizes": lambda rng, shape: rng.normal(size=shape) * 10.0 ** rng.integers(-4, 5, shape),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "d", "k"), [(70, 1, 3), (300, 2, 40), (1500, 17, 30), (90, 70, 90)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_are_those_of_the_oracle(kind, n, d, k, dtype, monkeypatch):
    # Several blocks, on two threads.
    monkeypatch.setattr(by_products, "_ENTRIES", 64 * k)
    monkeypatch.setattr(by_products, "_SHARED", 0)
    rng = np.random.default_rng(n)
    points = KINDS[kind](rng, (n, d)).astype(dtype)
    metric, _ = bind("euclidean", points, 1.0)
    with Workers(2) as workers:
        mine = by_products.ByProducts(Job(points, metric, workers, k))
        oracle = Naive(points, metric)
        sums, of_oracle = (
            ExactSums.of_all(points, None, np.abs(points).max(axis=0), k, workers) for _ in "ab"
        )
        for turn in range(3):
            centers = points[rng.choice(n, k, replace=False)].copy()
            if turn == 2:  # means of a few rows, some of them the same
                centers = ((centers + centers[::-1]) / 2).astype(dtype)
            assert mine.assign(centers, sums) == oracle.assign(centers, of_oracle)
            found, wanted = mine.nearest(centers), oracle.nearest(centers)
            np.testing.assert_array_equal(found.labels, wanted.labels)
            np.testing.assert_array_equal(found.squared, wanted.squared)
            np.testing.assert_array_equal(sums.totals()[0], of_oracle.totals()[0])
    assert mine.counts.distances >= 3 * n * k


def test_rows_in_doubt_are_few_and_others_are_not_compared(monkeypatch):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(2000, 5)).astype(np.float32)
    points[7] = 0.5 * (
        points[3] + points[5]
    )  # as near to the one as to the other, but for rounding
    metric, _ = bind("euclidean", points, 1.0)
    compared = []
    theirs = by_products.compare
    monkeypatch.setattr(
        by_products, "compare", lambda rows, *rest: compared.append(rows) or theirs(rows, *rest)
    )
    assigner = by_products.ByProducts(Job(points, metric, Workers(1), 2))
    labels = assigner._labels_of(points[[3, 5]])
    rows = np.concatenate(compared)
    assert (rows == points[7]).all(axis=1).any()
    assert len(rows) < 20
    apart = [squared_distances(points, center, Family.EUCLIDEAN) for center in points[[3, 5]]]
    np.testing.assert_array_equal(labels, np.argmin(apart, axis=0))


def test_it_is_for_euclidean_distances_of_little_data():
    points = np.zeros((4, 3))
    with Workers(1) as workers:
        euclidean, other = (
            Job(points, bind(name, points, 1.0)[0], workers, 2)
            for name in ("euclidean", "manhattan")
        )
        assert by_products.is_possible(euclidean)
        assert not by_products.is_possible(other)
        large = Job(np.zeros((1 << 12, 1 << 11)), euclidean.metric, workers, 2)
        assert not by_products.is_possible(large)
