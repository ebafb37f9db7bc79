"""Compiled distances of pairs of rows are those of the reference, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from kseeds.distances.metrics import Family
from kseeds.distances.reference import squared_distances
from kseeds.inputs import prepare_points


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("family", [f for f in Family if f is not Family.CALLABLE])
@pytest.mark.parametrize("d", [1, 2, 15, 16, 17, 31, 64, 100])
def test_kernels_reproduce_the_plain_distances_bit_for_bit(family, dtype, d):
    from kseeds.distances.pair_kernels import squared_distance

    rng = np.random.default_rng(d)
    X = rng.normal(size=(50, d)).astype(dtype)
    if family == Family.ARC:
        X = prepare_points(X, "angular").points.copy()
    plain = squared_distances(X, X[3], family)
    kind = None if family is Family.EUCLIDEAN else int(family)
    found = [squared_distance(X, i, X, 3, kind) for i in range(50)]
    found = np.array(found, dtype=dtype)
    if family == Family.ARC and dtype == np.float64:  # two arcsines, rounded differently
        np.testing.assert_array_max_ulp(found, plain, maxulp=4)
    else:
        np.testing.assert_array_equal(found, plain)
