"""Sparse rows are seeded as dense ones: index for index wherever arithmetic is exact."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

from kseeds import (
    FewerDistinctPointsWarning,
    assign,
    greedy_kmeans_plusplus,
    kmeans_parallel,
    kmeans_plusplus,
)
from tests.harness.profiles import scaled

ALGORITHMS = [
    (kmeans_plusplus, {"algorithm": "naive"}),
    (kmeans_plusplus, {"algorithm": "rounds"}),
    (kmeans_plusplus, {"algorithm": "lazy", "kernels": "plain"}),
    (kmeans_plusplus, {"algorithm": "lazy", "kernels": "compiled"}),
    (kmeans_plusplus, {"algorithm": "lazy", "kernels": "plain", "refresh": "partial"}),
    (kmeans_plusplus, {"algorithm": "lazy", "kernels": "compiled", "refresh": "partial"}),
    (kmeans_plusplus, {"algorithm": "lazy", "kernels": "compiled", "refresh": "full", "batch": 1}),
    (greedy_kmeans_plusplus, {"algorithm": "naive"}),
    (greedy_kmeans_plusplus, {"algorithm": "fast", "strategy": "plain"}),
    (greedy_kmeans_plusplus, {"algorithm": "fast", "strategy": "pool"}),
    (kmeans_parallel, {"algorithm": "naive"}),
    (kmeans_parallel, {"algorithm": "fast", "strategy": "plain"}),
    (kmeans_parallel, {"algorithm": "fast", "strategy": "brute"}),
    (kmeans_parallel, {"algorithm": "fast", "strategy": "brute", "reduction": "greedy"}),
]
IDS = [f"{f.__name__}-{'-'.join(map(str, o.values()))}" for f, o in ALGORITHMS]


def whole_numbers(rng):
    """Return a small matrix of whole numbers, with duplicate and empty rows, and weights."""
    n, d = int(rng.integers(3, 200)), int(rng.integers(1, 50))
    X = rng.integers(-3, 4, size=(n, d)) * (rng.random((n, d)) < rng.uniform(0.02, 0.7))
    X[rng.integers(0, n, size=n // 4)] = X[rng.integers(0, n, size=n // 4)]
    weights = None if rng.random() < 0.5 else rng.integers(0, 4, size=n).astype(float)
    if weights is not None and not weights.any():
        weights = None
    most = n if weights is None else int(np.count_nonzero(weights))
    k = int(rng.integers(1, min(most, 40) + 1))
    return X.astype(rng.choice([np.float32, np.float64])), weights, k


def results(seeding):
    return (
        seeding.indices.tolist(), seeding.labels.tolist(), seeding.distances.tolist(),
        seeding.potential,
    )  # fmt: skip


@pytest.mark.parametrize(("function", "options"), ALGORITHMS, ids=IDS)
def test_sparse_equals_dense_on_whole_numbers(function, options, seed_offset):
    for t in range(scaled(60)):
        rng = np.random.default_rng([seed_offset, t])
        X, weights, k = whole_numbers(rng)
        matrix = sparse.csr_array(X) if t % 2 else sparse.csr_matrix(X)
        keywords = {"sample_weight": weights, "random_state": t, **options}
        if t % 3 == 0:
            keywords["initial_centers"] = X[:2] + 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewerDistinctPointsWarning)
            wanted = function(X, k, n_threads=1, **keywords)
            found = function(matrix, k, n_threads=1 + t % 3, **keywords)
        assert results(found) == results(wanted), t
        assert type(found.centers) is type(matrix)
        assert found.centers.dtype == X.dtype
        np.testing.assert_array_equal(found.centers.toarray(), wanted.centers)
        assert found.work.distances <= wanted.work.distances or options.get("refresh") == "full"


def real_numbers(rng, n=300, d=60, dtype=np.float64):
    X = np.where(rng.random((n, d)) < 0.1, rng.normal(size=(n, d)), 0.0)
    X[: n // 10] = X[n // 2 : n // 2 + n // 10]
    X[:, 0] += 1e-3  # no row is empty
    return sparse.csr_array(X.astype(dtype))


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "angular"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_tier_strategy_or_thread_shows(metric, dtype):
    X = real_numbers(np.random.default_rng(0), dtype=dtype)
    weights = np.random.default_rng(1).random(300)
    groups = [
        (
            kmeans_plusplus,
            [{"algorithm": "lazy", "kernels": each} for each in ("plain", "compiled")],
        ),
        (
            kmeans_plusplus,
            [
                {"algorithm": "lazy", "refresh": "partial", "kernels": each}
                for each in ("plain", "compiled")
            ],
        ),
        (
            greedy_kmeans_plusplus,
            [{"algorithm": "naive"}, {"algorithm": "fast", "strategy": "tree"}],
        ),
        (
            kmeans_parallel,
            [
                {"algorithm": "fast", "strategy": "plain", "oversampling": 1.0},
                {"algorithm": "fast", "strategy": "gemm", "oversampling": 1.0},
            ],
        ),
    ]
    for function, settings in groups:
        seen, works = set(), {}
        for options in settings:
            for threads in (1, 2, 5):
                found = function(
                    X, 25, metric=metric, sample_weight=weights, random_state=4, n_threads=threads,
                    **options,
                )  # fmt: skip
                work = found.work.distances if function is kmeans_plusplus else 0
                seen.add(str(results(found)))
                assert works.setdefault(str(options), work) == work, "threads change no counts"
        assert len(seen) == 1, function
        plain, compiled = works.values()
        assert compiled <= plain, "what bounds rule out is not computed"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "angular"])
def test_labels_are_those_of_the_nearest_centre(metric, dtype):
    rng = np.random.default_rng(5)
    X = real_numbers(rng, n=500, dtype=dtype)
    for centers in (X[:70].toarray(), X[rng.permutation(500)[:70]], rng.normal(size=(70, 60))):
        found = assign(X, centers, metric=metric)
        dense = centers.toarray() if sparse.issparse(centers) else centers
        wanted = assign(X.toarray(), dense.astype(dtype), metric=metric)
        np.testing.assert_allclose(found.distances, wanted.distances, rtol=1e-4, atol=2e-3)
        differ = np.flatnonzero(found.labels != wanted.labels)
        np.testing.assert_allclose(
            found.distances[differ], wanted.distances[differ], rtol=1e-5, atol=1e-6
        )
        assert len(differ) <= 50  # rows that are there twice
        assert found.potential == pytest.approx(wanted.potential, rel=1e-4)


def test_many_centres_come_in_several_blocks(monkeypatch):
    X = real_numbers(np.random.default_rng(6), n=400)
    whole = assign(X, X[:300])
    monkeypatch.setattr("kseeds.nearest.inverted._CENTERS", 64)
    monkeypatch.setattr("kseeds.nearest.plain._CENTERS", 64)
    parts = assign(X, X[:300])
    np.testing.assert_array_equal(whole.labels, parts.labels)
    np.testing.assert_array_equal(whole.distances, parts.distances)


def test_power_of_two_scales_and_repeated_rows_change_nothing():
    X = real_numbers(np.random.default_rng(7))
    for function in (kmeans_plusplus, greedy_kmeans_plusplus, kmeans_parallel):
        plain = function(X, 12, random_state=1)
        for scale in (2.0**-400, 2.0**-30, 2.0**500):
            scaled_up = function(X * scale, 12, random_state=1)
            assert scaled_up.indices.tolist() == plain.indices.tolist()
            np.testing.assert_array_equal(scaled_up.distances, plain.distances * scale)


def test_more_seeds_than_distinct_rows_are_completed_by_weight():
    X = sparse.csr_array(np.repeat(np.eye(3), 4, axis=0))
    for function in (kmeans_plusplus, greedy_kmeans_plusplus, kmeans_parallel):
        with pytest.warns(FewerDistinctPointsWarning):
            found = function(X, 9, random_state=0)
        assert len(set(found.indices.tolist())) == 9
        assert len({int(i) // 4 for i in found.indices[:3]}) == 3
        assert found.potential == 0.0


def test_the_first_pass_is_most_of_the_work_on_text():
    rng = np.random.default_rng(8)
    rows = np.repeat(np.arange(4000), 12)
    columns = np.minimum(np.exp(rng.random(48_000) * np.log(5000)), 4999).astype(int)
    X = sparse.csr_matrix((rng.random(48_000) + 0.5, (rows, columns)), shape=(4000, 5000))
    found = kmeans_plusplus(X, 64, random_state=0, metric="cosine")
    assert found.work.passes < 3.0


def test_progress_and_counts_are_reported():
    seen = []
    X = real_numbers(np.random.default_rng(9))
    found = kmeans_plusplus(X, 20, random_state=0, progress=lambda done, total: seen.append(done))
    assert seen[-1] == 20
    assert found.work.rows == 300
    assert "20 seeds of 60 columns" in repr(found)
    np.testing.assert_array_equal(np.asarray(found), found.centers.toarray())
    with pytest.raises(ValueError, match="copy=False is not possible: the centers are sparse"):
        found.__array__(copy=False)


def test_labels_are_refused_when_the_matrix_has_changed():
    X = real_numbers(np.random.default_rng(10))
    found = kmeans_plusplus(X, 5, random_state=0)
    X.data[3] += 1.0
    with pytest.raises(RuntimeError, match="X has changed since it was seeded"):
        _ = found.labels
