"""Data the tests share, all of it made here."""

from __future__ import annotations

import numpy as np

METRICS = ("euclidean", "manhattan", "chebyshev", "angular", "haversine")
ODDITIES = ("random", "duplicated", "collinear", "integers", "badly scaled", "clustered")


def points_of(kind: str, n: int, d: int, seed: int) -> np.ndarray:
    """Return n rows of d columns, none of them zero, with the named kind of trouble."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if kind == "duplicated":
        X = X[rng.integers(0, max(1, n // 3), size=n)]
    elif kind == "collinear":
        X = rng.integers(1, 9, size=(n, 1)) * np.ones((1, d)) + np.arange(d)
    elif kind == "integers":
        X = rng.integers(1, 4, size=(n, d)).astype(float)
    elif kind == "badly scaled":
        X = X * np.logspace(-6, 6, d) * np.where(rng.random((n, 1)) < 0.1, 1e4, 1.0)
    elif kind == "clustered":
        X = X * 0.01 + rng.integers(-3, 4, size=(n, d)) * 10.0 + 0.5
    return X


def fit_for(metric: str, X: np.ndarray) -> np.ndarray:
    """Return X as data the metric accepts."""
    if metric != "haversine":
        return X
    columns = np.column_stack([X[:, 0], X[:, -1]])
    return np.column_stack([np.arctan(columns[:, 0]), 2 * np.arctan(columns[:, 1])])
