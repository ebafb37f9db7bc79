"""Products of bytes: they rule out nothing that is nearer, and give way where they say little."""

from __future__ import annotations

import numpy as np
import pytest

from kseeds.distances.metrics import bind
from kseeds.inputs import prepare_points
from kseeds.nearest import costs
from kseeds.nearest.brute_force import BruteForce
from kseeds.nearest.quantized import Quantized
from kseeds.nearest.quantized_kernels import of_row, workspace
from kseeds.nearest.state import Nearest
from kseeds.nearest.steps_kernels import new_steps, set_steps
from kseeds.runtime import compile_policy
from kseeds.runtime.aligned import read_only
from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.threads import Workers
from tests.harness.isolation import run
from tests.nearest.test_product_bounds import KINDS
from tests.simd.test_byte_products import BYTE_PRODUCTS
from tests.simd.test_interpreted_twins import both_types

MORE_KINDS = {
    **KINDS,
    "one large coordinate": lambda rng, shape: np.where(
        np.arange(shape[1]) == 3, 1e4 * rng.normal(size=shape), rng.normal(size=shape)
    ),
    "whole": lambda rng, shape: rng.integers(-60, 61, size=shape).astype(float),
    "too large to be whole steps": lambda rng, shape: rng.integers(0, 999, size=shape) + 0.0,
}


def bounds_of(points, strategy, centers):
    """Return the lower bounds of the squared distances, and how many rows have exact ones."""
    factors = strategy._products(centers)
    (tile, found), steps = workspace(points, len(factors.added)), new_steps(points, True)
    set_steps(points, 0, COLUMNS, factors, 0, steps, tile)
    BYTE_PRODUCTS(
        steps.words[0], factors.words, factors.starts, steps.scales[0], factors.slopes,
        factors.added, found.table, found.fours, found.least, found.at,
    )  # fmt: skip
    norms = steps.norms[0].astype(np.float64)
    added = [of_row(factors, norm, left) for norm, left in zip(norms, steps.errors[0], strict=True)]
    return norms + found.table[: len(centers)] - np.array(added)


@pytest.mark.parametrize("kind", MORE_KINDS)
@pytest.mark.parametrize("d", [16, 17, 40, 700])
@both_types
def test_what_products_of_bytes_leave_is_a_lower_bound_of_the_squared_distance(dtype, d, kind):
    rng = np.random.default_rng(d)
    points = MORE_KINDS[kind](rng, (COLUMNS, d)).astype(dtype)
    near = points[0] + (1e-3 * rng.normal(size=d)).astype(dtype)
    centers = np.stack([near, points[1], *MORE_KINDS[kind](rng, (2, d)).astype(dtype)])
    metric, _ = bind("euclidean", points, 1.0)
    for some in (centers, centers[1:]):  # the first of them is never whole
        for mean in (np.zeros(d), points.mean(axis=0, dtype=np.float64)):
            bounds = bounds_of(points, Quantized(points, metric, mean), some)
            squared = np.square(points.astype(np.longdouble) - some[:, None]).sum(axis=2)
            assert (bounds <= squared).all()
            typical = float(np.median(squared))
            loose = kind in ("far away", "of one sign") and not mean.any()
            assert loose or np.median(squared - bounds) < 0.2 * typical


def compared(points, metric, strategy, centers, n_threads=1):
    nearest = Nearest.empty(points)
    with Workers(n_threads) as workers:
        counts = strategy.update(nearest, centers, 0, workers)
    return nearest, counts


def check_giving_way(made, points, metric, monkeypatch):
    """Check that strategies, each newly ``made``, give way where others are ready, and change no
    label whether they do or not.
    """
    centers = points[:300].copy()
    brute, _ = compared(points, metric, BruteForce(points, metric), centers)
    monkeypatch.setattr(compile_policy, "waiting", lambda *_: 0.0)
    strategy = made()
    found, counts = compared(points, metric, strategy, centers, 2)
    assert not strategy._is_useful
    monkeypatch.setattr(compile_policy, "waiting", lambda *_: 1.0)  # no kernels to give way to
    kept = made()
    same, more = compared(points, metric, kept, centers, 2)
    assert kept._is_useful
    assert counts.exact < 0.5 * more.exact
    assert more.exact > costs.USELESS[kept.name] * len(points) * len(centers)
    for one in (found, same):
        np.testing.assert_array_equal(one.labels, brute.labels)
        np.testing.assert_array_equal(one.squared, brute.squared)


@both_types
def test_rows_whose_steps_are_too_coarse_are_left_to_products_of_numbers(dtype, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 40)).astype(dtype)
    X[:, 5] = 500.0 * np.rint(X[:, 5])  # few values, so that the other columns decide
    prepared = prepare_points(X, "euclidean")
    points, metric = prepared.points, prepared.metric
    mean = points.mean(axis=0, dtype=np.float64)
    check_giving_way(lambda: Quantized(points, metric, mean), points, metric, monkeypatch)


def test_steps_that_are_fine_enough_leave_a_centre_or_two():
    X = np.random.default_rng(0).normal(size=(5000, 100)).astype(np.float32)
    prepared = prepare_points(X, "euclidean")
    strategy = Quantized(prepared.points, prepared.metric, np.zeros(100))
    _, counts = compared(prepared.points, prepared.metric, strategy, prepared.points[:500].copy())
    assert 5000 <= counts.exact < 2 * 5000
    assert strategy._is_useful


def test_whole_numbers_of_few_steps_are_never_in_doubt():
    X = np.random.default_rng(0).integers(-60, 60, size=(2000, 20)).astype(np.float32)
    for scale, doubted in ((1.0, False), (0.7, True)):
        prepared = prepare_points(X * np.float32(scale), "euclidean")
        points, metric = prepared.points, prepared.metric
        centers, mean = points[:40].copy(), points.mean(axis=0, dtype=np.float64)
        found, counts = compared(points, metric, Quantized(points, metric, mean), centers)
        brute, _ = compared(points, metric, BruteForce(points, metric), centers)
        assert (counts.exact > 0) == doubted
        np.testing.assert_array_equal(found.labels, brute.labels)
        np.testing.assert_array_equal(found.squared, brute.squared)


@pytest.mark.parametrize("most", [100, 999])
@both_types
def test_kept_rows_are_about_the_mean_of_every_batch(dtype, most):
    rng = np.random.default_rng(most)
    X = rng.integers(0, most, size=(3000, 20)).astype(dtype)
    prepared = prepare_points(X, "euclidean")
    points, metric = prepared.points, prepared.metric
    mean = points.mean(axis=0, dtype=np.float64)
    off = np.sign(np.rint(mean) - mean).astype(dtype)  # where another mean would do most harm
    beside = [X[200:220] + side * off for side in (30.25, -30.5, 30.5, -30.25)]
    kept, alone = Quantized(points, metric, mean, keeps=True), BruteForce(points, metric)
    states = [Nearest.empty(points), Nearest.empty(points)]
    # Rows, then others that are not whole, then rows again.
    batches = [X[:40], np.concatenate(beside).astype(dtype), X[120:300], X[300:301] + dtype(0.5)]
    with Workers(2) as workers:
        for batch in batches:
            for state, strategy in zip(states, (kept, alone), strict=True):
                strategy.update(state, read_only(batch), state.n_compared, workers)
                state.n_compared += len(batch)
            np.testing.assert_array_equal(states[0].labels, states[1].labels)
            np.testing.assert_array_equal(states[0].squared, states[1].squared)


@both_types
def test_rows_that_are_not_whole_have_fine_steps_beside_whole_centres(dtype):
    X = np.random.default_rng(0).normal(size=(3000, 40)).astype(dtype)
    prepared = prepare_points(X, "euclidean")
    points, metric = prepared.points, prepared.metric
    centers = np.random.default_rng(1).integers(-2, 3, size=(300, 40)).astype(dtype)
    strategy = Quantized(points, metric, np.zeros(40), keeps=True)
    brute, _ = compared(points, metric, BruteForce(points, metric), centers)
    for _ in range(2):
        found, counts = compared(points, metric, strategy, centers)
        assert counts.exact < 3 * len(points)
        np.testing.assert_array_equal(found.labels, brute.labels)
        np.testing.assert_array_equal(found.squared, brute.squared)


def test_large_numbers_in_double_precision_warn_of_nothing():
    points = 1e25 * np.random.default_rng(0).normal(size=(2000, 32))
    metric, _ = bind("euclidean", points, 1.0)
    found, _ = compared(points, metric, Quantized(points, metric, np.zeros(32)), points[:200])
    brute, _ = compared(points, metric, BruteForce(points, metric), points[:200])
    np.testing.assert_array_equal(found.labels, brute.labels)


@pytest.mark.parametrize("variable", ["NUMBA_ENABLE_AVX=0", "NUMBA_CPU_NAME=generic"])
def test_kernels_for_other_machines_do_without_the_instruction(variable):
    name, _, value = variable.partition("=")
    code = """
import numpy as np
from kseeds import assign
from kseeds.runtime import registers
from kseeds.nearest.choice import Job
from kseeds.nearest.state import Nearest
from kseeds.nearest.update import NearestUpdater
from kseeds.inputs import prepare_points
from kseeds.runtime.threads import Workers
X = np.random.default_rng(0).normal(size=(500, 20)).astype(np.float32)
prepared, nearest = prepare_points(X, "euclidean"), Nearest.empty(X)
with Workers(1) as workers:
    job = Job(prepared.points, prepared.metric, workers, 20)
    NearestUpdater(job, "quantized").update(nearest, prepared.points[:20], 0)
print(registers.MULTIPLY_BYTES, (nearest.labels == assign(X, X[:20]).labels).all())
"""
    assert run(code, seconds=200, **{name: value}).stdout.split() == ["False", "True"]


@pytest.mark.parametrize("scale", [1e-300, 1e-40, 1e-20, 1e17, 1e150])
def test_numbers_beyond_single_precision_are_compared_all_the_same(scale):
    rng = np.random.default_rng(0)
    points = scale * rng.normal(size=(200, 20))
    metric, _ = bind("euclidean", points, 1.0)
    with np.errstate(all="ignore"):
        centers = np.concatenate([points[:30], scale * rng.normal(size=(3, 20))])
        found, _ = compared(points, metric, Quantized(points, metric, np.zeros(20)), centers)
        brute, _ = compared(points, metric, BruteForce(points, metric), centers)
    np.testing.assert_array_equal(found.squared, brute.squared)
    np.testing.assert_array_equal(found.labels, brute.labels)
