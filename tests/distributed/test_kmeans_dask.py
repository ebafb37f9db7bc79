"""k-means of Dask arrays and dataframes: that of memory, with labels that are Dask arrays."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import kseeds
from tests.data import points_of
from tests.distributed.common import whole_numbers
from tests.distributed.test_dask_sparse import in_blocks, rows

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
kseeds_dask = pytest.importorskip("kseeds.dask")


def same(ours, theirs):
    labels, distances = dask.compute(ours.labels, ours.distances)
    np.testing.assert_array_equal(ours.centers, theirs.centers)
    np.testing.assert_array_equal(labels, theirs.labels)
    np.testing.assert_array_equal(distances, theirs.distances)
    assert (labels.dtype, distances.dtype) == (np.int32, ours.distances.dtype)
    assert ours.inertia == pytest.approx(theirs.inertia, rel=1e-12)
    assert (ours.n_iter, ours.converged) == (theirs.n_iter, theirs.converged)


@pytest.mark.parametrize("chunks", [2000, 333])
@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_chunks_change_nothing(chunks, cache, dtype):
    X, weights = (
        points_of("random", 2000, 3, 0).astype(dtype),
        np.random.default_rng(0).random(2000),
    )
    wanted = kseeds.kmeans(X, 8, init=X[:8], sample_weight=weights, max_iter=6)
    chunked = da.from_array(X, chunks=(chunks, 2)), da.from_array(weights, chunks=500)
    found = kseeds_dask.kmeans(
        chunked[0], 8, init=X[:8], sample_weight=chunked[1], max_iter=6, cache=cache
    )
    same(found, wanted)
    assert found.labels.chunks == found.distances.chunks == (chunked[0].chunks[0],)
    again = dask.compute(*kseeds_dask.assign(chunked[0], found))
    for ours, theirs in zip((found.labels, found.distances), again, strict=True):
        np.testing.assert_array_equal(ours.compute(), theirs)


def test_the_result_unpacks_and_stands_for_its_centres():
    X, _ = whole_numbers(500)
    found = kseeds_dask.kmeans(da.from_array(X, chunks=200), 4, random_state=1)
    centers, labels = found
    assert centers is found.centers
    assert labels is found.labels
    np.testing.assert_array_equal(np.asarray(found), centers)
    assert repr(found).startswith("<DaskClustering: 4 centres of 3 columns (float64), inertia=")
    assert f"after {found.n_iter} iterations (converged), " in repr(found)
    same(found, kseeds.kmeans(X, 4, init=found.seeding))
    same(
        kseeds_dask.kmeans(da.from_array(X, chunks=300), 4, init=found.seeding),
        kseeds.kmeans(X, 4, init=found.seeding.centers),
    )


def test_unknown_chunk_sizes_and_dataframes_change_nothing():
    import pandas as pd

    X, weights = whole_numbers(900)
    wanted = kseeds.kmeans(X, 6, init=X[:6], sample_weight=weights)
    keep = da.from_array(np.ones(900, dtype=bool), chunks=400)
    unknown = [da.from_array(a, chunks=400)[keep] for a in (X, weights)]
    found = kseeds_dask.kmeans(unknown[0], 6, init=X[:6], sample_weight=unknown[1])
    same(found, wanted)
    assert found.labels.chunks == ((400, 400, 100),)  # known now
    frame = dd.from_pandas(pd.DataFrame(X, columns=list("abc")).assign(w=weights), npartitions=4)
    same(kseeds_dask.kmeans(frame, 6, init=X[:6], sample_weight="w"), wanted)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_blocks_give_the_clusters_of_memory(metric, weighted):
    X = rows()
    X[~X.any(axis=1), 0] = 1.0
    weights = np.arange(300.0) % 4 if weighted else None
    chunked = None if weights is None else da.from_array(weights, chunks=300)
    # Two clusters are empty at first.
    start = np.concatenate([X[:7], 1000.0 * np.eye(40)[:2] + X[7]])
    wanted = kseeds.kmeans(
        sparse.csr_matrix(X), 9, init=start, metric=metric, sample_weight=weights, tol=1e-3
    )
    found = [
        kseeds_dask.kmeans(
            in_blocks(X, kind, bounds), 9, init=start, metric=metric, sample_weight=chunked,
            tol=1e-3,
        )
        for kind, bounds in ((sparse.csr_matrix, (0, 300)), (sparse.csr_array, (0, 9, 9, 200, 300)))
    ]  # fmt: skip
    for one in found:
        np.testing.assert_array_equal(one.labels.compute(), wanted.labels)
        np.testing.assert_allclose(one.centers.toarray(), wanted.centers.toarray(), rtol=1e-13)
        np.testing.assert_allclose(one.distances.compute(), wanted.distances, atol=1e-14)
        assert one.inertia == pytest.approx(wanted.inertia, rel=1e-12)
        assert (one.n_iter, one.converged) == (wanted.n_iter, wanted.converged)
        assert (one.centers != found[0].centers).nnz == 0
        assert one.inertia == found[0].inertia
    assert sparse.isspmatrix(found[0].centers)
    assert not sparse.isspmatrix(found[1].centers)


@pytest.mark.parametrize("start", ["k-means++", "greedy", "k-means||", "random"])
def test_sparse_blocks_are_started_from_like_dense_ones(start):
    X = rows()
    options = {"init": start, "random_state": 1, "n_init": 2}
    dense = kseeds_dask.kmeans(da.from_array(X, chunks=(70, 40)), 8, **options)
    found = kseeds_dask.kmeans(in_blocks(X), 8, **options)
    assert found.seeding.indices.tolist() == dense.seeding.indices.tolist()
    np.testing.assert_array_equal(found.labels.compute(), dense.labels.compute())
    np.testing.assert_allclose(np.asarray(found), dense.centers, atol=1e-14)
    assert found.n_iter == dense.n_iter


def test_bad_data_is_named():
    X, _ = whole_numbers(100)
    X[85, 1] = np.nan
    with pytest.raises(ValueError, match=r"^partition 2 cannot be used: X has nan at row 5"):
        kseeds_dask.kmeans(da.from_array(X, chunks=40), 3)
    with pytest.raises(TypeError, match=r"^X is a ndarray; .* use kseeds\.kmeans for data"):
        kseeds_dask.kmeans(X, 3)
    with pytest.raises(ValueError, match=r"^init has 2 columns but the data has 3"):
        kseeds_dask.kmeans(da.from_array(X, chunks=40), 3, init=X[:3, :2])
    sparse_and_dense = da.concatenate([in_blocks(rows()), da.from_array(rows(), chunks=300)])
    with pytest.raises(ValueError, match=r"^X has sparse partitions and dense ones"):
        kseeds_dask.kmeans(sparse_and_dense, 3)


def test_a_warning_points_at_the_caller():
    with pytest.warns(kseeds.FewerDistinctPointsWarning) as seen:
        kseeds_dask.kmeans(da.ones((8, 1), chunks=4), 2, random_state=0)
    assert [one.filename for one in seen] == [__file__]
