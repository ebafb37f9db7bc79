"""Projections: lower bounds of distances, and what they leave unexplained."""

from __future__ import annotations

import numpy as np

from kseeds.runtime.threads import Workers
from tests.data import points_of


def test_projections_never_lengthen_a_distance():
    from kseeds.nearest.projection import Projection, principal_components

    X = points_of("badly scaled", 500, 20, 0)
    for count in (0, 1, 7, 20):
        projection = Projection(principal_components(X).leading(count))
        projected, radius = projection.of(X, Workers(1))
        true = np.sqrt(((X[:, None] - X[None, :50]) ** 2).sum(axis=2))
        short = np.sqrt(((projected[:, None] - projected[None, :50]) ** 2).sum(axis=2))
        assert (short <= true * (1 + 1e-9) + 4e-8 * 2 * radius).all()


def test_components_tell_the_variance_they_leave_unexplained():
    from kseeds.nearest.projection import principal_components

    rng = np.random.default_rng(0)
    assert principal_components(rng.normal(size=(2000, 40))).unexplained(8) > 0.6
    assert principal_components(np.zeros((2000, 40))).unexplained(8) == 1.0
    flat = rng.normal(size=(2000, 3)) @ rng.normal(size=(3, 40))
    assert principal_components(flat + 1e-3 * rng.normal(size=(2000, 40))).unexplained(7) < 1e-3
    high = 5.0 + rng.normal(size=(2000, 20)) @ rng.normal(size=(20, 300))
    components = principal_components(high)
    assert components.unexplained(32) < 1e-3
    directions = components.directions
    np.testing.assert_allclose(directions.T @ directions, np.eye(64), atol=1e-9)
