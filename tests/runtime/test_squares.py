"""Sums of squares see every value."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kseeds.runtime.squares import sum_of_squares


@pytest.mark.parametrize("size", [1, 8191, 8192, 8193, 40_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_value_counts(size, dtype):
    values = (np.arange(size) % 7 - 3).astype(dtype)
    assert sum_of_squares(values) == float(np.square(values, dtype=np.float64).sum())
    for place in (0, size // 2, size - 1):
        for odd in (np.nan, np.inf, -np.inf):
            changed = values.copy()
            changed[place] = odd
            assert not math.isfinite(sum_of_squares(changed))
