"""The arc over a chord of the unit sphere, in arithmetic that is the same everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np

ARCSINE = (
    0.016602769612498076,
    0.004270340860880043,
    0.010737917095833134,
    0.01140917963397315,
    0.013978409523432149,
    0.017351910841988907,
    0.022372194253563876,
    0.030381943529738432,
    0.04464285715685518,
    0.0749999999998896,
    0.16666666666666702,
    1.0,
)
"""Chebyshev fit of asin(√z)/√z for z ≤ sin²(π/8), highest power first; error 2e-19."""


def arc_of(chord2: Any) -> Any:
    """Return the arc of the unit sphere over a squared chord of at most 2.

    2·asin(c/2), with the angle halved once more so that a short polynomial suffices: t =
    sin(arc/4). The arcsines of NumPy and of C libraries differ in the last bit, also from machine
    to machine. This uses only operations that IEEE 754 rounds correctly, so plain and compiled
    code, which share this function, agree everywhere. The error is below two units in the last
    place.
    """
    half2 = 0.25 * chord2
    t = np.sqrt(half2 / (2.0 * (1.0 + np.sqrt(1.0 - half2))))
    z = t * t
    value = 0.0 * z
    for coefficient in ARCSINE:
        value = value * z + coefficient
    return 4.0 * (t * value)
