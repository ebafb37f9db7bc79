"""`kmeans`: equal to plain Lloyd and to scikit-learn, and the same however it is computed."""

from __future__ import annotations

import itertools
import pickle
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans

import kseeds
from kseeds import Clustering, assign, kmeans, kmeans_plusplus
from kseeds.clustering.fitting import Fitting
from kseeds.lloyd.choice import ALGORITHMS
from tests.data import ODDITIES, points_of
from tests.lloyd.oracle import lloyd

FAST = tuple(name for name in ALGORITHMS if name != "naive")


def same(one: Clustering, other: Clustering) -> None:
    """Assert that two results are the same to the last bit."""
    np.testing.assert_array_equal(one.centers, other.centers)
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.distances, other.distances)
    found = [(r.inertia, r.n_iter, r.converged) for r in (one, other)]
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", ["random", "clustered", "badly scaled"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_naive_is_the_textbook_s(kind, dtype, weighted):
    X = points_of(kind, 60, 3, 0).astype(dtype)
    weights = np.random.default_rng(1).integers(1, 5, 60).astype(float) if weighted else None
    start = X[[3, 17, 40, 41]]
    centers, labels, moves = lloyd(X, start, weights)
    found = kmeans(X, 4, init=start, sample_weight=weights, tol=0, algorithm="naive")
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_allclose(found.centers, centers, rtol=2 * np.finfo(dtype).eps)
    assert (found.n_iter, found.converged) == (moves, True)


@pytest.mark.parametrize("kind", ODDITIES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_algorithm_gives_the_naive_result(kind, dtype):
    for d, weighted, metric in ((2, True, "euclidean"), (20, False, "euclidean"), (5, 1, "cosine")):
        X = points_of(kind, 400, d, 0).astype(dtype)
        weights = np.random.default_rng(1).random(400) if weighted else None
        options = {"sample_weight": weights, "metric": metric, "init": "random", "tol": 0}
        naive = kmeans(X, 15, random_state=3, algorithm="naive", **options)
        for algorithm in (*FAST, "auto"):
            other = kmeans(X, 15, random_state=3, algorithm=algorithm, **options)
            same(naive, other)
            assert (other.work.rounds, other.work.rows) == (other.n_iter, 400)


@pytest.mark.parametrize("algorithm", ["lloyd", "elkan"])
@pytest.mark.parametrize("tol", [0, 1e-4, 1e-2])
def test_scikit_learn_ends_where_we_end(algorithm, tol):
    for d, k, weighted in ((2, 9, True), (8, 30, False), (40, 12, True)):
        X = points_of("clustered" if d == 2 else "random", 3000, d, 1)
        weights = np.random.default_rng(2).random(3000) if weighted else None
        start = kmeans_plusplus(X, k, random_state=0).centers
        theirs = KMeans(k, init=start, n_init=1, tol=tol, algorithm=algorithm)
        theirs.fit(X, sample_weight=weights)
        ours = kmeans(X, k, init=start, tol=tol, sample_weight=weights)
        np.testing.assert_array_equal(ours.labels, theirs.labels_)
        np.testing.assert_allclose(ours.centers, theirs.cluster_centers_, rtol=1e-9, atol=1e-9)
        assert ours.inertia == pytest.approx(theirs.inertia_, rel=1e-9)
        assert ours.n_iter == theirs.n_iter_


def test_threads_and_order_change_nothing():
    X = points_of("random", 30_000, 6, 0).astype(np.float32)
    weights = np.random.default_rng(0).random(30_000)
    for algorithm in ("auto", *FAST):
        found = [
            kmeans(given, 40, sample_weight=weights, random_state=1, n_threads=threads,
                   max_iter=8, algorithm=algorithm)
            for given, threads in ((X, 1), (X, 2), (np.asfortranarray(X), 5))
        ]  # fmt: skip
        for one in found[1:]:
            same(found[0], one)


@pytest.mark.parametrize("algorithm", ["auto", *ALGORITHMS])
def test_labels_are_always_those_of_the_centres(algorithm):
    X = points_of("random", 1500, 3, 0)
    for max_iter, tol in ((1, 0), (3, 0), (300, 0.1), (300, 0)):
        found = kmeans(X, 20, max_iter=max_iter, tol=tol, random_state=0, algorithm=algorithm)
        labels, distances = assign(X, found.centers)
        np.testing.assert_array_equal(found.labels, labels)
        np.testing.assert_array_equal(found.distances, distances)
        assert found.inertia == pytest.approx((distances**2).sum())
        assert found.converged == (max_iter == 300)


@pytest.mark.parametrize("algorithm", ["auto", *ALGORITHMS])
@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_labels_are_those_of_unit_centres_passed_on(algorithm, form):
    """Which are divided by their norms again, while ties are those of directions that coincide."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = np.outer(rng.normal(size=60), rng.normal(size=5))  # two directions
        X[::3] = rng.normal(size=(20, 5))
        start = X[:9]
        found = kmeans(form(X), 9, init=start, metric="cosine", algorithm=algorithm)
        labels, distances = assign(form(X), found.centers, metric="cosine")
        np.testing.assert_array_equal(found.labels, labels)
        np.testing.assert_array_equal(found.distances, distances)


def test_inertia_never_rises():
    X = points_of("clustered", 1000, 4, 0)
    start = X[:25]
    inertia = [kmeans(X, 25, init=start, max_iter=m, tol=0).inertia for m in range(1, 30)]
    assert all(b <= a * (1 + 1e-12) for a, b in itertools.pairwise(inertia))


def test_one_cluster_is_the_mean_and_as_many_as_rows_are_the_rows():
    X = points_of("random", 40, 3, 0)
    for algorithm in ("auto", *ALGORITHMS):
        one = kmeans(X, 1, algorithm=algorithm)
        np.testing.assert_allclose(one.centers[0], X.mean(axis=0), rtol=1e-12)
        every = kmeans(X, 40, random_state=0, algorithm=algorithm)
        assert every.inertia == 0.0
        assert sorted(every.labels.tolist()) == list(range(40))


def test_an_empty_cluster_takes_the_farthest_row():
    X = np.array([[0.0], [1.0], [10.0], [30.0]])
    start = np.array([[0.5], [12.0], [1e3], [2e3]])
    for algorithm in ("auto", *ALGORITHMS):
        found = kmeans(X, 4, init=start, max_iter=1, algorithm=algorithm)
        # 30 is farthest from its centre, then 10; the lower number is filled first.
        np.testing.assert_array_equal(found.centers[:, 0], [0.5, 12.0, 30.0, 10.0])
        assert kmeans(X, 4, init=start, algorithm=algorithm).inertia == 0.0
    theirs = KMeans(3, init=start[:3], n_init=1, max_iter=1).fit(X)
    ours = kmeans(X, 3, init=start[:3], max_iter=1)
    np.testing.assert_allclose(ours.centers, theirs.cluster_centers_)


def test_rows_of_weight_zero_get_labels_and_fill_no_cluster():
    X = np.array([[0.0], [1.0], [100.0], [6.0]])
    weights = [1.0, 1.0, 0.0, 1.0]
    found = kmeans(X, 2, init=[[0.0], [1e4]], sample_weight=weights, tol=0)
    assert sorted(found.centers[:, 0].tolist()) == [0.5, 6.0]
    assert found.labels[2] == found.labels[3]
    without = kmeans(np.delete(X, 2, 0), 2, init=[[0.0], [1e4]], tol=0)
    np.testing.assert_array_equal(np.sort(found.centers, axis=0), np.sort(without.centers, axis=0))
    assert found.inertia == without.inertia


def test_weights_are_repetitions():
    X = points_of("random", 300, 3, 0)
    times = np.random.default_rng(0).integers(1, 4, 300)
    start = X[:8]
    weighted = kmeans(X, 8, init=start, sample_weight=times, tol=0)
    repeated = kmeans(np.repeat(X, times, axis=0), 8, init=start, tol=0)
    np.testing.assert_allclose(weighted.centers, repeated.centers, rtol=1e-14)
    np.testing.assert_array_equal(np.repeat(weighted.labels, times), repeated.labels)
    assert weighted.inertia == pytest.approx(repeated.inertia)


def test_powers_of_two_of_data_and_weights_scale_the_result():
    X = points_of("random", 300, 3, 0).astype(np.float32)
    weights = np.random.default_rng(0).random(300)
    one = kmeans(X, 7, init=X[:7], sample_weight=weights)
    for factor in (2.0**-80, 2.0**60):
        large = X * np.float32(factor)
        other = kmeans(large, 7, init=large[:7], sample_weight=weights * 2.0**40)
        np.testing.assert_array_equal(one.labels, other.labels)
        np.testing.assert_array_equal(one.centers * np.float32(factor), other.centers)
        assert other.inertia == pytest.approx(one.inertia * factor**2 * 2.0**40, rel=1e-6)


@pytest.mark.filterwarnings("error")
def test_fewer_distinct_points_than_clusters():
    X = np.repeat([[0.0, 1.0], [2.0, 3.0]], 5, axis=0)
    for algorithm in ("auto", *ALGORITHMS):
        with pytest.warns(kseeds.FewerDistinctPointsWarning, match="fewer distinct") as caught:
            found = kmeans(X, 4, random_state=0, algorithm=algorithm)
        assert caught[0].filename == __file__
        assert found.inertia == 0.0
        assert found.converged
        assert len(set(found.labels.tolist())) == 2


def test_the_start_is_what_the_seeding_functions_draw():
    X = points_of("random", 500, 4, 0)
    for name, function in (
        ("k-means++", kmeans_plusplus),
        ("greedy", kseeds.greedy_kmeans_plusplus),
        ("k-means||", kseeds.kmeans_parallel),
    ):
        drawn = kmeans(X, 9, init=name, random_state=5)
        seeding = function(X, 9, random_state=5)
        np.testing.assert_array_equal(drawn.seeding.indices, seeding.indices)
        for start in (seeding, seeding.centers):
            same(drawn, kmeans(X, 9, init=start))
        assert kmeans(X, 9, init=seeding).seeding is seeding
    assert kmeans(X, 9, init=X[:9]).seeding is None
    rows = kmeans(X, 9, init="random", random_state=5).seeding
    np.testing.assert_array_equal(rows.centers, X[rows.indices])
    assert len(set(rows.indices.tolist())) == 9


def test_random_rows_are_drawn_by_weight():
    X, weights = np.arange(4.0)[:, None], np.array([0.0, 1.0, 2.0, 7.0])
    first = [
        kmeans(X, 1, init="random", sample_weight=weights, random_state=s).seeding.indices[0]
        for s in range(600)
    ]
    shares = np.bincount(first, minlength=4) / 600
    np.testing.assert_allclose(shares, weights / 10, atol=0.08)
    assert shares[0] == 0.0


def test_labels_of_a_seeding_save_the_first_assignment():
    X = points_of("random", 2000, 4, 0)
    seeding = kseeds.greedy_kmeans_plusplus(X, 9, random_state=5)
    free, paid = kmeans(X, 9, init=seeding), kmeans(X, 9, init=seeding.centers)
    same(free, paid)
    assert free.work.distances == paid.work.distances - 9 * 2000
    # Of other rows, or by another metric, they say nothing.
    other = X[::-1].copy()
    same(kmeans(other, 9, init=seeding), kmeans(other, 9, init=seeding.centers))
    cosine = [kmeans(X, 9, init=start, metric="cosine") for start in (seeding, seeding.centers)]
    same(*cosine)


def test_what_is_changed_of_a_seeding_is_not_taken_for_what_was_drawn():
    X = points_of("random", 2000, 4, 0)
    for change in (
        lambda seeding: np.multiply(seeding.centers, 1.5, out=seeding.centers),
        lambda seeding: seeding.centers.sort(axis=0),
        lambda seeding: (seeding.indices.sort(), np.copyto(seeding.centers, X[seeding.indices])),
    ):
        seeding = kseeds.greedy_kmeans_plusplus(X, 9, random_state=5)
        change(seeding)
        same(kmeans(X, 9, init=seeding), kmeans(X, 9, init=seeding.centers))
    assert len(seeding.labels) == 2000
    for one in (seeding, pickle.loads(pickle.dumps(seeding))):
        with pytest.raises(ValueError, match="read-only"):
            one.labels[:] = 10**9
        with pytest.raises(ValueError, match="read-only"):
            one.distances[:] = 0.0


def test_labels_of_a_seeding_are_handed_over_as_a_copy(monkeypatch):
    """Its own are read-only, for which kernels would be compiled a second time."""
    seen, real = [], Fitting.run

    def run(self, centers, labels=None):
        seen.append(labels)
        return real(self, centers, labels)

    monkeypatch.setattr(Fitting, "run", run)
    X = points_of("random", 300, 4, 0)
    seeding = kseeds.greedy_kmeans_plusplus(X, 9, random_state=5)
    kmeans(X, 9, init=seeding)
    assert seen[0].flags.writeable
    assert not np.shares_memory(seen[0], seeding.labels)


def test_more_starts_are_never_worse_and_can_be_repeated():
    X = points_of("clustered", 600, 2, 0)
    runs = [kmeans(X, 12, n_init=n, random_state=4, init="random") for n in (1, 2, 8)]
    inertia = [run.inertia for run in runs]
    assert inertia == sorted(inertia, reverse=True)
    assert inertia[2] < inertia[0]
    same(runs[2], kmeans(X, 12, n_init=8, random_state=4, init="random"))
    for state in (np.random.SeedSequence(4), np.random.default_rng(4), np.random.RandomState(4)):
        assert kmeans(X, 12, n_init=3, random_state=state).inertia > 0.0


@pytest.mark.parametrize(("algorithm", "d"), [("tree", 4), ("bounds", 16), ("gemm", 4)])
def test_memory_beyond_the_input_is_sixty_four_bytes_a_row(algorithm, d):
    """Bounds of the seeding are let go, and lists of the tree are short enough."""
    rng = np.random.default_rng(0)
    spots = 30.0 * rng.normal(size=(50, d))
    X = (spots[rng.integers(0, 50, 300_000)] + rng.normal(size=(300_000, d))).astype(np.float32)
    kmeans(X[:5000], 50, random_state=0, algorithm=algorithm, max_iter=8)  # imports
    tracemalloc.start()
    try:
        kmeans(X, 50, random_state=0, n_threads=2, algorithm=algorithm, max_iter=8, tol=0.0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 * len(X) + 2**20  # workspaces do not grow with the rows


def test_spherical_k_means_has_unit_centres_and_ignores_lengths():
    X = points_of("random", 500, 6, 0)
    lengths = 2.0 ** np.random.default_rng(0).integers(-3, 4, (500, 1))
    one, other = (kmeans(rows, 8, metric="cosine", random_state=0) for rows in (X, X * lengths))
    np.testing.assert_allclose(np.linalg.norm(one.centers, axis=1), 1.0)
    np.testing.assert_array_equal(one.labels, other.labels)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_array_equal(one.labels, (unit @ one.centers.T).argmax(axis=1))
    end = kmeans(X, 8, metric="cosine", random_state=0, tol=0)
    means = np.array([unit[end.labels == c].sum(axis=0) for c in range(8)])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    np.testing.assert_allclose(end.centers, means, atol=1e-12)


def test_progress_counts_iterations():
    X = points_of("random", 500, 3, 0)
    seen = []
    found = kmeans(X, 9, random_state=0, progress=lambda *now: seen.append(now), tol=0)
    assert seen == [*((i, 300) for i in range(found.n_iter)), (found.n_iter, found.n_iter)]
    assert found.n_iter < 300


def test_it_unpacks_prints_and_is_an_array():
    X = points_of("random", 100, 3, 0)
    found = kmeans(X, 5, random_state=0)
    centers, labels = found
    assert centers is found.centers
    assert labels is found.labels
    assert labels.dtype == np.int32
    np.testing.assert_array_equal(np.asarray(found), centers)
    assert repr(found).startswith(f"<Clustering: 5 centres of 3 columns by {found.algorithm!r}, in")
    assert found.seconds > 0.0


def test_progress_shows_the_inertia(monkeypatch):
    X = points_of("random", 500, 3, 0)
    told = []

    class Told:
        def update(self, done, total, unit):
            told.append(unit)

        def close(self):
            pass

    monkeypatch.setattr("kseeds.clustering.face.progress_for", lambda _: Told())
    found = kmeans(X, 9, random_state=0, tol=0)
    assert told[0] == "iterations"
    assert told[-1] == f"iterations, inertia {found.inertia:.4g}"
    values = [float(unit.rpartition(" ")[2]) for unit in told[1:]]
    assert values == sorted(values, reverse=True)
    kmeans(X, 9, random_state=0, sample_weight=np.ones(500))
    assert told[-1] == "iterations"
