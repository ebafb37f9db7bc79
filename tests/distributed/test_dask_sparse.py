"""Dask arrays of sparse blocks: the seeds of the same rows in dense blocks, and in memory."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

import kseeds

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
kseeds_dask = pytest.importorskip("kseeds.dask")


def rows():
    rng = np.random.default_rng(0)
    return rng.integers(1, 5, size=(300, 40)) * (rng.random((300, 40)) < 0.1) * 1.0


def in_blocks(X, kind=sparse.csr_matrix, bounds=(0, 90, 90, 91, 300)):
    parts = [
        da.from_delayed(dask.delayed(kind)(X[a:b]), (b - a, X.shape[1]), dtype=X.dtype)
        for a, b in pairwise(bounds)
    ]
    return da.concatenate(parts)


CALLS = [
    (kseeds_dask.kmeans_plusplus, {}),
    (kseeds_dask.kmeans_plusplus, {"initial_centers": rows()[:3] + 1}),
    (kseeds_dask.kmeans_plusplus, {"initial_centers": sparse.csr_array(rows()[:3] + 1)}),
    (kseeds_dask.kmeans_parallel, {}),
    (kseeds_dask.kmeans_parallel, {"reduction": "greedy"}),
]


@pytest.mark.parametrize(("function", "options"), CALLS)
def test_sparse_blocks_are_seeded_like_dense_ones(function, options):
    X = rows()
    weights = da.from_array(np.arange(300.0) % 4, chunks=300)
    wanted = function(da.from_array(X, chunks=(70, 40)), 15, random_state=3, **options)
    for kind in (sparse.csr_matrix, sparse.csr_array, sparse.coo_array):
        found = function(in_blocks(X, kind), 15, random_state=3, **options)
        assert found.indices.tolist() == wanted.indices.tolist()
        assert sparse.isspmatrix(found.centers) == (kind is sparse.csr_matrix)
        np.testing.assert_array_equal(np.asarray(found), wanted.centers)
    weighted = function(in_blocks(X), 15, random_state=3, sample_weight=weights, **options)
    dense = da.from_array(X, chunks=(70, 40))
    again = function(dense, 15, random_state=3, sample_weight=weights, **options)
    assert weighted.indices.tolist() == again.indices.tolist()


def test_rounds_in_memory_draw_the_same():
    X = sparse.csr_array(rows())
    found = kseeds.kmeans_plusplus(X, 15, algorithm="rounds", random_state=3)
    wanted = kseeds_dask.kmeans_plusplus(in_blocks(rows()), 15, random_state=3)
    assert found.indices.tolist() == wanted.indices.tolist()


def test_labels_of_sparse_blocks():
    X = rows()
    wanted = kseeds.assign(X, X[:8])
    for centers in (X[:8], sparse.csr_array(X[:8])):
        for data in (in_blocks(X), da.from_array(X, chunks=(100, 40))):
            labels, distances = dask.compute(*kseeds_dask.assign(data, centers))
            np.testing.assert_array_equal(labels, wanted.labels)
            np.testing.assert_array_equal(distances, wanted.distances)


def test_columns_in_several_chunks_and_directions():
    X = rows()
    X[~X.any(axis=1), 0] = 1.0
    data = in_blocks(X, bounds=(0, 300)).rechunk((100, 25))
    found = kseeds_dask.kmeans_plusplus(data, 9, metric="cosine", random_state=1)
    wanted = kseeds_dask.kmeans_plusplus(in_blocks(X), 9, metric="cosine", random_state=1)
    assert found.indices.tolist() == wanted.indices.tolist()


def test_bad_blocks_are_named():
    X = rows()
    mixed = da.concatenate([in_blocks(X), da.from_array(X, chunks=300)])
    with pytest.raises(ValueError, match="X has sparse partitions and dense ones; make all of"):
        kseeds_dask.kmeans_plusplus(mixed, 3)
    with pytest.raises(ValueError, match=r"partition 0 .* metric='manhattan' is not available for"):
        kseeds_dask.kmeans_plusplus(in_blocks(X, bounds=(0, 300)), 3, metric="manhattan")
    X[100, 7] = np.nan
    with pytest.raises(ValueError, match=r"partition 2 cannot be used: X has nan at row 9, column"):
        kseeds_dask.kmeans_plusplus(in_blocks(X), 3)
