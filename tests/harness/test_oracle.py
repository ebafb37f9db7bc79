"""The oracle is right, and sees what is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from tests.data import METRICS, NORMS
from tests.harness import oracle
from tests.harness.contents import KINDS, contents
from tests.harness.profiles import generated
from tests.harness.strategies import SEEDS


@generated(
    30, 300,
    kind=st.sampled_from(tuple(KINDS)),
    n=st.integers(1, 6),
    d=st.integers(1, 20),
    metric=st.sampled_from(NORMS),
    seed=SEEDS,
)  # fmt: skip
def test_long_double_agrees_with_fractions(kind, n, d, metric, seed):
    X = contents(kind, 2 * n, d, "float64", seed)
    table = oracle.distances(X[:n], X[n:], metric)
    for x, row in zip(X[:n], table, strict=True):
        for center, found in zip(X[n:], row, strict=True):
            squared = oracle.exact_squared(x, center, metric)
            wanted = np.sqrt(np.longdouble(squared.numerator) / np.longdouble(squared.denominator))
            assert abs(found - wanted) <= wanted * np.longdouble(1e-17) * (d + 8)


def test_every_metric_has_a_formula():
    assert set(oracle.FORMULAS) == set(METRICS)


def test_wrong_labels_are_refused():
    X = np.array([[0.0], [1.0], [2.0]])
    centers = np.array([[0.0], [2.0], [0.0]])
    labels, found = np.array([0, 0, 1], dtype=np.int32), np.array([0.0, 1.0, 0.0])
    oracle.check_nearest(X, centers, "euclidean", labels, found)
    for row, wrong, message in [(0, 1, "labelled"), (0, 2, "come first"), (1, 1, "lowest index")]:
        bad = labels.copy()
        bad[row] = wrong
        with pytest.raises(AssertionError, match=message):
            oracle.check_nearest(X, centers, "euclidean", bad, found)
    with pytest.raises(AssertionError, match="should be"):
        oracle.check_nearest(X, centers, "euclidean", labels, found + 0.001)
    oracle.check_potential(1.0, found, None, (1e-16, 0))
    with pytest.raises(AssertionError, match="potential"):
        oracle.check_potential(1.001, found, None, (1e-16, 0))
