"""Data the tests share, all of it made here."""

from __future__ import annotations

from typing import Any

import numpy as np

from kseeds.distances.embeddings import GLOBE, UNIT_VECTORS
from kseeds.distances.metrics import METRICS as DEFINITIONS
from kseeds.distances.metrics import Family

METRICS = tuple(DEFINITIONS)
NORMS = tuple(name for name in METRICS if DEFINITIONS[name].embedding is None)
"""Of differences of rows: they scale with the data, and whole numbers are not rounded."""
DIRECTIONS = tuple(name for name in METRICS if DEFINITIONS[name].embedding is UNIT_VECTORS)
"""Blind to the lengths of rows, which must not be 0."""
PLACES = tuple(name for name in METRICS if DEFINITIONS[name].embedding is GLOBE)
"""Of latitude and longitude."""
NOT_EUCLIDEAN = tuple(name for name in METRICS if DEFINITIONS[name].family != Family.EUCLIDEAN)
"""Not computed by the kernel that trees over points, projections and products are for."""
OF_ANY_COLUMNS = tuple(name for name in METRICS if name not in PLACES)
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


def fit_for(metric: Any, X: np.ndarray) -> np.ndarray:
    """Return X as data that the metric accepts: no zero vectors, angles on a globe."""
    if metric in DIRECTIONS and not X.any(axis=1).all():
        X = X.copy()
        X[~X.any(axis=1), 0] = 1
    if metric in PLACES:
        with np.errstate(over="ignore"):
            pair = np.column_stack([X[:, 0], X[:, -1]])
        X = np.column_stack([np.arctan(pair[:, 0]), 2 * np.arctan(pair[:, 1])])
    return np.ascontiguousarray(X)
