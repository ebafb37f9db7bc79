"""Products of rows and centres: they rule out nothing that is nearer."""

from __future__ import annotations

import numpy as np
import pytest

from kseeds.distances.metrics import bind
from kseeds.nearest.gemm import Gemm
from kseeds.runtime.block_sizes import COLUMNS, column_order
from tests.simd.test_interpreted_twins import both_types
from tests.simd.test_product_twins import LEAST_PRODUCTS

KINDS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    # Nothing cancels, so that every partial sum is as large as it can be.
    "of one sign": lambda rng, shape: rng.uniform(0.9, 1.1, size=shape),
    "far away": lambda rng, shape: 1e3 + rng.normal(size=shape),
    "of all sizes": lambda rng, shape: rng.normal(size=shape) * 10.0 ** rng.integers(-4, 5, shape),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 3, 15, 40, 700])
@both_types
def test_a_sum_of_products_is_a_lower_bound_of_the_squared_distance(dtype, d, kind):
    rng = np.random.default_rng(d)
    points = KINDS[kind](rng, (COLUMNS, d)).astype(dtype)
    near = points[0] + (1e-3 * rng.normal(size=d)).astype(dtype)
    centers = np.stack([near, points[1], *KINDS[kind](rng, (2, d)).astype(dtype)])
    metric, _ = bind("euclidean", points, 1.0)
    for mean in (np.zeros(d), points.mean(axis=0, dtype=np.float64)):
        products = Gemm(points, metric, mean)._products(centers)
        moved = (points[:, column_order(d)] - products.mean).T.copy()
        norms = np.zeros(COLUMNS, dtype=dtype)
        for column in moved:
            norms += column * column
        for q in range(len(centers)):
            only = np.full_like(products.shifts, np.inf)
            only[q] = products.shifts[q]
            least, others = np.empty((2, COLUMNS), dtype=dtype)
            LEAST_PRODUCTS[1](
                moved, products.factors, only, least, others, np.empty(COLUMNS, np.int32)
            )
            difference = points.astype(np.longdouble) - centers[q]
            squared = np.square(difference).sum(axis=1)
            bounds = least.astype(np.longdouble) + norms * np.longdouble(products.shrunk)
            assert (bounds <= squared + products.slack).all()
