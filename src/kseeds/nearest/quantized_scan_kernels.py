"""Projections of rows in steps, for products of bytes; see `kseeds.nearest.quantized_scan`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kseeds.nearest.steps_kernels import UNBOUNDED, Factors, Steps, Tile, set_steps
from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.compiler import kernel

_ABOVE = 1.0 + 2.0**-22
"""More than rounding to single precision takes off."""


@kernel
def keep_projections(
    projected: Any, first: int, squared_norms: Any, missed: Any, factors: Factors, steps: Steps,
    tile: Tile,
) -> None:  # fmt: skip
    """Keep projections of the rows from number ``first`` on, a multiple of 64, in steps.

    The rows have these ``squared_norms``, and their true projections are at most as far from
    ``projected`` as ``missed`` says.
    """
    n = projected.shape[0]
    for low in range(0, n, COLUMNS):
        rows, at = COLUMNS if low + COLUMNS < n else n - low, (first + low) // COLUMNS
        set_steps(projected, low, rows, factors, at, steps, tile)
        if steps.state[at] == UNBOUNDED:
            continue
        for c in range(rows):
            steps.norms[at, c] = squared_norms[low + c]
            left = math.sqrt(np.float64(steps.errors[at, c])) + missed[low + c]
            steps.errors[at, c] = _ABOVE * (left * left)
