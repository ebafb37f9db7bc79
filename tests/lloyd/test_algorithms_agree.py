"""Every algorithm equals the naive one, iteration by iteration, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kseeds import FewerDistinctPointsWarning, kmeans, kmeans_plusplus
from kseeds.inputs import prepare_points
from kseeds.lloyd import base, bounds, bounds_kernels, choice, costs
from kseeds.lloyd.choice import ALGORITHMS, Job, build
from kseeds.lloyd.columns import columns_of
from kseeds.lloyd.iteration import Means
from kseeds.lloyd.naive import Naive
from kseeds.lloyd.sums import ExactSums
from kseeds.nearest import choice as nearest_choice
from kseeds.nearest import update
from kseeds.nearest.update import NearestUpdater
from kseeds.runtime import registers
from kseeds.runtime.threads import Workers
from tests.data import ODDITIES, points_of

FAST = tuple(name for name in ALGORITHMS if name != "naive")
KINDS = (*ODDITIES, "gridded", "one far away")


def rows_of(kind, n, d, seed, dtype):
    if kind == "gridded":
        X = np.random.default_rng(seed).integers(0, 5, (n, d)) * 0.25
    elif kind == "one far away":
        X = points_of("random", n, d, seed)
        X[n // 2] *= 1e6
    else:
        X = points_of(kind, n, d, seed)
    return X.astype(dtype)


class Side:
    """One algorithm with its sums."""

    def __init__(self, X, weights, k, algorithm, metric, workers):
        prepared = prepare_points(X, metric)
        points = prepared.points
        self.sums = ExactSums.of_all(
            points, weights, columns_of(points, workers).largest, k, workers
        )
        self.means = Means(self.sums, weights, prepared.metric.is_embedded)
        self.points = points
        job = Job(points, prepared.metric, workers, k, 20)
        if algorithm == "naive":
            self.assigner = Naive(points, prepared.metric)
        else:
            self.assigner = build(job, algorithm)

    def step(self, centers):
        changed = self.assigner.assign(centers, self.sums)
        return changed, self.assigner.nearest(centers), self.means.after(centers, self.assigner)


def compare(X, weights, k, algorithm, metric, iterations, adopted=False, threads=2):
    """Assert that labels, distances and centres agree after each iteration."""
    with Workers(threads) as workers:
        naive, other = (Side(X, weights, k, name, metric, workers) for name in ("naive", algorithm))
        rng = np.random.default_rng(0)
        centers = naive.points[rng.choice(len(X), k, replace=False)].copy()
        for iteration in range(iterations):
            changed, nearest, moved = naive.step(centers)
            if adopted and iteration == 0:
                other.assigner.adopt(nearest.labels, other.sums)
                its_change, found = len(X), other.assigner.nearest(centers)
                its_moved = other.means.after(centers, other.assigner)
            else:
                its_change, found, its_moved = other.step(centers)
            np.testing.assert_array_equal(found.labels, nearest.labels)
            np.testing.assert_array_equal(found.squared, nearest.squared)
            np.testing.assert_array_equal(its_moved, moved)
            assert its_change == changed
            centers = moved
            if changed == 0:
                break


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    kind=st.sampled_from(KINDS),
    n=st.integers(30, 700),
    d=st.sampled_from([1, 2, 3, 7, 8, 15, 16, 17, 33]),
    k=st.integers(1, 29),
    seed=st.integers(0, 2**20),
    dtype=st.sampled_from([np.float32, np.float64]),
    weighted=st.booleans(),
    algorithm=st.sampled_from(FAST),
    metric=st.sampled_from(["euclidean", "cosine"]),
    adopted=st.booleans(),
)
def test_every_iteration_is_the_naive_one(
    kind, n, d, k, seed, dtype, weighted, algorithm, metric, adopted
):
    X = rows_of(kind, n, d, seed, dtype)
    if metric == "cosine":
        X = X + np.where(X.any(axis=1), 0, 1).astype(dtype)[:, None]
    weights = None
    if weighted:
        weights = np.random.default_rng(seed).integers(0, 4, n) * 0.25
        weights[:k] = 1.0
    compare(X, weights, k, algorithm, metric, 12, adopted)


@pytest.mark.parametrize("algorithm", [*FAST, "auto"])
@pytest.mark.parametrize("kind", ["random", "clustered", "gridded", "one far away"])
def test_many_rows_and_centres(algorithm, kind):
    for d, k in ((2, 150), (6, 40), (20, 90)):
        compare(rows_of(kind, 20_000, d, 1, np.float32), None, k, algorithm, "euclidean", 6)


def test_lists_that_are_too_short_are_made_good(monkeypatch):
    """With one group of neighbours, most rows of high dimension are left to a full scan."""
    monkeypatch.setattr(bounds, "_GROUPS", 1)
    for kind in ("random", "gridded", "duplicated"):
        compare(rows_of(kind, 3000, 12, 0, np.float32), None, 120, "bounds", "euclidean", 8)


def test_bounds_skip_rows_and_balls_rule_out_centres():
    X = spots_of(20_000, 9, 100)
    found = kmeans(X, 100, random_state=0, algorithm="bounds", tol=0)
    assert found.work.rows_skipped > 0.5 * len(X) * (found.n_iter - 1)
    assert found.work.distances < len(X) * (100 + 40 * found.n_iter)


def test_a_tree_gives_whole_nodes_to_a_centre():
    X = np.random.default_rng(0).random((50_000, 2))
    found = kmeans(X, 50, algorithm="tree", random_state=0, max_iter=10)
    assert found.work.distances < 5 * len(X) * 11
    assert found.work.tree_nodes > 0


def spots_of(n, d, count):
    rng = np.random.default_rng(0)
    spots = rng.normal(size=(count, d)) * 10
    return (spots[rng.integers(0, count, n)] + rng.normal(size=(n, d))).astype(np.float32)


def ready(*_):
    return True


def test_auto_takes_a_tree_and_gives_it_up_where_it_is_of_no_use(monkeypatch):
    monkeypatch.setattr(choice.compile_policy, "pays", ready)
    plane = np.random.default_rng(0).random((20_000, 2)).astype(np.float32)
    assert kmeans(plane, 60, random_state=0, max_iter=15).algorithm == "tree"
    ball = np.random.default_rng(0).normal(size=(20_000, 8)).astype(np.float32)
    monkeypatch.setattr(costs, "SHARE", 0.0)
    found = kmeans(ball, 300, random_state=0, max_iter=15)
    assert found.algorithm == "gemm"
    assert found.work.tree_nodes > 0
    naive = kmeans(ball, 300, random_state=0, max_iter=15, algorithm="naive")
    np.testing.assert_array_equal(found.centers, naive.centers)
    np.testing.assert_array_equal(found.labels, naive.labels)


def test_auto_takes_bounds_only_where_balls_are_small(monkeypatch):
    monkeypatch.setattr(choice.compile_policy, "pays", ready)
    monkeypatch.setattr(registers, "MULTIPLY_BYTES", False)  # products of bytes are faster still
    X = spots_of(20_000, 40, 200)
    assert kmeans(X, 200, random_state=0, max_iter=5).work.rows_skipped > 0
    noise = np.random.default_rng(0).normal(size=(20_000, 40)).astype(np.float32)
    assert kmeans(noise, 200, random_state=0, max_iter=5).work.rows_skipped == 0


def test_rows_whose_ball_is_beyond_their_list_count_as_compared_with_all_centres(monkeypatch):
    """Most rows are centres, with nothing in their ball; that of the others has all."""
    monkeypatch.setattr(choice.compile_policy, "pays", ready)
    rng = np.random.default_rng(0)
    centers = rng.integers(0, 2, (500, 68)).astype(np.float32)
    far = 40.0 * rng.normal(size=(16_000, 68)).astype(np.float32)
    X = np.concatenate([np.repeat(centers, 23, axis=0), far])
    assert kmeans(X, 500, init=centers, max_iter=3, tol=0.0).work.rows_skipped == 0


def test_bounds_are_given_up_when_they_have_lost_some_iterations(monkeypatch):
    monkeypatch.setattr(choice.compile_policy, "pays", ready)
    monkeypatch.setattr(bounds.Bounds, "_judge", ready)
    noise = np.random.default_rng(0).normal(size=(20_000, 40)).astype(np.float32)
    found = kmeans(noise, 200, random_state=0, max_iter=12, tol=0.0)
    assert found.algorithm == "bounds"
    forced = kmeans(noise, 200, random_state=0, max_iter=12, tol=0.0, algorithm="bounds")
    pairs = 200 * len(noise)
    assert forced.work.distances > 18 * pairs
    assert found.work.distances < 15 * pairs  # one for most iterations
    np.testing.assert_array_equal(found.labels, forced.labels)
    np.testing.assert_array_equal(found.centers, forced.centers)


def test_bounds_that_pay_are_kept(monkeypatch):
    """Shares of rows left open, and pairs, of covtype with K = 100: bounds take two thirds."""
    monkeypatch.setattr(registers, "MULTIPLY_BYTES", False)
    X = np.random.default_rng(0).random((5000, 54)).astype(np.float32)
    prepared = prepare_points(X, "euclidean")
    with Workers(1) as workers:
        job = nearest_choice.Job(prepared.points, prepared.metric, workers, 1500, 15)
        assigner = bounds.Bounds(job, 100, is_forced=False)
        for left, pairs in ((0.99, 18.2), (0.83, 12.9), (0.79, 10.7), (0.74, 10.0)) * 2:
            assert assigner._pay(100, int(left * len(X)), int(pairs * len(X)))
        assert not all(assigner._pay(100, len(X), 150 * len(X)) for _ in range(3))


def test_the_first_comparison_of_a_fit_by_bounds_builds_nothing_for_later_ones(monkeypatch):
    """A tree over projections may pay in many iterations; bounds need one comparison only."""
    monkeypatch.setattr(
        update, "choose", lambda job: "gemm" if job.batches == 1 else "projected_tree"
    )
    built, build_one = [], NearestUpdater.built
    monkeypatch.setattr(
        NearestUpdater, "built", lambda self, name: built.append(name) or build_one(self, name)
    )
    monkeypatch.setattr(bounds.Bounds, "_judge", ready)
    X = spots_of(20_000, 40, 200)
    seeds = kmeans_plusplus(X, 200, random_state=0).centers
    with Workers(1) as workers:
        side = Side(X, None, 200, "naive", "euclidean", workers)
        job = nearest_choice.Job(
            side.points, prepare_points(X, "euclidean").metric, workers, 4000, 20
        )
        assigner = bounds.Bounds(job, 200, is_forced=False)
        for turn in range(3):
            assigner.assign(seeds + np.float32(0.001 * turn), side.sums)
    assert assigner.skipped > 0
    assert built == ["gemm"]


def test_movements_are_never_less_than_they_are():
    rng = np.random.default_rng(0)
    before = rng.normal(size=(50, 7)).astype(np.float32)
    after = before + (rng.normal(size=(50, 7)) * 10.0 ** rng.integers(-9, 2, (50, 1))).astype("f4")
    after[:5] = before[:5]
    found = base.movement(before, after)
    exact = np.sqrt(((after.astype(float) - before.astype(float)) ** 2).sum(axis=1))
    assert (found[5:] >= exact[5:]).all()
    assert (found[:5] == 0).all()
    np.testing.assert_allclose(found, exact, rtol=1e-6)


def test_fewer_distinct_points_than_centres_of_every_algorithm():
    X = np.repeat(np.arange(6.0), 40)[:, None] * np.ones((1, 3))
    for algorithm in FAST:
        with pytest.warns(FewerDistinctPointsWarning):
            found = kmeans(X, 9, random_state=0, algorithm=algorithm)
        assert found.inertia == 0.0
        assert found.n_iter <= 3


def test_few_rows_of_a_centre_are_settled_one_by_one():
    """Below so many rows of a centre in a block, they are not laid out side by side."""
    assert bounds_kernels._TOGETHER > 1
    compare(rows_of("random", 200, 5, 3, np.float64), None, 29, "bounds", "euclidean", 15)
