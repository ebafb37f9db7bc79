"""`assign`: the nearest centre of every row, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from kseeds import assign, kmeans_plusplus
from tests.data import METRICS, fit_for, points_of
from tests.methods.laws import DISTANCES


@pytest.mark.parametrize("metric", METRICS)
def test_assign_is_the_nearest_centre(metric):
    X = fit_for(metric, points_of("random", 120, 4, 0))
    weights = np.random.default_rng(0).random(120)
    found = assign(X[20:], X[:20], metric=metric, sample_weight=weights[20:], n_threads=2)
    table = np.array([[DISTANCES[metric](x, c) for c in X[:20]] for x in X[20:]])
    labels, distances = found
    np.testing.assert_array_equal(labels, table.argmin(axis=1))
    np.testing.assert_allclose(distances, table.min(axis=1), rtol=1e-7, atol=1e-7)
    assert found.potential == pytest.approx((weights[20:] * distances**2).sum())


def test_assign_agrees_with_the_labels_of_a_seeding():
    X = points_of("clustered", 3000, 3, 0).astype(np.float32)
    seeding = kmeans_plusplus(X, 40, random_state=0)
    labels, distances = assign(X, seeding.centers)
    np.testing.assert_array_equal(labels, seeding.labels)
    np.testing.assert_allclose(distances, seeding.distances, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0]], np.empty((0, 1))), "centers is empty"),
        (([[1.0]], [[1.0, 2.0]]), "centers has 2 columns but the data has 1"),
        (([[np.nan]], [[1.0]]), "X has nan at row 0"),
        (([[1.0]], [[np.inf]]), "centers has inf at row 0"),
    ],
)
def test_assign_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        assign(*arguments)
