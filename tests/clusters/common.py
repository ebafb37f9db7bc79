"""Data on which all sums are exact, so that partitions cannot change an answer."""

from __future__ import annotations

import numpy as np

N = 3000
K = 25


def whole_numbers(n=N, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)) * 50.0)
    return X, rng.integers(0, 4, n).astype(np.float64)


def cuts_of(n, parts, seed=0):
    """Return uneven borders of partitions; some of them may be empty."""
    inner = np.sort(np.random.default_rng(seed).integers(0, n + 1, parts - 1))
    return [0, *inner.tolist(), n]
