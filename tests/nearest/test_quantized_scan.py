"""Products of bytes of projections: they rule out nothing that is nearer, and give way, too."""

from __future__ import annotations

import numpy as np
import pytest

from kseeds.distances.metrics import bind
from kseeds.inputs import prepare_points
from kseeds.nearest.brute_force import BruteForce
from kseeds.nearest.projection import Components, principal_components
from kseeds.nearest.quantized import Quantized
from kseeds.nearest.quantized_kernels import of_row, workspace
from kseeds.nearest.quantized_scan import QuantizedScan
from kseeds.nearest.state import Nearest
from kseeds.nearest.steps_kernels import OFFSET
from kseeds.runtime.aligned import read_only
from kseeds.runtime.block_sizes import COLUMNS, column_order
from kseeds.runtime.threads import Workers
from tests.nearest.test_quantized import MORE_KINDS, check_giving_way, compared
from tests.nearest.test_quantized import bounds_of as bounds_of_steps
from tests.simd.test_byte_products import BYTE_PRODUCTS
from tests.simd.test_interpreted_twins import both_types


def scan_of(points, components, metric=None):
    metric = metric or bind("euclidean", points, 1.0)[0]
    with Workers(1) as workers:
        return QuantizedScan(read_only(points), metric, workers, components)


def bounds_of(strategy, centers):
    """Return the lower bounds of the squared distances of the first 64 rows."""
    factors, steps = strategy._products(centers), strategy._projections
    _, found = workspace(np.empty((0, 16), np.float32), len(factors.added))
    BYTE_PRODUCTS(
        steps.words[0], factors.words, factors.starts, steps.scales[0], factors.slopes,
        factors.added, found.table, found.fours, found.least, found.at,
    )  # fmt: skip
    norms = steps.norms[0].astype(np.float64)
    added = [of_row(factors, norm, left) for norm, left in zip(norms, steps.errors[0], strict=True)]
    return norms + found.table[: len(centers)] - np.array(added)


@pytest.mark.parametrize("kind", MORE_KINDS)
@pytest.mark.parametrize("d", [16, 300])
@both_types
def test_projections_err_by_no_more_than_they_say(dtype, d, kind):
    rng = np.random.default_rng(d)
    whole = MORE_KINDS[kind](rng, (COLUMNS, d)).astype(dtype)
    for rows in (whole, whole[:, :1] * rng.normal(size=d).astype(dtype)):  # or all on a line
        components = principal_components(rows).leading(15)
        found = scan_of(rows, components)._projected(rows)
        about = rows.astype(np.longdouble) - components.mean.astype(dtype)
        along = about @ components.directions.astype(np.longdouble)
        norms = np.square(about).sum(axis=1)
        left = np.sqrt(np.maximum(norms - np.square(along).sum(axis=1), 0.0))
        apart = np.square(along - found.along[:, :-1]).sum(axis=1)
        apart = np.sqrt(apart + np.square(left - found.along[:, -1]))
        assert (apart <= found.missed).all()
        assert (found.missed <= 0.02 * np.sqrt(norms)).all()
        assert apart.max() > 0.0


@pytest.mark.parametrize("kind", MORE_KINDS)
@pytest.mark.parametrize("d", [16, 40, 300])
@both_types
def test_bounds_are_lower_bounds_of_the_squared_distance(dtype, d, kind):
    rng = np.random.default_rng(d)
    points = MORE_KINDS[kind](rng, (COLUMNS, d)).astype(dtype)
    near = points[0] + (1e-3 * rng.normal(size=d)).astype(dtype)
    centers = np.stack([near, points[1], *MORE_KINDS[kind](rng, (2, d)).astype(dtype)])
    # Of all directions, those of the data, and of a part of space in which all of it lies.
    flat = points @ np.linalg.qr(rng.normal(size=(d, 12)))[0].astype(dtype)
    flat = (flat @ rng.normal(size=(12, d))).astype(dtype)
    for rows, others in ((points, centers), (flat, flat[:4])):
        squared = np.square(rows.astype(np.longdouble) - others[:, None]).sum(axis=2)
        for count in (1, 15):
            components = principal_components(rows).leading(count)
            for mean in (np.zeros(d), components.mean):
                some = Components(mean, components.directions, components.shares)
                bounds = bounds_of(scan_of(rows, some), others)
                assert (bounds <= squared).all()
                if count == 15 and rows is flat and mean is components.mean:
                    assert np.median(squared - bounds) < 0.3 * np.median(squared)


def hardest(rng, d, r, dtype):
    """Return rows and centres of which steps leave out most, in directions of each other.

    A row has one coordinate of 127 steps and others of half a step; a centre has the signs of
    these, so that it is whole in steps and only what is left of the row decides.
    """
    rows = np.zeros((COLUMNS, d))
    rows[:, 0] = 127.0
    rows[:, 1:r] = 0.499 * rng.choice([-1, 1], size=(COLUMNS, r - 1))
    rows *= 10.0 ** rng.uniform(-6, 6, (COLUMNS, 1))
    centers = np.sign(rows[:6])
    centers[:, 0] = 0.0
    centers *= np.linalg.norm(rows[:6], axis=1)[:, None] / np.sqrt(r - 1)
    centers = np.concatenate([centers, rows[:3]])  # and the other way round
    rows[40:46] = centers[:6]
    return rows.astype(dtype), centers.astype(dtype)


@pytest.mark.parametrize("d", [16, 40, 300])
@both_types
def test_bounds_allow_for_all_that_steps_leave_out(dtype, d):
    r = {16: 15, 40: 31, 300: 63}[d]
    rows, centers = hardest(np.random.default_rng(0), d, r, dtype)
    components = Components(np.zeros(d), np.eye(d)[:, :r], np.ones(r) / r)
    squared = np.square(rows.astype(np.longdouble) - centers[:, None]).sum(axis=2)
    assert (bounds_of(scan_of(rows, components), centers) <= squared).all()
    quantized = Quantized(read_only(rows), bind("euclidean", rows, 1.0)[0], np.zeros(d))
    assert (bounds_of_steps(rows, quantized, centers) <= squared).all()


@both_types
def test_what_is_left_out_of_projections_counts_their_own_error(dtype):
    rows = np.random.default_rng(0).normal(size=(COLUMNS, 300)).astype(dtype)
    components = principal_components(rows).leading(15)
    scan = scan_of(rows, components)
    steps, missed = scan._projections, scan._projected(rows).missed
    words = steps.words[0].view(np.uint8).reshape(4, COLUMNS, 4)
    whole = (words.swapaxes(1, 2).reshape(16, COLUMNS).astype(np.float64) - OFFSET) * steps.scales[
        0
    ]
    whole = whole[np.argsort(column_order(16))].T
    left = np.linalg.norm(scan._projected(rows).along.astype(np.float64) - whole, axis=1)
    # Computed in single precision, which the bounds allow for elsewhere.
    assert (np.sqrt(steps.errors[0]) >= 0.9999 * (left + missed)).all()
    assert (np.sqrt(steps.errors[0]) <= 1.001 * (left + missed)).all()


@pytest.mark.parametrize("scale", [1e-300, 1e-40, 1e-20, 1e-14, 1e17, 1e150])
def test_numbers_beyond_single_precision_are_compared_all_the_same(scale):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(400, 40))
    points[100:300] *= scale  # beside others that are not beyond it, and alone
    points[:8] = 0.0
    for rows in (points, points[100:300].copy()):
        metric, _ = bind("euclidean", rows, 1.0)
        components = principal_components(np.random.default_rng(1).normal(size=(99, 40)))
        some = Components(np.zeros(40), components.directions, components.shares).leading(15)
        with np.errstate(all="ignore"):
            centers = np.concatenate([rows[:130], scale * rng.normal(size=(3, 40)), rows[:1] * 0.0])
            found, _ = compared(rows, metric, scan_of(rows, some, metric), centers)
            brute, _ = compared(rows, metric, BruteForce(rows, metric), centers)
        np.testing.assert_array_equal(found.squared, brute.squared)
        np.testing.assert_array_equal(found.labels, brute.labels)


@both_types
def test_where_projections_rule_out_nothing_all_columns_do(dtype, monkeypatch):
    X = np.random.default_rng(0).normal(size=(20_000, 100)).astype(dtype)
    prepared = prepare_points(X, "euclidean")
    points, metric = prepared.points, prepared.metric
    components = principal_components(points).leading(15)
    check_giving_way(lambda: scan_of(points, components, metric), points, metric, monkeypatch)


@both_types
def test_little_is_left_where_the_data_is_flat(dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 12)) @ rng.normal(size=(12, 300))
    X += 0.1 * rng.normal(size=X.shape)
    prepared = prepare_points(X.astype(dtype), "euclidean")
    points, metric = prepared.points, prepared.metric
    strategy = scan_of(points, principal_components(points).leading(15), metric)
    with Workers(2) as workers:
        states = [Nearest.empty(points) for _ in range(2)]
        for first in range(0, 600, 200):  # steps of rows stay for all batches
            batch = read_only(points[first : first + 200])
            for state, one in zip(states, (strategy, BruteForce(points, metric)), strict=True):
                counts = one.update(state, batch, first, workers)
                state.n_compared, state.compared_by_row = first + len(batch), None
                if one is strategy:
                    assert counts.exact < 0.05 * 200 * 5000
    np.testing.assert_array_equal(states[0].labels, states[1].labels)
    np.testing.assert_array_equal(states[0].squared, states[1].squared)
