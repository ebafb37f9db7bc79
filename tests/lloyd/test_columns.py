"""What is known of columns: right, and the same by NumPy, by kernels and on any threads."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from kseeds.inputs.sparse import sparse_rows
from kseeds.lloyd import columns
from kseeds.runtime.threads import Workers


@pytest.mark.parametrize("shape", [(1, 1), (5000, 1), (9000, 2), (20_000, 17), (70, 900)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_both_tiers_and_all_threads_agree(shape, dtype):
    X = (np.random.default_rng(0).normal(size=shape) * 3.0 + 100.0).astype(dtype)
    X.flags.writeable = False
    plain = columns._columns_of(X, Workers(1), columns._look_plainly)
    for threads in (1, 3):
        with Workers(threads) as workers:
            for one, other in zip(columns.columns_by_kernels(X, workers), plain, strict=True):
                np.testing.assert_array_equal(one, other)
    wide = X.astype(np.float64)
    np.testing.assert_array_equal(plain.largest, np.abs(wide).max(axis=0))
    np.testing.assert_allclose(plain.means, wide.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(plain.variances, wide.var(axis=0), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e8, 3e8])
def test_variances_of_sparse_columns_are_those_of_dense_ones(offset):
    """However far from 0 the values are, stored or not."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((3000, 6)) < [1.0, 0.9, 0.5, 0.1, 0.0, 1.0], offset, 0.0)
    X[X != 0.0] += rng.normal(size=np.count_nonzero(X))
    X[:, 5] = offset + 0.25
    found = columns.columns_of(sparse_rows(sparse.csr_array(X), "X"), Workers(1))
    np.testing.assert_array_equal(found.largest, np.abs(X).max(axis=0))
    np.testing.assert_allclose(found.means, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.variances, X.var(axis=0), rtol=1e-6, atol=1e-12)
