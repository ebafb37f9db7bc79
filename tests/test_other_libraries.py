"""The seeds start what people use next."""

from __future__ import annotations

import numpy as np
import pytest

import kseeds
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
