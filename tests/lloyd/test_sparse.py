"""Sparse rows are clustered as dense ones are; no tier, thread or algorithm shows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans

from kseeds import kmeans, kmeans_plusplus
from kseeds.inputs.sparse import from_dense
from kseeds.lloyd.sparse_means import SparseMeans, SparseSums
from kseeds.runtime.threads import Workers
from tests.harness.profiles import scaled


def whole_numbers(rng):
    n, d = int(rng.integers(5, 200)), int(rng.integers(1, 50))
    X = rng.integers(-3, 4, size=(n, d)) * (rng.random((n, d)) < rng.uniform(0.05, 0.5))
    if rng.random() < 0.3:
        X[n // 2 :] = X[: n - n // 2]
    weights = None if rng.random() < 0.5 else rng.integers(1, 4, size=n).astype(float)
    return X.astype(rng.choice([np.float32, np.float64])), weights


@pytest.mark.filterwarnings("ignore::kseeds.FewerDistinctPointsWarning")
@pytest.mark.parametrize("algorithm", ["naive", "gemm", "bounds", "tree", "auto"])
def test_sparse_equals_dense_on_whole_numbers(algorithm, seed_offset):
    for t in range(scaled(12)):
        rng = np.random.default_rng([seed_offset, t])
        X, weights = whole_numbers(rng)
        k = int(rng.integers(1, min(len(X), 12) + 1))
        for init in ("k-means++", "random", X[rng.choice(len(X), k, replace=False)]):
            options = {"init": init, "random_state": t, "sample_weight": weights, "tol": 0.0}
            found = kmeans(
                sparse.csr_array(X), k, algorithm=algorithm, n_threads=1 + t % 3, **options
            )
            wanted = kmeans(X, k, algorithm="naive", **options)
            assert found.labels.tolist() == wanted.labels.tolist(), t
            assert found.n_iter == wanted.n_iter
            eps = float(np.finfo(X.dtype).eps)
            np.testing.assert_allclose(
                np.asarray(found.centers.toarray()), wanted.centers, atol=eps
            )
            np.testing.assert_allclose(found.inertia, wanted.inertia, rtol=1e-5, atol=1e-9)


def text(dtype=np.float64, n=800, d=300):
    rng = np.random.default_rng(1)
    X = np.where(rng.random((n, d)) < 0.04, rng.random((n, d)) + 0.1, 0.0)
    X[:, 0] += 0.01
    return sparse.csr_matrix(X.astype(dtype))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nothing_shows_what_computed_it(metric, dtype):
    X, weights = text(dtype), np.random.default_rng(2).random(800)
    seen = set()
    for algorithm in ("naive", "gemm", "auto"):
        for threads in (1, 2, 5):
            found = kmeans(
                X, 20, random_state=0, metric=metric, sample_weight=weights, algorithm=algorithm,
                n_threads=threads,
            )  # fmt: skip
            assert isinstance(found.centers, sparse.csr_matrix)
            parts = (found.labels, found.distances, found.centers.toarray())
            seen.add((*(part.tobytes() for part in parts), found.inertia, found.n_iter))
    assert len(seen) == 1
    if metric == "cosine":
        np.testing.assert_allclose(sparse.linalg.norm(found.centers, axis=1), 1.0, rtol=1e-6)


def test_both_tiers_of_means_give_the_same_bits():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 130)) * (rng.random((400, 130)) < 0.1)
    points, labels = from_dense(X), rng.integers(0, 9, 400).astype(np.int32)
    for weights in (None, rng.random(400)):
        with Workers(2) as workers:
            means = SparseMeans(SparseSums(400, 9), points, weights, False, workers)
            order = np.argsort(labels, kind="stable")
            starts = np.searchsorted(labels[order], np.arange(10))
            for mine, twin in zip(
                means.totals_compiled(order, starts), means._totals_plainly(order, starts),
                strict=True,
            ):  # fmt: skip
                np.testing.assert_array_equal(mine, twin)


def test_it_is_lloyd_as_scikit_learn_has_it():
    X = text()
    start = kmeans_plusplus(X, 15, random_state=0).centers
    ours = kmeans(X, 15, init=start, tol=0.0)
    theirs = KMeans(15, init=start.toarray(), n_init=1, tol=0.0).fit(X)
    assert ours.n_iter == theirs.n_iter_
    np.testing.assert_array_equal(ours.labels, theirs.labels_)
    np.testing.assert_allclose(ours.centers.toarray(), theirs.cluster_centers_, atol=1e-12)
    assert ours.inertia == pytest.approx(theirs.inertia_, rel=1e-9)


def test_inertia_never_rises_and_a_seeding_is_a_start():
    X = text()
    seeding = kmeans_plusplus(X, 15, random_state=0)
    before = seeding.potential
    for most in range(1, 6):
        found = kmeans(X, 15, init=seeding, max_iter=most, tol=0.0)
        assert found.inertia <= before * (1 + 1e-12)
        before = found.inertia


def test_empty_clusters_take_the_farthest_rows():
    X = sparse.csr_array(np.array([[0.0, 1.0], [0.0, 1.1], [5.0, 0.0], [0.0, 1.2]]))
    start = np.array([[0.0, 1.0], [0.0, 90.0]])
    dense = kmeans(X.toarray(), 2, init=start)
    found = kmeans(X, 2, init=start)
    np.testing.assert_array_equal(found.labels, dense.labels)
    np.testing.assert_allclose(found.centers.toarray(), dense.centers)
