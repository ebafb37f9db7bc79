"""Sparse data as dense, and numbers that the precision of the computation does not hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from kseeds import VPTree, assign, kmeans_parallel, kmeans_plusplus


def sparse_cases():
    dense = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 5.0], [3.0, 3.0, 3.0]])
    for kind in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil"):
        for make in ("array", "matrix"):
            yield dense, getattr(sparse, f"{kind}_{make}")(dense)
    rows, columns = [3, 0, 3, 1, 2, 0, 3, 3], [2, 1, 1, 0, 2, 0, 0, 2]
    entries = [1.0, 2.0, 3.0, 1.0, 5.0, 0.0, 3.0, 2.0]  # unsorted, one twice, one zero
    whole = sparse.coo_array((entries, (rows, columns)), shape=(4, 3))
    yield dense, whole
    pointers, places = [0, 2, 3, 4, 8], [1, 0, 0, 2, 2, 1, 0, 2]
    yield dense, sparse.csr_array(([2.0, 0, 1, 5, 1, 3, 3, 2], places, pointers), shape=(4, 3))
    yield dense, sparse.csr_array(dense.astype(np.int8))


@pytest.mark.parametrize(("dense", "matrix"), list(sparse_cases()))
def test_sparse_is_the_same_as_dense(dense, matrix):
    before = matrix.copy()
    for function in (kmeans_plusplus, kmeans_parallel):
        wanted = function(dense, 3, initial_centers=dense[:1], random_state=1)
        found = function(matrix, 3, initial_centers=matrix.tocsr()[[0]], random_state=1)
        np.testing.assert_array_equal(found.indices, wanted.indices)
        assert sparse.issparse(found.centers)
        np.testing.assert_array_equal(found.centers.toarray(), wanted.centers)
        np.testing.assert_array_equal(found.distances, wanted.distances)
    np.testing.assert_array_equal(assign(matrix, matrix).labels, [0, 1, 2, 3])
    np.testing.assert_array_equal(before.toarray(), matrix.toarray())


def test_sparse_weights_are_weights():
    weights = np.array([0.0, 2.0, 0.0, 1.0])
    found = kmeans_plusplus(np.eye(4), 2, sample_weight=sparse.coo_array(weights), random_state=0)
    assert sorted(found.indices.tolist()) == [1, 3]
    with pytest.raises(ValueError, match=r"sample_weight has shape \(4, 1\)"):
        kmeans_plusplus(np.eye(4), 2, sample_weight=sparse.csr_array(weights[:, None]))


def test_a_sparse_frame_too_large_to_be_dense_is_refused():
    column = pd.arrays.SparseArray(np.zeros(1000))
    frame = pd.DataFrame(dict.fromkeys(range(3), column))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kseeds.inputs.dtypes.DENSE_BYTES", 20_000)
        with pytest.raises(ValueError, match=r"X is a sparse frame of shape \(1000, 3\)"):
            kmeans_plusplus(frame, 1)


HUGE = np.array([["1e300", "1e4000"], ["2", "3"]], dtype=np.longdouble)


def test_long_doubles_beyond_float64_are_refused():
    message = r"X has 1e\+4000 at row 0, column 1, which is more than float64 holds; rescale it"
    for data in (HUGE, list(HUGE), pd.DataFrame(HUGE)):
        with pytest.raises(ValueError, match=message):
            kmeans_plusplus(data, 1)
    mixed = pd.DataFrame({"a": [True, False], "b": HUGE[:, 1]})
    with pytest.raises(ValueError, match=message):
        kmeans_plusplus(mixed, 1)
    with pytest.raises(ValueError, match=r"sample_weight has 1e\+4000 at row 0, which is more"):
        kmeans_plusplus(np.eye(2), 1, sample_weight=HUGE[:, 1])
    with pytest.raises(ValueError, match=r"X has inf at row 0, column 0; drop or fill"):
        kmeans_plusplus(np.full((1, 1), np.inf, dtype=np.longdouble), 1)


def test_centres_beyond_float32_are_refused():
    X = np.eye(3, dtype=np.float32)
    far = np.zeros((2, 3))
    far[1, 2] = 1e300
    message = r" has 1e\+300 at row 1, column 2, which is more than the float32 of the data holds; "
    with pytest.raises(ValueError, match="^initial_centers" + message + "pass the data as float64"):
        kmeans_plusplus(X, 1, initial_centers=far)
    with pytest.raises(ValueError, match="^centers" + message):
        assign(X, far)
    with pytest.raises(ValueError, match="^queries" + message):
        VPTree(X).nearest_in_range(far)
    with pytest.raises(ValueError, match=r"^queries has -1e\+300 at row 4999, column 0, which is"):
        VPTree(X).nearest_in_range(np.eye(6000, 3, k=-4999) * -1e300)
    with pytest.raises(ValueError, match="initial_centers has inf at row 0, column 0; drop"):
        kmeans_plusplus(X, 1, initial_centers=np.full((1, 3), np.inf))
