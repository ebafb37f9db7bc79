"""Both sets of kernels of lazy k-means++ draw the same seeds and count the same work."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kseeds import FewerDistinctPointsWarning, kmeans_plusplus
from tests.data import METRICS, ODDITIES, fit_for, points_of

SETTINGS = settings(max_examples=150, deadline=None, derandomize=True)


def both(X, k, **keywords):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerDistinctPointsWarning)
        keywords = {"algorithm": "lazy", **keywords}
        return (
            kmeans_plusplus(X, k, kernels="plain", **keywords),
            kmeans_plusplus(X, k, kernels="compiled", **keywords),
        )


@SETTINGS
@given(
    st.sampled_from(METRICS),
    st.sampled_from(ODDITIES),
    st.integers(2, 400),
    st.sampled_from([1, 2, 3, 15, 16, 17, 70]),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from(["auto", "never", "partial", "full"]),
    st.sampled_from([64, 8, 1]),
    st.booleans(),
    st.integers(0, 2**31),
)
def test_plain_and_compiled_kernels_draw_the_same_seeds(
    metric, kind, n, d, dtype, refresh, batch, weighted, seed
):
    X = fit_for(metric, points_of(kind, n, d, seed)).astype(dtype)
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 3, size=n).astype(float) if weighted else None
    if weights is not None:
        weights[:2] = 1.0
    most = n if weights is None else int(np.count_nonzero(weights))
    k = int(rng.integers(1, min(most, 150) + 1))
    initial = X[: rng.integers(0, 5)]
    plain, compiled = both(
        X, k, metric=metric, sample_weight=weights, refresh=refresh, batch=batch,
        initial_centers=initial, random_state=seed,
    )  # fmt: skip
    assert plain.indices.tolist() == compiled.indices.tolist()
    assert plain.work.proposals == compiled.work.proposals
    if refresh != "full":  # a tree prunes, and compares whole blocks
        assert plain.work == compiled.work
    np.testing.assert_array_equal(plain.labels, compiled.labels)
    if batch == 1 and refresh != "full":  # within a batch a row may be proposed twice
        assert plain.work.distances <= n * (k + len(initial)), "a pair is computed once at most"


@pytest.mark.parametrize("d", [3, 40])
def test_more_seeds_than_a_chunk_are_the_same_in_both(d):
    """More seeds than a chunk, so that early exits and several groups of columns occur."""
    X = points_of("random", 3000, d, 0).astype(np.float32)
    plain, compiled = both(X, 900, random_state=1)
    assert plain.indices.tolist() == compiled.indices.tolist()
    assert plain.work == compiled.work
    assert plain.work.refreshes > 0 or d > 3
    assert plain.work.acceptances == 900 <= plain.work.proposals


def test_a_tree_is_built_where_that_pays():
    """Many seeds for few rows in few dimensions: the same seeds, with a tenth of the distances."""
    X = points_of("clustered", 10_000, 3, 0).astype(np.float32)
    plain, compiled = both(X, 2000, random_state=1)
    assert plain.indices.tolist() == compiled.indices.tolist()
    np.testing.assert_array_equal(plain.labels, compiled.labels)
    assert plain.work.proposals == compiled.work.proposals
    assert plain.work.refreshes == compiled.work.refreshes > 1
    assert compiled.work.distances < 0.5 * plain.work.distances


def test_threads_change_no_seed_of_lazy():
    """Long batches are shared out to threads, and so are first passes and refreshes."""
    X = points_of("random", 20_000, 64, 0).astype(np.float32)
    keywords = {"random_state": 1, "algorithm": "lazy", "kernels": "compiled"}
    one = kmeans_plusplus(X, 3000, n_threads=1, **keywords)
    for n_threads in (2, 5):
        many = kmeans_plusplus(X, 3000, n_threads=n_threads, **keywords)
        assert many.indices.tolist() == one.indices.tolist()
        assert many.work == one.work
        np.testing.assert_array_equal(many.labels, one.labels)


def test_golden_indices_of_lazy_stay():
    """Same state, same seeds, from one version to the next."""
    X = (np.arange(3000) * 7919 % 1009).reshape(1000, 3).astype(np.float64)
    for found in both(X, 8, random_state=0):
        assert found.indices.tolist() == GOLDEN


GOLDEN = [190, 987, 525, 772, 591, 762, 891, 288]


def test_labels_are_the_nearest_seeds():
    X = points_of("clustered", 2000, 5, 3)
    for found in both(X, 60, random_state=0):
        gaps = np.sqrt(((X[:, None] - found.centers) ** 2).sum(axis=2))
        np.testing.assert_array_equal(found.labels, gaps.argmin(axis=1))
        np.testing.assert_allclose(found.distances, gaps.min(axis=1), atol=1e-9)


def test_lazy_computes_fewer_distances_than_the_paper():
    for kind in ("random", "clustered"):
        X = points_of(kind, 5000, 4, 0)
        lazy = kmeans_plusplus(X, 200, random_state=0, algorithm="lazy")
        paper = kmeans_plusplus(X, 200, random_state=0, algorithm="paper")
        assert lazy.work.distances < paper.work.distances


def test_a_compiled_function_equals_a_plain_one():
    import numba

    def hop(a, b):
        return abs(a[0] - b[0]) ** 1.5 + abs(a[1] - b[1])

    X = points_of("random", 300, 2, 0)
    plain = kmeans_plusplus(X, 20, metric=hop, random_state=0)
    compiled = kmeans_plusplus(X, 20, metric=numba.njit(hop), random_state=0)
    assert plain.indices.tolist() == compiled.indices.tolist()
    assert plain.algorithm == "lazy"
    np.testing.assert_allclose(plain.distances, compiled.distances)
