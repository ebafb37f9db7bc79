"""Coordinates whose squares overflow, in rows whose differences do not.

Seeding by lazy k-means++ looks at differences only, so it does not scale such rows.
"""

from __future__ import annotations

import numpy as np
import pytest

from kseeds import assign, kmeans_plusplus
from kseeds.inputs.points import prepare_together
from kseeds.nearest.choice import STRATEGIES, Job, fastest
from kseeds.nearest.gemm import Gemm
from kseeds.nearest.plain import largest_norm
from kseeds.nearest.projection import center_of, principal_components
from kseeds.nearest.structure import Sample
from kseeds.runtime.threads import Workers
from tests.nearest.test_quantized import compared
from tests.nearest.test_strategies_agree import run
from tests.simd.test_interpreted_twins import both_types

HUGE = {np.float32: 1.1e30, np.float64: 1.1e200}


def rows_of(dtype, n, d, spread=0.0):
    """Return rows of a column that is huge, and the same for all but some last digits."""
    rng = np.random.default_rng(d)
    X = (rng.normal(size=(n, 6)) @ rng.normal(size=(6, d))).astype(dtype)
    digits = spread * rng.integers(0, 5, n) * np.finfo(dtype).eps
    X[:, 1] = (HUGE[dtype] * (1.0 + digits)).astype(dtype)
    return X


def unscaled(X):
    prepared, _ = prepare_together(X, None, "euclidean", names=("X", ""), check_values=False)
    assert prepared.factor == 1.0
    return prepared


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("d", [5, 40])
@both_types
def test_a_huge_column_that_is_constant_changes_no_label(dtype, d, strategy):
    X = rows_of(dtype, 9000, d)
    prepared = unscaled(X)
    centers = np.ascontiguousarray(X[::60])
    others = np.delete(X, 1, axis=1)
    found, _ = run(prepared, centers, [40, 150], strategy)
    brute, _ = run(unscaled(others), np.delete(centers, 1, axis=1), [40, 150], "brute")
    np.testing.assert_array_equal(found.labels, brute.labels)
    np.testing.assert_allclose(found.squared, brute.squared, rtol=1e-5)


@pytest.mark.parametrize("strategy", ["plain", "gemm", "quantized", "quantized_scan"])
@pytest.mark.parametrize("huge", ["row", "centre", "both"])
@both_types
def test_products_that_overflow_are_not_computed(dtype, huge, strategy):
    X = np.random.default_rng(0).normal(size=(500, 40)).astype(dtype)
    centers = X[:120].copy()
    if huge != "centre":
        X[70:90] *= dtype(largest_norm(np.dtype(dtype)) ** 0.5)
    if huge != "row":
        centers[60:] *= dtype(largest_norm(np.dtype(dtype)) ** 0.5)
    prepared = unscaled(X)
    with np.errstate(over="ignore", invalid="ignore"):
        found, _ = run(prepared, centers, [50, 120], strategy)
        brute, _ = run(prepared, centers, [50, 120], "brute")
    np.testing.assert_array_equal(found.labels, brute.labels)
    np.testing.assert_array_equal(found.squared, brute.squared)


@both_types
def test_columns_left_by_rows_that_overflow_are_in_no_doubt(dtype):
    """The last tile has few rows, beside columns of others whose products are infinite."""
    X = np.random.default_rng(0).normal(size=(66, 40)).astype(dtype)
    X[2:64] = np.finfo(dtype).max / 8.0 * np.sign(X[2:64])
    X[64:] = X[:2] = X[0]  # in doubt, whichever of the equal centres is taken
    prepared = unscaled(X)
    gemm = Gemm(prepared.points, prepared.metric, np.zeros(40))
    with np.errstate(over="ignore"):
        found, counts = compared(prepared.points, prepared.metric, gemm, X[[0, 1, 64, 65]])
    assert found.labels[[0, 1, 64, 65]].tolist() == [0, 0, 0, 0]
    assert found.squared[[0, 1, 64, 65]].tolist() == [0.0, 0.0, 0.0, 0.0]
    assert counts.exact <= 64 * 4 + 2 * 5


@both_types
def test_a_mean_of_equal_numbers_is_that_number(dtype):
    X = rows_of(dtype, 12_000, 100)
    assert center_of(X)[1] == X[0, 1]
    assert principal_components(X).mean[1] == X[0, 1]
    assert np.isfinite(Sample(X).dimension())
    with Workers(1) as workers:
        prepared = unscaled(X)
        assert fastest(Job(prepared.points, prepared.metric, workers, 4000)) in STRATEGIES


@pytest.mark.parametrize("kernels", ["plain", "compiled"])
@pytest.mark.parametrize("spread", [0.0, 1e-20])
@both_types
def test_labels_of_a_seeding_are_those_of_assign(dtype, spread, kernels):
    X = rows_of(dtype, 9000, 40, spread)
    seeding = kmeans_plusplus(X, 150, algorithm="lazy", kernels=kernels, random_state=0)
    labels, distances = assign(X, seeding.centers)
    np.testing.assert_array_equal(seeding.labels, labels)
    np.testing.assert_allclose(seeding.distances, distances, rtol=1e-5)
