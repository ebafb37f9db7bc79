"""Totals of masses: those of fractions, rounded once, in any order and for any size."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from kseeds.distances.underflow import Lengths
from kseeds.distributed import exact_total
from kseeds.distributed.exact_total import ZERO, Total


@pytest.mark.parametrize("spread", [1, 40, 290])
def test_totals_are_those_of_fractions(spread, monkeypatch):
    monkeypatch.setattr(exact_total, "_ROWS", 37)
    rng = np.random.default_rng(0)
    values = rng.random(500) * 10.0 ** rng.integers(-spread, spread + 1, 500)
    values[::9] = 0.0
    parts = [Total.of(Lengths.of(part)) for part in np.split(values, [0, 3, 100, 101])]
    exact = sum(map(Fraction, values.tolist()))
    assert float(sum(parts, start=ZERO)) == float(exact)
    assert float(sum(parts[::-1], start=ZERO)) == float(exact)
    assert float(ZERO) == 0.0


def test_totals_beyond_float64_are_infinite_or_scaled():
    large = Lengths(np.array([0.5, 0.75]), np.array([1025, -2000]))
    assert float(Total.of(large)) == math.inf
    assert float(Total.of(Lengths(np.array([0.5, 0.25]), np.array([1, 2])))) == 2.0
    halves = Lengths.of(np.array([2.0**60, 1.0, 2.0**-60]))
    assert float(Total.of(halves)) == 2.0**60
    # Half a unit in the last place, and a little more, is rounded up.
    assert float(Total.of(Lengths.of(np.array([2.0**63, 2.0**10, 2.0**-20])))) == 2.0**63 + 2.0**11
    with pytest.raises(TypeError):
        ZERO + 1
