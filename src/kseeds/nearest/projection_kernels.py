"""Principal coordinates of rows and the norm of what they leave out, 64 rows at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.compiler import kernel


@kernel
def project_rows(
    points: Any, start: int, stop: int, mean: Any, directions: Any, projected: Any,
    tile: Any, along: Any, rest: Any,
) -> float:  # fmt: skip
    """Project the rows from ``start`` to ``stop``; return the largest squared norm about the mean.

    In double precision throughout: the norm of the rest is a difference of squares. ``tile``,
    ``along`` and ``rest`` are workspaces: 64 rows as columns, their projections, and what is left.
    """
    (d, count), one = directions.shape, np.uint64(1)
    largest = 0.0
    for first in range(start, stop, COLUMNS):
        rows = COLUMNS if first + COLUMNS < stop else stop - first
        i = np.uint64(first)
        for c in range(rows):
            for j in range(d):
                tile[j, c] = points[i, j]
            i += one
        for c in range(COLUMNS):
            rest[c] = 0.0
        for k in range(count):
            for c in range(COLUMNS):
                along[k, c] = 0.0
        for j in range(d):
            for c in range(COLUMNS):
                tile[j, c] -= mean[j]
                rest[c] += tile[j, c] * tile[j, c]
            for k in range(count):
                weight = directions[j, k]
                for c in range(COLUMNS):
                    along[k, c] += weight * tile[j, c]
        for c in range(rows):
            largest = rest[c] if rest[c] > largest else largest
        for k in range(count):
            for c in range(COLUMNS):
                rest[c] -= along[k, c] * along[k, c]
        for c in range(rows):
            for k in range(count):
                projected[first + c, k] = along[k, c]
            projected[first + c, count] = math.sqrt(rest[c]) if rest[c] > 0.0 else 0.0
    return largest
