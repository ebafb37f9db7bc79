"""Lloyd's iteration in a few lines that share no code with kseeds, with exact sums of fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def lloyd(X, centers, weights=None, max_iter=300, tol=0.0):
    """Return centres, labels and the number of moves; empty clusters are not expected."""
    weights = np.ones(len(X)) if weights is None else weights
    before, done = np.full(len(X), -1), 0
    tol = tol * X.astype(np.float64).var(axis=0).mean()
    while done < max_iter:
        labels = nearest(X, centers)
        moved = np.array([mean(X, labels == c, weights) for c in range(len(centers))], X.dtype)
        done += 1
        shift = ((moved.astype(np.float64) - centers) ** 2).sum()
        centers = moved
        if np.array_equal(labels, before) or shift <= tol:
            break
        before = labels
    return centers, nearest(X, centers), done


def nearest(X, centers):
    table = [[_squared(x, c) for c in centers] for x in X]
    return np.argmin(np.array(table, dtype=X.dtype), axis=1)


def _squared(x, c):
    total = x.dtype.type(0.0)
    for a, b in zip(x, c, strict=True):  # as kseeds defines it, for fewer than 16 columns
        total += (a - b) * (a - b)
    return total


def mean(X, is_in, weights):
    """Return the weighted mean, correctly rounded to float64."""
    mass = sum(Fraction(float(w)) for w in weights[is_in])
    return [
        float(
            sum(
                Fraction(float(w)) * Fraction(float(x))
                for w, x in zip(weights[is_in], X[is_in, j], strict=True)
            )
            / mass
        )
        for j in range(X.shape[1])
    ]
