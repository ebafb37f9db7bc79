"""The public structures: `VPTree` finds what brute force finds, `ClockQueue` pops the least key."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kseeds import ClockQueue, VPTree
from kseeds.distances.reference import squared_distances
from kseeds.inputs import prepare_points
from tests.data import METRICS, ODDITIES, OF_ANY_COLUMNS, fit_for, points_of

SETTINGS = settings(max_examples=80, deadline=None, derandomize=True)
X = np.random.default_rng(0).normal(size=(10, 3))
NAN = X.copy()
NAN[4, 2] = np.nan


@SETTINGS
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 7.0, np.inf]), min_size=1), st.data())
def test_queue_pops_like_an_argmin_while_keys_grow(start, data):
    keys = np.array(start)
    queue = ClockQueue(keys)
    alive = np.ones(len(keys), dtype=bool)
    while len(queue):
        for item in data.draw(st.lists(st.integers(0, len(keys) - 1), max_size=4)):
            queue.keys[item] += data.draw(st.sampled_from([0.0, 0.25, 3.0]))
        waiting = np.flatnonzero(alive)
        wanted = int(waiting[np.argmin(queue.keys[waiting])])
        before = len(queue)
        assert queue.pop() == wanted
        assert 1 <= queue.examined <= before
        alive[wanted] = False
    assert not alive.any()


def test_a_clean_queue_examines_one_item():
    queue = ClockQueue(np.random.default_rng(0).random(1000))
    for _ in range(1000):
        queue.pop()
        assert queue.examined == 1


@SETTINGS
@given(
    st.sampled_from(METRICS),
    st.sampled_from(ODDITIES),
    st.integers(1, 70),
    st.sampled_from([1, 2, 3, 18]),
    st.integers(1, 9),
    st.sampled_from([np.float32, np.float64]),
    st.integers(0, 2**31),
)
def test_tree_equals_brute_force(metric, kind, m, d, leaf_size, dtype, seed):
    X = fit_for(metric, points_of(kind, m + 20, d, seed)).astype(dtype)
    items, queries = X[:m], X[m // 2 :]
    tree = VPTree(items, metric=metric, leaf_size=leaf_size)
    prepared = prepare_points(X, metric)
    table = np.stack([
        squared_distances(prepared.points[m // 2 :], center, prepared.metric.family)
        for center in prepared.points[:m]
    ])  # fmt: skip
    nearest = np.sqrt(table.min(axis=0).astype(np.float64))
    indices, distances = tree.nearest_in_range(queries)
    np.testing.assert_array_equal(indices, table.argmin(axis=0))
    np.testing.assert_allclose(distances, nearest * prepared.metric.scale, rtol=1e-6)
    radius = float(np.median(nearest)) * 0.999
    indices, distances = tree.nearest_in_range(queries, radius * prepared.metric.scale)
    inside = nearest <= radius
    np.testing.assert_array_equal(indices[inside], table.argmin(axis=0)[inside])
    assert (indices[~inside & (nearest > radius * 1.001)] == -1).all()
    assert np.isinf(distances[indices == -1]).all()


def test_the_radius_itself_is_in_range():
    tree = VPTree([[0.0], [3.0]])
    assert tree.nearest_in_range([[5.0]], 2.0)[0].tolist() == [1]
    assert tree.nearest_in_range([[5.0]], 1.999)[0].tolist() == [-1]
    assert tree.nearest_in_range([[3.0]], 0.0)[0].tolist() == [1]


def test_a_small_radius_prunes_the_tree():
    items = np.random.default_rng(0).normal(size=(2000, 2))
    queries = np.random.default_rng(1).normal(size=(500, 2))
    near, far = VPTree(items), VPTree(items)
    near.nearest_in_range(queries, 1e-3)
    far.nearest_in_range(queries)
    assert len(near) == 2000
    assert near.nodes_visited < 0.8 * far.nodes_visited
    assert near.distance_computations < far.distance_computations < 0.05 * 2000 * 500


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", OF_ANY_COLUMNS)
@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_what_lies_at_the_radius_is_in_range(metric, dtype, scale):
    rng = np.random.default_rng(0)
    items, queries = (rng.normal(size=(2, 400, 3)) * scale).astype(dtype)
    tree = VPTree(items, metric=metric)
    labels, distances = tree.nearest_in_range(queries)
    again, at_radius = tree.nearest_in_range(queries, distances)
    np.testing.assert_array_equal(again, labels)
    np.testing.assert_array_equal(at_radius, distances)
    below = np.nextafter(distances, dtype(0)).astype(np.float64)
    assert (tree.nearest_in_range(queries, below)[0] == -1).all()


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        (lambda: VPTree(X, leaf_size=0), ValueError, r"leaf_size=0"),
        (lambda: VPTree(NAN), ValueError, r"points has nan at row 4"),
        (lambda: VPTree(X).nearest_in_range(X[:, :1]), ValueError, r"queries has 1 columns"),
        (lambda: VPTree(X).nearest_in_range(X, [1.0]), ValueError, r"radii has shape \(1,\)"),
        (lambda: VPTree(X).nearest_in_range(X, -1.0), ValueError, r"radii has -1\.0 at position 0"),
        (lambda: VPTree(X).nearest_in_range(X, "far"), TypeError, r"radii is a str"),
        (lambda: VPTree(X).nearest_in_range(X, ["1"] * 10), TypeError, r"radii has dtype <U1"),
        (lambda: ClockQueue(["a"]), TypeError, r"keys has dtype <U1, which is not numeric"),
        (lambda: ClockQueue([[1.0]]), ValueError, r"keys has 2 dimensions"),
        (lambda: ClockQueue([1.0, np.nan]), ValueError, r"keys has NaN at position 1"),
        (lambda: ClockQueue([]).pop(), IndexError, r"pop from an empty ClockQueue"),
    ],
)
def test_refusals_name_the_argument_and_the_value(action, error, message):
    with pytest.raises(error, match=message):
        action()


def test_a_tree_owns_its_points():
    items = np.array([[0.0], [2e-170], [1.0]])
    tree = VPTree(items)
    before = tree.nearest_in_range([[1.9e-170]])[0].tolist()
    items[:2] = items[:2][::-1].copy()
    assert tree.nearest_in_range([[1.9e-170]])[0].tolist() == before == [1]
