"""Metrics: each is its formula, and a function is a function, whatever its name."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from kseeds import VPTree, assign, kmeans_parallel, kmeans_plusplus
from kseeds.distances import underflow
from kseeds.distances.metrics import METRICS, Family, Metric
from kseeds.distances.reference import squared_distances
from kseeds.inputs.points import prepare_points
from kseeds.nearest.choice import Job
from kseeds.nearest.state import Nearest
from kseeds.nearest.update import NearestUpdater
from kseeds.runtime.threads import Workers
from tests.data import fit_for, points_of


def function_named(name):
    def distance(a, b):
        return float(np.abs(a - b).sum() + 2.0 * abs(a[0] - b[0]))

    distance.__name__ = name
    return distance


@pytest.mark.parametrize("name", [*METRICS, "anything"])
def test_a_function_with_the_name_of_a_metric_is_a_function(name):
    """Also for initial centres and centres, which are made ready like the rows."""
    X = np.random.default_rng(0).normal(size=(80, 2)) * 50.0  # no latitudes, no longitudes
    X[3] = 0.0  # and no direction
    distance = function_named(name)
    table = np.array([[distance(x, c) for c in X[:5]] for x in X])
    found = assign(X, X[:5], metric=distance)
    np.testing.assert_array_equal(found.labels, table.argmin(axis=1))
    np.testing.assert_allclose(found.distances, table.min(axis=1))
    for function in (kmeans_plusplus, kmeans_parallel):
        seeding = function(X, 3, metric=distance, initial_centers=X[:2], random_state=0)
        centers = np.concatenate([X[:2], seeding.centers])
        wanted = np.array([[distance(x, c) for c in centers] for x in X])
        np.testing.assert_array_equal(seeding.labels, wanted.argmin(axis=1))


def test_the_readme_has_a_row_for_every_metric():
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    table = readme.partition("| metric | distance of two rows |")[2].partition("\n\n")[0]
    assert re.findall(r'^\| `"(\w+)"` \|', table, re.MULTILINE) == list(METRICS)


@pytest.mark.parametrize("strategy", ["brute", "vantage"])
def test_a_family_that_nobody_computes_is_an_error(strategy):
    X = np.random.default_rng(0).normal(size=(50, 3))
    with pytest.raises(ValueError, match="family"):
        squared_distances(X, X[0], Family.CALLABLE)
    odd = Metric("odd", Family.CALLABLE, 0.0, 0.0)
    with pytest.raises(ValueError, match="family"):
        underflow.distances(X, X[0], odd)
    prepared = prepare_points(X, "euclidean")
    with Workers(1) as workers, pytest.raises(ValueError, match="famil"):
        NearestUpdater(Job(prepared.points, odd, workers, 4), strategy).update(
            Nearest.empty(prepared.points), np.ascontiguousarray(prepared.points[:4]), 0
        )


@pytest.mark.parametrize("metric", METRICS)
def test_distances_are_those_of_the_formula(metric):
    from tests.methods.laws import DISTANCES

    X = fit_for(metric, points_of("random", 40, 3, 4))
    found = kmeans_plusplus(X, 4, metric=metric, random_state=0)
    wanted = [min(DISTANCES[metric](x, c) for c in found.centers) for x in X]
    np.testing.assert_allclose(found.distances, wanted, rtol=1e-7, atol=1e-7)


def test_a_tree_takes_no_function():
    for function in (function_named("angular"), np.subtract):
        with pytest.raises(ValueError, match=r"is a function, which may break the triangle .*\.$"):
            VPTree(np.eye(3), metric=function)
