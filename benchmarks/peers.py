"""The peers behind one signature; those that are not installed are left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Seeder = Callable[[Any, int, int], Any]


def _sklearn() -> Seeder:
    from sklearn.cluster import kmeans_plusplus

    return lambda X, k, seed: kmeans_plusplus(X, k, n_local_trials=1, random_state=seed)


def _onedal() -> Seeder:
    import daal4py

    def seed(X: Any, k: int, state: int) -> Any:
        engine = daal4py.engines_mt19937(seed=state)
        method = daal4py.kmeans_init(
            nClusters=k, method="plusPlusDense", fptype="float", engine=engine
        )
        return method.compute(X)

    return seed


def _faiss() -> Seeder:
    import faiss

    def seed(X: Any, k: int, state: int) -> Any:
        method = faiss.ClusteringInitialization(X.shape[1], k)
        method.method = faiss.ClusteringInitMethod_KMEANS_PLUS_PLUS
        method.seed = state
        centers = np.empty((k, X.shape[1]), dtype=np.float32)
        method.init_centroids(len(X), faiss.swig_ptr(X), faiss.swig_ptr(centers))
        return centers

    return seed


def _onedal_parallel() -> Seeder:
    import daal4py

    def seed(X: Any, k: int, state: int) -> Any:
        method = daal4py.kmeans_init(
            nClusters=k, method="parallelPlusDense", fptype="float", oversamplingFactor=2.0,
            nRounds=5, engine=daal4py.engines_mt19937(seed=state),
        )  # fmt: skip
        return method.compute(X)

    return seed


def installed() -> dict[str, Seeder]:
    """Return the k-means++ of the peers that can be imported here."""
    return _importable({"scikit-learn": _sklearn, "oneDAL": _onedal, "faiss": _faiss})


def installed_parallel() -> dict[str, Seeder]:
    """Return the k-means|| of the peers that can be imported here."""
    return _importable({"oneDAL": _onedal_parallel})


def _importable(makers: dict[str, Callable[[], Seeder]]) -> dict[str, Seeder]:
    found = {}
    for name, make in makers.items():
        try:
            found[name] = make()
        except ImportError as error:
            print(f"{name} is left out: {error}")
    return found
