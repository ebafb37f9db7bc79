"""Anything at all for any argument: an answer, or one sentence; never a foreign error."""

from __future__ import annotations

import array
import datetime
import decimal
import warnings

import dask.array
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from kseeds import (
    ClockQueue,
    FewerDistinctPointsWarning,
    VPTree,
    assign,
    kmeans_parallel,
    kmeans_plusplus,
)

X = np.random.default_rng(0).normal(size=(6, 2))
TREE = VPTree(X)


class BadRepr:
    def __repr__(self):
        raise RuntimeError


class BadArray:
    def __array__(self, dtype=None, copy=None):
        return "no"


class Rows:
    """The old protocol of sequences."""

    def __len__(self):
        return 3

    def __getitem__(self, row):
        return X[row]


class Sub(np.ndarray):
    pass


ODD = {
    "values": [
        None, True, 0, -1, 1.5, np.nan, 10**400, "a", b"a", decimal.Decimal(1), np.int64(3),
        np.uint8(2), np.str_("a"), np.float64(2), slice(3), ..., NotImplemented, object(),
        BadRepr(), BadArray(), datetime.datetime(2020, 1, 1), np.array(1.0), np.ma.masked,
    ],
    "lists": [
        [], [[]], {}, set(), range(6), array.array("d", [1.0] * 6), memoryview(X), Rows(),
        [[1, 2], 3], [[1, 2], "ab"], [[[1, 2]]], [X, X], [1, [2]], [[1j]], [[10**400]],
        [[decimal.Decimal("sNaN")]], [[decimal.Decimal("NaN")]], [["1", "2"]] * 6,
        [[np.datetime64(0, "s")]], [X[0], pd.Series(X[0])], [pl.Series(X[0])], [pa.array(X[0])],
        [[pa.scalar(1.0), 2]],
    ],
    "arrays": [
        np.array([]), np.zeros((0, 2)), np.array(["a"]), np.array([None]), X, X[0],
        X.astype(object), X.view(Sub), X.astype(np.longdouble), X.astype(np.float16), X > 0,
        X.astype(">f4"), X[::-1], np.asfortranarray(X), np.zeros((6, 2), "M8[s]"),
        np.zeros((6, 2), "m8[s]"), np.zeros((6, 2), "V8"), np.zeros((6, 2), "S3"),
        np.zeros(6, dtype=[("a", float), ("b", float)]), np.recarray((6,), dtype=[("a", float)]),
        sparse.eye_array(6), sparse.csr_array((6, 2)), sparse.coo_array(np.ones(6)),
        sparse.csr_array((6, 2), dtype=complex), dask.array.ones((6, 2)),
    ],
    "pandas": [
        pd.DataFrame(X), pd.Series(X[:, 0]), pd.DataFrame(), pd.DataFrame(index=range(6)), pd.NA,
        pd.NaT, pd.Timestamp(0), pd.Categorical([1, 2]), pd.interval_range(0, 6),
        pd.MultiIndex.from_arrays([[1], [2]]), pd.DataFrame(X).groupby(0),
        pd.period_range("2020", periods=6, freq="D"), pd.DataFrame({"a": pd.interval_range(0, 2)}),
    ],
    "polars and Arrow": [
        pl.DataFrame(X), pl.Series(X[:, 0]), pl.DataFrame(), pl.LazyFrame(X), pl.col("a"),
        pl.Series([[1.0, 2.0]]), pl.DataFrame({"a": [object()]}), pa.table({"a": [1.0]}),
        pa.table({}), pa.array([1.0]), pa.array([1.0] * 6), pa.scalar(1.0), pa.schema([]),
        pa.float64(), pa.chunked_array([], type=pa.float64()), pa.array([[1.0, 2.0]]),
    ],
}  # fmt: skip

OPTIONS = [
    "X", "n_clusters", "sample_weight", "metric", "initial_centers", "random_state", "algorithm",
    "n_threads", "progress", "oversampling", "keys", "in_range", "strategy", "batch", "speed",
]  # fmt: skip
CALLS = {
    f"{function.__name__}({option}, {algorithm})": (
        lambda value, function=function, option=option, algorithm=algorithm: function(
            **{"X": X, "n_clusters": 2, "algorithm": algorithm, "random_state": 0, option: value}
        )
    )
    for function in (kmeans_plusplus, kmeans_parallel)
    for option in OPTIONS
    for algorithm in ("auto", "paper")
}
CALLS |= {
    "assign(X)": lambda value: assign(value, X),
    "assign(centers)": lambda value: assign(X, value),
    "assign(sample_weight)": lambda value: assign(X, X, sample_weight=value),
    "assign(metric)": lambda value: assign(X, X, metric=value),
    "assign(n_threads)": lambda value: assign(X, X, n_threads=value),
    "VPTree(points)": VPTree,
    "VPTree(metric)": lambda value: VPTree(X, metric=value),
    "nearest_in_range(queries)": TREE.nearest_in_range,
    "nearest_in_range(radii)": lambda value: TREE.nearest_in_range(X, value),
    "nearest_in_range(n_threads)": lambda value: TREE.nearest_in_range(X, n_threads=value),
    "ClockQueue(keys)": ClockQueue,
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("call", CALLS)
def test_any_argument_gives_an_answer_or_one_sentence(call, kind):
    for value in ODD[kind]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", FewerDistinctPointsWarning)
                CALLS[call](value)
        except (TypeError, ValueError) as error:
            message = str(error)
            assert "\n" not in message
            assert message.endswith(".")
            assert len(message) < 400
            assert "expected" not in message, "NumPy's words"
