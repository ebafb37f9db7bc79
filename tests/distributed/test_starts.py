"""Starts of k-means over partitions that are no functions of their own follow their laws."""

from __future__ import annotations

import numpy as np
import pytest

from kseeds.distributed import starts
from tests.distributed.test_driver_rounds import driver_over
from tests.harness.profiles import scaled
from tests.methods.cases import METHODS
from tests.methods.laws import chi_square_p, greedy_law


@pytest.mark.parametrize("case", ["zero weights", "fewer distinct than k"])
def test_greedy_seeds_follow_the_law_from_the_first_on(case, seed_offset):
    rows = METHODS["greedy_kmeans_plusplus"].inputs[case]
    X, weights = np.array(rows.points), np.array(rows.weights, dtype=float)
    drawn = []
    for t in range(scaled(1_000)):
        driver = driver_over(X, weights, [0, 2, 2, len(X)], rows.k, seed_offset + t)
        found, n_compared = starts.draw(driver, "greedy")
        np.testing.assert_array_equal(found.values, X[found.indices])
        assert n_compared < rows.k
        drawn.append(tuple(found.indices.tolist()))
    assert chi_square_p(greedy_law(rows.points, rows.weights, rows.k), drawn) > 1e-5
