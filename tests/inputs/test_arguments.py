"""Bad arguments: one sentence that names the argument, the value and the remedy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from kseeds import greedy_kmeans_plusplus, kmeans_parallel, kmeans_plusplus

X = np.random.default_rng(0).normal(size=(10, 3))
NAN, INF = X.copy(), X.copy()
NAN[4, 2], INF[7, 0] = np.nan, -np.inf

BOTH = [
    ({"n_clusters": 0}, ValueError, r"n_clusters=0 is too small; pass a whole number of at least"),
    ({"n_clusters": -3}, ValueError, r"n_clusters=-3"),
    ({"n_clusters": 2.0}, TypeError, r"n_clusters=2\.0 is not an integer"),
    ({"n_clusters": True}, TypeError, r"n_clusters=True is not an integer"),
    ({"n_clusters": 11}, ValueError, r"n_clusters=11 is more than the 10 rows of X; .* at most 10"),
    ({"X": NAN}, ValueError, r"X has nan at row 4, column 2; drop or fill"),
    ({"X": INF}, ValueError, r"X has -inf at row 7, column 0"),
    ({"X": X[0]}, ValueError, r"X has 1 dimensions, not 2; use X\.reshape\(-1, 1\)"),
    ({"X": X[None]}, ValueError, r"X has 3 dimensions, not 2"),
    ({"X": X[:0]}, ValueError, r"X is empty \(shape \(0, 3\)\)"),
    ({"X": X[:, :0]}, ValueError, r"X is empty \(shape \(10, 0\)\)"),
    ({"X": []}, ValueError, r"X is empty \(shape \(0,\)\)"),
    ({"X": X + 1j}, TypeError, r"X has complex dtype complex128; pass real numbers"),
    ({"X": np.array([["a", "b"]] * 10)}, TypeError, r"X has dtype <U1, which is not numeric"),
    (
        {"X": np.array([["1", 2]] * 10, dtype=object)},
        TypeError,
        r"X has '1' at row 0, column 0, which is not a number",
    ),
    ({"X": [[1, 2], [3]]}, ValueError, r"X has rows of different lengths"),
    ({"X": None}, TypeError, r"X is None, which is not an array"),
    ({"X": np.ma.masked_less(X, X.mean())}, TypeError, r"X is a masked array with masked entries"),
    ({"X": pd.DataFrame({"a": [1.0], "b": ["x"]}), "n_clusters": 1}, TypeError, r"column 'b'"),
    ({"X": pl.DataFrame({"a": [1.0], "b": ["x"]}), "n_clusters": 1}, TypeError, r"column 'b'"),
    ({"X": pa.table({"a": [1.0], "b": ["x"]}), "n_clusters": 1}, TypeError, r"column 'b'"),
    (
        {"X": pd.DataFrame({"a": [1.0, None, 2.0]})},
        ValueError,
        r"X has nan at row 1, column 'a'; drop",
    ),
    (
        {"X": pl.DataFrame({"a": [1.0, None, 2.0]})},
        ValueError,
        r"X has nan at row 1, column 'a'; drop",
    ),
    ({"X": pa.table({"a": [1, None, 2]})}, ValueError, r"X has nan at row 1, column 'a'; drop"),
    ({"X": sparse.csr_array((9, 2**31))}, ValueError, r"X has 2147483648 columns, more than the"),
    ({"sample_weight": np.ones(9)}, ValueError, r"sample_weight has shape \(9,\); .* the 10 rows"),
    ({"sample_weight": np.ones((10, 1))}, ValueError, r"sample_weight has shape \(10, 1\)"),
    ({"sample_weight": [-1.0] + [1.0] * 9}, ValueError, r"sample_weight has -1\.0 at row 0"),
    ({"sample_weight": [1.0, np.nan] + [1.0] * 8}, ValueError, r"sample_weight has nan at row 1"),
    ({"sample_weight": [1.0, np.inf] + [1.0] * 8}, ValueError, r"sample_weight has inf at row 1"),
    ({"sample_weight": np.zeros(10)}, ValueError, r"sample_weight is 0 for every row"),
    ({"sample_weight": [1.0] + [0.0] * 9}, ValueError, r"n_clusters=3 is more than the 1 rows"),
    ({"sample_weight": ["a"] * 10}, TypeError, r"sample_weight has dtype"),
    ({"metric": "hamming"}, ValueError, r"metric='hamming' is unknown; use one of euclidean, "),
    ({"metric": "haversine"}, ValueError, r"X has 3 columns; metric='haversine' takes two"),
    ({"X": [[52.0, 13.0]] * 3, "metric": "haversine"}, ValueError, r"not a latitude in radians"),
    ({"X": [[0.5, 13.0]] * 3, "metric": "haversine"}, ValueError, r"not a longitude in radians"),
    ({"X": np.eye(4)[:, :3], "metric": "angular"}, ValueError, r"zero vector at row 3"),
    ({"initial_centers": X[:, :2]}, ValueError, r"initial_centers has 2 columns but .* has 3"),
    ({"initial_centers": X[0]}, ValueError, r"use initial_centers\.reshape\(1, -1\) for a"),
    ({"initial_centers": NAN}, ValueError, r"initial_centers has nan at row 4, column 2"),
    ({"initial_centers": X * 1e300}, ValueError, r"initial_centers reaches .* check its units"),
    ({"random_state": "a"}, TypeError, r"random_state='a' is not a random state; pass None"),
    ({"random_state": 1.5}, TypeError, r"random_state=1\.5"),
    ({"random_state": -1}, ValueError, r"random_state=-1 is negative"),
    (
        {"algorithm": "quick"},
        ValueError,
        r"algorithm='quick' is unknown to .*; use one of ",
    ),
    ({"algorithm": None}, ValueError, r"algorithm=None is unknown"),
    ({"n_threads": 0}, ValueError, r"n_threads=0 is too small"),
    ({"n_threads": "2"}, TypeError, r"n_threads='2' is not an integer"),
    ({"progress": "yes"}, TypeError, r"progress='yes' is not possible"),
    ({"progress": X}, TypeError, r"progress=array\(\[\[.*\.\.\. is not possible"),
]


@pytest.mark.parametrize("function", [kmeans_plusplus, greedy_kmeans_plusplus, kmeans_parallel])
@pytest.mark.parametrize(("change", "error", "message"), BOTH)
def test_a_bad_argument_of_both_functions_is_named(function, change, error, message):
    with pytest.raises(error, match=message) as caught:
        function(**{"X": X, "n_clusters": 3, **change})
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("function", "change", "error", "message"),
    [
        (kmeans_plusplus, {"keys": "none"}, ValueError, r"keys='none' .* use 'clock' or 'printed'"),
        (kmeans_plusplus, {"queue": 1}, ValueError, r"queue=1 is not possible; use True or False"),
        (kmeans_parallel, {"in_range": "no"}, ValueError, r"in_range='no' is not possible"),
        (kmeans_parallel, {"oversampling": 0}, ValueError, r"oversampling=0 is out of range; .*ab"),
        (kmeans_parallel, {"oversampling": -2.0}, ValueError, r"oversampling=-2\.0"),
        (kmeans_parallel, {"oversampling": np.nan}, ValueError, r"oversampling=nan"),
        (
            kmeans_parallel,
            {"oversampling": 10**400},
            ValueError,
            r"oversampling=10*\.\.\. is out of",
        ),
        (kmeans_parallel, {"oversampling": "2"}, TypeError, r"oversampling='2' is not a number"),
        (
            kmeans_parallel,
            {"reduction": "kmeans++"},
            ValueError,
            r"'kmeans\+\+' is not possible; use",
        ),
        (kmeans_parallel, {"reduction": 2}, ValueError, r"use 'k-means\+\+' or 'greedy'\.$"),
        (kmeans_parallel, {"rounds": 0}, ValueError, r"rounds=0 is too small"),
        (kmeans_parallel, {"rounds": 2.5}, TypeError, r"rounds=2\.5 is not an integer"),
    ],
)
def test_a_bad_option_of_one_function_is_named(function, change, error, message):
    with pytest.raises(error, match=message):
        function(X, 3, algorithm="paper", **change)


@pytest.mark.parametrize(
    ("trials", "error", "message"),
    [
        (0, ValueError, r"n_local_trials=0 is too small; pass a whole number of at least 1\.$"),
        (-1, ValueError, r"n_local_trials=-1 is too small"),
        (2.0, TypeError, r"n_local_trials=2\.0 is not an integer"),
        (True, TypeError, r"n_local_trials=True is not an integer"),
        ("auto", TypeError, r"n_local_trials='auto' is not an integer"),
        (2**31, ValueError, r"n_local_trials=2147483648 is too large"),
    ],
)
def test_a_bad_number_of_trials_is_named(trials, error, message):
    generator = np.random.default_rng(0)
    before = generator.bit_generator.state
    with pytest.raises(error, match=message):
        greedy_kmeans_plusplus(X, 3, n_local_trials=trials, random_state=generator)
    assert generator.bit_generator.state == before
