"""Lazy k-means++ reads the values once, in its first pass; bad ones must not slip through."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kseeds import kmeans_plusplus
from tests.data import OF_ANY_COLUMNS, points_of

KERNELS = ["plain", "compiled"]
SETTINGS = settings(max_examples=60, deadline=None, derandomize=True)


@SETTINGS
@given(
    st.sampled_from([np.nan, np.inf, -np.inf]),
    st.integers(0, 199),
    st.sampled_from([1, 3, 15, 16, 20]),
    st.sampled_from(OF_ANY_COLUMNS),
    st.sampled_from(KERNELS),
    st.booleans(),
    st.data(),
)
def test_a_bad_value_anywhere_is_found(value, row, d, metric, kernels, weighted, data):
    X = points_of("random", 200, d, 0)
    column = data.draw(st.integers(0, d - 1))
    X[row, column] = value
    weights = np.ones(200) if weighted else None
    if weighted:
        weights[row] = 0.0
    with pytest.raises(ValueError, match=f"X has {value} at row {row}, column {column}"):
        kmeans_plusplus(
            X, 5, metric=metric, sample_weight=weights, random_state=1,
            algorithm="lazy", kernels=kernels,
        )  # fmt: skip


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scales_whose_squares_vanish_or_overflow_are_noticed(kernels, dtype):
    X = points_of("random", 300, 3, 0).astype(dtype)
    keywords = {"random_state": 0, "algorithm": "lazy", "kernels": kernels}
    plain = kmeans_plusplus(X, 20, **keywords)
    for exponent in (np.finfo(dtype).maxexp - 5, np.finfo(dtype).minexp + 5):
        scaled = kmeans_plusplus(np.ldexp(X, exponent), 20, **keywords)
        assert scaled.indices.tolist() == plain.indices.tolist()


def test_a_single_seed_is_checked_too():
    with pytest.raises(ValueError, match="X has nan at row 3"):
        kmeans_plusplus([[0.0], [1.0], [2.0], [np.nan]], 1)
