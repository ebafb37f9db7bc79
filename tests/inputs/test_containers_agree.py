"""Containers, orders of memory and whole numbers change no answer."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from kseeds import kmeans_parallel, kmeans_plusplus

FUNCTIONS = [kmeans_plusplus, kmeans_parallel]


def _containers(X):
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    memory = np.asfortranarray(X)
    frozen = X.copy()
    frozen.flags.writeable = False
    return {
        "fortran": memory,
        "read-only": frozen,
        "strided": np.repeat(X, 2, axis=0)[::2],
        "reversed twice": X[::-1].copy()[::-1],
        "list": X.tolist(),
        "csr": sparse.csr_matrix(X),
        "csr array": sparse.csr_array(X),
        "pandas": frame,
        "pandas nullable": frame.astype("Float64"),
        "polars": pl.from_pandas(frame),
        "arrow": pa.Table.from_pandas(frame),
        "arrow batch": pa.RecordBatch.from_pandas(frame),
        "big-endian": X.astype(X.dtype.newbyteorder(">")),
    }


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("container", _containers(np.zeros((1, 1))))
def test_containers_and_orders_change_no_seed(function, container):
    X = np.random.default_rng(1).normal(size=(90, 5))
    plain = function(X, 9, random_state=2)
    other = function(_containers(X)[container], 9, random_state=2)
    assert other.indices.tolist() == plain.indices.tolist()
    np.testing.assert_array_equal(np.asarray(other), plain.centers)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "bool", "float16"])
def test_whole_numbers_become_floats_that_hold_them(dtype):
    X = np.random.default_rng(1).integers(0, 2, size=(60, 8)).astype(dtype)
    small = np.dtype(dtype).itemsize <= 2
    wanted = np.float32 if small else np.float64
    found = kmeans_plusplus(X, 5, random_state=0)
    assert found.centers.dtype == wanted
    plain = kmeans_plusplus(X.astype(wanted), 5, random_state=0)
    assert found.indices.tolist() == plain.indices.tolist()


def test_containers_of_weights_change_no_seed():
    X, w = np.arange(20.0)[:, None] ** 1.5, np.arange(20) % 4
    plain = kmeans_plusplus(X, 4, sample_weight=w, random_state=0)
    for other in (w.tolist(), pd.Series(w), pl.Series(w), pa.array(w), pa.chunked_array([w])):
        found = kmeans_plusplus(X, 4, sample_weight=other, random_state=0)
        assert found.indices.tolist() == plain.indices.tolist()
