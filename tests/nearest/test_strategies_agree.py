"""Every strategy of comparing rows with centres equals brute force, label for label."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kseeds import assign, kmeans_parallel
from kseeds.distances.reference import squared_distances
from kseeds.inputs import prepare_points
from kseeds.nearest.choice import STRATEGIES, Job, choose
from kseeds.nearest.state import Nearest
from kseeds.nearest.update import NearestUpdater
from kseeds.runtime.threads import Workers
from tests.data import METRICS, NOT_EUCLIDEAN, ODDITIES, fit_for, points_of

SETTINGS = settings(max_examples=120, deadline=None, derandomize=True)
COMPILED = [strategy for strategy in STRATEGIES if strategy != "plain"]
PRUNING = [strategy for strategy in COMPILED if strategy != "brute"]


def run(prepared, centers, batches, strategy, n_threads=1):
    """Compare the rows with the centres in batches; return the state and the distances computed."""
    nearest, computed = Nearest.empty(prepared.points), 0
    with Workers(n_threads) as workers:
        job = Job(prepared.points, prepared.metric, workers, len(centers))
        updater, first = NearestUpdater(job, strategy), 0
        for stop in batches:
            computed += updater.update(nearest, centers[first:stop], first).distances
            first = stop
    return nearest, computed


@SETTINGS
@given(
    st.sampled_from(ODDITIES),
    st.sampled_from([1, 63, 64, 65, 300, 1500]),
    st.sampled_from([1, 2, 3, 8, 15, 16, 33]),
    st.sampled_from([1, 2, 64, 65, 200]),
    st.sampled_from([np.float32, np.float64]),
    st.integers(0, 2**31),
)
def test_every_strategy_equals_brute_force(kind, n, d, m, dtype, seed):
    X = points_of(kind, n + m, d, seed).astype(dtype)
    rng = np.random.default_rng(seed)
    prepared = prepare_points(X[:n], "euclidean")
    own = prepared.points[rng.integers(0, n, size=m)]
    centers = np.where(rng.random((m, 1)) < 0.5, own, X[n:] * dtype(prepared.factor))
    centers = np.ascontiguousarray(centers)
    batches = sorted({int(b) for b in rng.integers(1, m + 1, size=3)} | {m})
    brute, pairs = run(prepared, centers, batches, "brute")
    plain, _ = run(prepared, centers, batches, "plain")
    for strategy in PRUNING:
        tree, fewer = run(prepared, centers, batches, strategy)
        np.testing.assert_array_equal(tree.squared, brute.squared)
        np.testing.assert_array_equal(tree.labels, brute.labels)
        between_centres = m * m.bit_length() if strategy == "vantage" else 0
        assert fewer <= pairs + between_centres
    np.testing.assert_array_equal(plain.squared, brute.squared)
    np.testing.assert_array_equal(plain.labels, brute.labels)
    assert pairs == n * m
    table = np.stack([squared_distances(prepared.points, c, prepared.metric.kind) for c in centers])
    found = table[brute.labels, np.arange(n)]  # another order of summation: up to rounding
    np.testing.assert_allclose(found, table.min(axis=0), rtol=1e-5, atol=0)


def hop(a, b):
    return float(abs(a[0] - b[0]) ** 1.5)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("metric", [*METRICS, hop])
def test_every_metric_has_every_strategy_or_falls_back(metric, strategy):
    X = points_of("random", 300, 3, 0)
    X = X if callable(metric) else fit_for(metric, X)
    prepared = prepare_points(X, metric)
    centers = np.ascontiguousarray(prepared.points[:40])
    found, _ = run(prepared, centers, [7, 40], strategy)
    table = np.stack([squared_distances(prepared.points, c, prepared.metric.kind) for c in centers])
    np.testing.assert_array_equal(found.labels, table.argmin(axis=0))
    np.testing.assert_allclose(found.squared, table.min(axis=0), rtol=1e-12)


@pytest.mark.parametrize("strategy", COMPILED)
def test_threads_change_no_label_of_a_strategy(strategy):
    prepared = prepare_points(points_of("clustered", 30_000, 3, 0).astype(np.float32), "euclidean")
    centers = np.ascontiguousarray(prepared.points[::100])
    one, computed = run(prepared, centers, [40, 300], strategy, 1)
    many, again = run(prepared, centers, [40, 300], strategy, 4)
    np.testing.assert_array_equal(one.labels, many.labels)
    np.testing.assert_array_equal(one.squared, many.squared)
    assert computed == again


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_centres_within_ulps_of_the_bounds_are_not_pruned_wrongly(dtype):
    """Centres on the faces of boxes and at equal distances of rows, moved by a few ulps."""
    grid = np.stack(np.meshgrid(*[np.arange(12.0)] * 3), axis=-1).reshape(-1, 3).astype(dtype)
    rng = np.random.default_rng(0)
    middles = grid[rng.integers(0, len(grid), 400)] + dtype(0.5)
    nudged = np.nextafter(middles, rng.choice([-99, 99], size=middles.shape).astype(dtype))
    prepared = prepare_points(grid * dtype(1.1), "euclidean")
    centers = np.ascontiguousarray(np.concatenate([middles, nudged]) * dtype(1.1))
    brute, _ = run(prepared, centers, [400, 800], "brute")
    for strategy in PRUNING:
        tree, _ = run(prepared, centers, [400, 800], strategy)
        np.testing.assert_array_equal(tree.labels, brute.labels)
        np.testing.assert_array_equal(tree.squared, brute.squared)


@pytest.mark.parametrize(
    "strategy",
    ["plain", "projected_tree", "projected_scan", "gemm", "quantized", "quantized_scan"],
)
def test_gemm_and_projections_that_lose_all_digits_are_rechecked(strategy):
    """Two far groups: norms of 10⁶ drown distances of 10⁻³ in float32."""
    rng = np.random.default_rng(0)
    side = np.where(rng.random((500, 1)) < 0.5, 1000.0, -1000.0)
    X = (side + 1e-3 * rng.normal(size=(500, 20))).astype(np.float32)
    prepared = prepare_points(X, "euclidean")
    centers = np.ascontiguousarray(prepared.points[:120])
    brute, _ = run(prepared, centers, [50, 120], "brute")
    other, _ = run(prepared, centers, [50, 120], strategy)
    np.testing.assert_array_equal(other.labels, brute.labels)
    np.testing.assert_array_equal(other.squared, brute.squared)


@pytest.mark.parametrize("strategy", ["projected_tree", "projected_scan", "quantized_scan"])
def test_projections_whose_rounding_is_as_large_as_distances_prune_nothing_wrongly(strategy):
    """Three axes hold all there is, so that nothing but the slack makes up for rounding."""
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(60, 3)))[0]
    side = np.where(rng.random((2000, 1)) < 0.5, 3000.0, -3000.0)
    X = ((side * [1.0, 0.0, 0.0] + 3e-3 * rng.normal(size=(2000, 3))) @ axes.T).astype(np.float32)
    prepared = prepare_points(X, "euclidean")
    centers = np.ascontiguousarray(prepared.points[:400])
    brute, _ = run(prepared, centers, [150, 400], "brute")
    other, _ = run(prepared, centers, [150, 400], strategy)
    np.testing.assert_array_equal(other.labels, brute.labels)
    np.testing.assert_array_equal(other.squared, brute.squared)


@pytest.mark.parametrize("distinct", [1, 2, 40])
@pytest.mark.parametrize("strategy", PRUNING)
def test_many_equal_rows_get_the_labels_of_brute_force(strategy, distinct):
    """Parts of the forest are left empty, medians are ties, boxes are points."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(distinct, 3)).astype(np.float32)[rng.integers(0, distinct, 9000)]
    prepared = prepare_points(X, "euclidean")
    centers = np.ascontiguousarray(np.concatenate([X[:30], X[:30] + np.float32(0.25)]))
    brute, _ = run(prepared, centers, [20, 60], "brute")
    other, _ = run(prepared, centers, [20, 60], strategy)
    np.testing.assert_array_equal(other.labels, brute.labels)
    np.testing.assert_array_equal(other.squared, brute.squared)


@pytest.mark.parametrize("strategy", ["tree", "projected_tree"])
def test_a_tree_whose_rows_others_have_changed_stays_right(strategy):
    """What a tree keeps of its rows is then too large, which must not matter; another state
    has nothing to do with what it keeps.
    """
    prepared = prepare_points(points_of("clustered", 40_000, 4, 0).astype(np.float32), "euclidean")
    centers = np.ascontiguousarray(prepared.points[::100])
    brute, _ = run(prepared, centers, [100, 250, 400], "brute")
    with Workers(2) as workers:
        job = Job(prepared.points, prepared.metric, workers, 400)
        trees, plainly = NearestUpdater(job, strategy), NearestUpdater(job, "brute")
        for _ in range(2):
            nearest = Nearest.empty(prepared.points)
            trees.update(nearest, centers[:100], 0)
            plainly.update(nearest, centers[100:250], 100)
            own = np.arange(0, 40_000, 100)[250:]
            nearest.squared[own], nearest.labels[own] = 0.0, np.arange(250, 400)
            trees.update(nearest, centers[250:], 250)
            np.testing.assert_array_equal(nearest.labels, brute.labels)
            np.testing.assert_array_equal(nearest.squared, brute.squared)


@pytest.mark.parametrize("metric", NOT_EUCLIDEAN)
def test_other_metrics_are_pruned_by_default(metric):
    X = fit_for(metric, points_of("clustered", 3000, 2, 0))
    labels, _ = assign(X, X[::10], metric=metric)
    prepared = prepare_points(X, metric)
    centers = np.ascontiguousarray(prepared.points[::10])
    brute, pairs = run(prepared, centers, [300], "brute")
    chosen, fewer = run(prepared, centers, [300], None)
    np.testing.assert_array_equal(labels, brute.labels)
    np.testing.assert_array_equal(chosen.labels, brute.labels)
    np.testing.assert_array_equal(chosen.squared, brute.squared)
    assert fewer < 0.5 * pairs


def test_the_tree_saves_nine_distances_of_ten():
    prepared = prepare_points(points_of("clustered", 20_000, 2, 0), "euclidean")
    centers = np.ascontiguousarray(prepared.points[::40])
    _, computed = run(prepared, centers, [500], "tree")
    assert computed < 0.1 * 20_000 * 500


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_candidates_do_not_depend_on_the_strategy(strategy):
    X = points_of("clustered", 4000, 3, 0)
    naive = kmeans_parallel(X, 20, random_state=0, algorithm="naive")
    fast = kmeans_parallel(X, 20, random_state=0, algorithm="fast", strategy=strategy)
    brute = kmeans_parallel(X, 20, random_state=0, algorithm="fast", strategy="brute")
    assert fast.work.candidates == naive.work.candidates
    assert fast.indices.tolist() == brute.indices.tolist()
    assert fast.work.distances <= naive.work.distances


def test_the_strategy_is_chosen_where_it_pays():
    few = prepare_points(np.zeros((100_000, 3), dtype=np.float32), "euclidean")
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(10_000, 3)) @ rng.normal(size=(3, 40))
    many = prepare_points(flat.astype(np.float32), "euclidean")
    other = prepare_points(np.zeros((10_000, 40), dtype=np.float32), "manhattan")
    assert choose(Job(few.points, few.metric, Workers(1), 5000)) == "tree"
    assert choose(Job(few.points, few.metric, Workers(1), 1e5)) == "tree"
    assert choose(Job(many.points, many.metric, Workers(1), 1e5)) == "projected_tree"
    assert choose(Job(other.points, other.metric, Workers(1), 1e5)) == "vantage"
    assert choose(Job(other.points, other.metric, Workers(1), 30)) == "brute"
    assert choose(Job(few.points, few.metric, Workers(1), 8)) == "brute"
    assert choose(Job(few.points, few.metric, Workers(1), 200)) == "gemm"
    function = prepare_points(np.zeros((9, 3)), lambda a, b: 0.0)
    assert choose(Job(function.points, function.metric, Workers(1), 1e9)) == "plain"
