"""The pieces on their own: queue, tree, distances, pruning slack."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kseeds import ClockQueue, VPTree
from kseeds.distances.metrics import Family, prune_limits
from kseeds.distances.reference import squared_distances
from kseeds.inputs import prepare_points
from tests.data import METRICS, NORMS, ODDITIES, PLACES, fit_for, points_of

SETTINGS = settings(max_examples=80, deadline=None, derandomize=True)


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


@SETTINGS
@given(
    st.sampled_from(METRICS),
    st.sampled_from([1, 2, 7, 40]),
    st.sampled_from([np.float32, np.float64]),
    st.integers(0, 2**31),
)
def test_slack_covers_rounding_right_at_the_bound(metric, d, dtype, seed):
    """Points placed within a few ulps of half way: a pruned point must not have improved.

    Half way between two centres γ = 2α holds with equality; rounding decides the rest, and
    without slack the rule prunes points whose computed distance to the new centre is smaller.
    """
    rng = np.random.default_rng(seed)
    if metric in NORMS and seed % 2:
        # Exactly half way, give or take an ulp in a coordinate: less than what sums lose.
        a = np.zeros((300, d))
        b = rng.normal(size=(300, d)).astype(dtype)
        x = b / dtype(2.0)
        nudged = np.nextafter(x, b if seed % 4 == 1 else a.astype(dtype))
        x = np.where(rng.random(x.shape) < 0.2, nudged, x)
        b = b.astype(np.float64)
    elif metric not in NORMS:
        a = rng.uniform(0.2, 1.2, size=(300, 2 if metric in PLACES else d + 1))
    else:
        a = rng.normal(size=(300, d))
    if a.any():
        b = a + rng.normal(size=a.shape) * 1e-3
        x = (a + b) / 2
        x = np.nextafter(x.astype(dtype), rng.choice([-9, 9], size=x.shape).astype(dtype))
    everything = np.concatenate([a, b, x]).astype(dtype)
    prepared = prepare_points(everything, metric)
    a, b, x = prepared.points[:300], prepared.points[300:600], prepared.points[600:]
    family = prepared.metric.family

    def row_by_row(u, v):
        return np.concatenate([squared_distances(u[i : i + 1], v[i], family) for i in range(300)])

    alpha2 = row_by_row(x, a)
    pruned = alpha2 <= prune_limits(prepared.metric, row_by_row(a, b))
    assert not (row_by_row(x, b)[pruned] < alpha2[pruned]).any()
