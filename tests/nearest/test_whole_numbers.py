"""Products decide ties of whole numbers, and of nothing that is rounded."""

from __future__ import annotations

import numpy as np
import pytest

from kseeds.inputs import prepare_points
from kseeds.nearest.whole_numbers import are_whole, exact_up_to
from tests.nearest.test_strategies_agree import run

MOST = 2.0**11
"""Half of the largest norm in single precision; see `exact_up_to`."""


def rows_of(kind, n, d, rng, dtype):
    X = rng.integers(0, 3, size=(n, d)).astype(np.float64)
    if kind == "some halves":
        X[rng.random(n) < 0.1] += 0.5
    elif kind == "at the limit":  # some rows are just below it, some just above
        X[:, 0] += rng.integers(-2, 3, size=n) * MOST
    elif kind == "far from zero":
        X += 2.0**22
    elif kind == "whole about the mean only":
        # What makes some rows not whole is lost when the mean of the others is subtracted.
        few = rng.random(n) < 0.2
        X[few, 0] += 2e-5 if dtype == np.float32 else 5e-14
        X[~few, 0] += 1500.0
    return X


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "kind", ["ties", "some halves", "at the limit", "far from zero", "whole about the mean only"]
)
@pytest.mark.parametrize("d", [1, 3, 15, 16, 21, 70])
@pytest.mark.parametrize("m", [3, 70, 600])
def test_ties_go_to_the_lowest_number_by_every_product(kind, d, m, dtype):
    rng = np.random.default_rng(d * m)
    X = rows_of(kind, 1000, d, rng, dtype).astype(dtype)
    prepared = prepare_points(X, "euclidean")
    centers = np.ascontiguousarray(X[rng.integers(0, len(X), size=m)])
    if kind in ("some halves", "whole about the mean only"):
        centers = np.floor(centers)
    if kind == "whole about the mean only":
        centers[:2] = 0.0
        centers[:2, 0] = 0.0, 2.0  # of rows near 1, the second is the nearer one by a little
        centers[2:, 0] += 1500.0
    batches = sorted({m // 3, m} - {0})
    brute, _ = run(prepared, centers, batches, "brute")
    for strategy in ("gemm", "quantized", "plain"):
        found, _ = run(prepared, centers, batches, strategy)
        np.testing.assert_array_equal(found.labels, brute.labels)
        np.testing.assert_array_equal(found.squared, brute.squared)


def test_the_limit_is_where_sums_begin_to_be_rounded():
    largest = exact_up_to(np.array([MOST**2]), np.dtype(np.float32))
    assert 0.0 < largest < (2.0**12 - MOST) ** 2
    assert exact_up_to(np.array([2.0**24]), np.dtype(np.float32)) < 0.0
    assert exact_up_to(np.array([2.0**24]), np.dtype(np.float64)) > 0.0
    assert not are_whole(np.array([[1.0], [np.nextafter(2.0, 3.0)]]))


def test_no_tie_of_whole_numbers_is_in_doubt():
    from kseeds.nearest.gemm import Gemm
    from kseeds.nearest.state import Nearest
    from kseeds.runtime.threads import Workers

    X = np.random.default_rng(0).integers(0, 2, size=(500, 20)).astype(np.float32)
    prepared = prepare_points(X, "euclidean")
    with Workers(1) as workers:
        for scale, expected in ((1.0, 0), (0.7, 500)):
            points = prepare_points(X * np.float32(scale), "euclidean").points
            gemm = Gemm(points, prepared.metric, points.mean(axis=0, dtype=np.float64))
            counts = gemm.update(Nearest.empty(points), points[:40], 0, workers)
            assert (counts.exact > expected) == (expected > 0)
