"""`kseeds.sklearn.kmeans_plusplus`: what scikit-learn's has, and what it has not."""

from __future__ import annotations

import inspect

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn.cluster

import kseeds
from kseeds.sklearn import kmeans_plusplus
from tests.sklearn.common import blobs

X = blobs()


def test_the_signature_is_theirs():
    theirs = inspect.signature(sklearn.cluster.kmeans_plusplus).parameters.values()
    ours = inspect.signature(kmeans_plusplus).parameters.values()
    assert [(p.name, p.kind, p.default) for p in ours] == [
        (p.name, p.kind, p.default) for p in theirs
    ]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_centres_are_rows_in_the_precision_of_the_data(dtype):
    data = X.astype(dtype)
    centers, indices = kmeans_plusplus(data, 7, random_state=0)
    assert (centers.dtype, indices.dtype) == (dtype, np.int64)
    assert np.array_equal(centers, data[indices])


def test_the_seeds_are_greedy_ones():
    state = np.random.RandomState(5)
    expected = kseeds.greedy_kmeans_plusplus(X, 9, random_state=np.random.RandomState(5)).indices
    assert kmeans_plusplus(X, 9, random_state=state)[1].tolist() == expected.tolist()
    one = kseeds.greedy_kmeans_plusplus(
        X, 9, n_local_trials=1, random_state=np.random.RandomState(5)
    )
    found = kmeans_plusplus(X, 9, random_state=5, n_local_trials=1)[1]
    assert found.tolist() == one.indices.tolist()


@pytest.mark.parametrize(
    "make",
    [
        np.ndarray.tolist,
        np.asfortranarray,
        pd.DataFrame,
        lambda x: x.astype(int),
        scipy.sparse.csr_array,
        scipy.sparse.coo_matrix,
    ],
    ids=["list", "Fortran order", "frame", "integers", "sparse array", "sparse matrix"],
)
def test_containers_have_the_seeds_of_an_array(make):
    whole = np.round(X)
    expected, rows = kmeans_plusplus(whole, 6, random_state=1)
    centers, indices = kmeans_plusplus(make(whole), 6, random_state=1)
    assert indices.tolist() == rows.tolist()
    assert np.array_equal(centers, expected)
    assert centers.dtype == np.float64


def test_the_random_state_means_what_it_means_in_scikit_learn():
    np.random.seed(3)  # noqa: NPY002 - what None stands for
    first = kmeans_plusplus(X, 9)[1].tolist()
    second = kmeans_plusplus(X, 9)[1].tolist()
    np.random.seed(3)  # noqa: NPY002
    assert kmeans_plusplus(X, 9)[1].tolist() == first != second
    assert kmeans_plusplus(X, 9, random_state=3)[1].tolist() == first
    a, b = (kmeans_plusplus(X, 9, random_state=np.random.default_rng(2))[1] for _ in range(2))
    assert a.tolist() == b.tolist()


def test_no_row_twice_among_duplicates():
    with pytest.warns(kseeds.FewerDistinctPointsWarning):
        centers, indices = kmeans_plusplus(np.ones((10, 2)), 4, random_state=0)
    assert len(set(indices.tolist())) == 4
    assert (centers == 1.0).all()


def test_weights_are_honoured():
    weights = np.zeros(len(X))
    weights[::40] = 1.0
    for seed in range(20):
        indices = kmeans_plusplus(X, 5, sample_weight=weights, random_state=seed)[1]
        assert (weights[indices] == 1.0).all()


@pytest.mark.parametrize("trials", [None, 1])
def test_truly_sparse_data_has_the_seeds_of_kseeds_in_an_array(trials):
    data = scipy.sparse.random(2_000, 300, 0.01, format="csr", random_state=0)
    centers, indices = kmeans_plusplus(data, 9, random_state=0, n_local_trials=trials)
    expected = kseeds.greedy_kmeans_plusplus(
        data, 9, n_local_trials=trials, random_state=np.random.RandomState(0)
    )
    assert indices.tolist() == expected.indices.tolist()
    assert isinstance(centers, np.ndarray)
    assert np.array_equal(centers, data[indices].toarray())


def test_norms_are_not_needed():
    expected = kmeans_plusplus(X, 5, random_state=0)[1].tolist()
    norms = (X**2).sum(axis=1)
    assert kmeans_plusplus(X, 5, x_squared_norms=norms, random_state=0)[1].tolist() == expected
    sparse = scipy.sparse.random(2_000, 300, 0.01, format="csr", random_state=0)
    assert len(kmeans_plusplus(sparse, 5, x_squared_norms=np.ones(2_000))[1]) == 5


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0 is too small"),
        ({"n_clusters": 2.0}, "n_clusters=2.0 is not an integer"),
        ({"n_clusters": len(X) + 1}, "is more than the 240 rows of X"),
        ({"n_local_trials": 0}, "n_local_trials=0 is too small"),
        ({"x_squared_norms": X[:2]}, r"x_squared_norms \(2\) .* n_samples \(240\); leave it out"),
        ({"x_squared_norms": 3}, "x_squared_norms is an int"),
        ({"sample_weight": np.eye(1, len(X))[0]}, "more than the 1 rows with positive"),
        ({"sample_weight": [1.0]}, r"sample_weight has shape \(1,\)"),
        ({"random_state": "today"}, "cannot be used to seed"),
    ],
)
def test_errors_name_the_argument_and_a_remedy(keywords, message):
    with pytest.raises((TypeError, ValueError), match=message):
        kmeans_plusplus(**{"X": X, "n_clusters": 3, **keywords})
