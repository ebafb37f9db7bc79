"""The seeds start what people use next."""

from __future__ import annotations

import numpy as np
import pytest

import kseeds
from kseeds.laws import LAWS
from tests.distributed.common import whole_numbers


def test_seeds_start_scikit_learn():
    cluster = pytest.importorskip("sklearn.cluster")
    X, _ = whole_numbers()
    centers, _ = kseeds.kmeans_plusplus(X, 6, random_state=0)
    fitted = cluster.KMeans(6, init=centers, n_init=1).fit(X)
    assert fitted.inertia_ < kseeds.assign(X, centers).potential


def test_seeds_start_faiss():
    faiss = pytest.importorskip("faiss")
    X, _ = whole_numbers()
    X = X.astype(np.float32)
    centers, _ = kseeds.kmeans_plusplus(X, 6, random_state=0)
    kmeans = faiss.Kmeans(3, 6, niter=5, max_points_per_centroid=len(X))
    kmeans.train(X, init_centroids=centers)
    assert kmeans.obj[-1] < kseeds.assign(X, centers).potential


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scikit_learn_takes_the_functions_themselves(name, dtype):
    cluster = pytest.importorskip("sklearn.cluster")
    X = whole_numbers()[0].astype(dtype)
    function = getattr(kseeds, name)
    fitted = cluster.KMeans(6, init=function, n_init=1, max_iter=1, random_state=4).fit(X)
    # scikit-learn moves the data to its mean, and draws its seeds from there.
    state = np.random.RandomState(4)
    seeds = function(X - X.mean(axis=0), 6, random_state=state).centers + X.mean(axis=0)
    once = cluster.KMeans(6, init=seeds, n_init=1, max_iter=1).fit(X)
    np.testing.assert_allclose(fitted.cluster_centers_, once.cluster_centers_, rtol=1e-4)
    assert fitted.cluster_centers_.dtype == dtype
    cluster.MiniBatchKMeans(6, init=function, n_init=1, random_state=0).fit(X)
