"""Principal coordinates of rows and the norm of what they leave out, 64 rows at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.compiler import kernel


@kernel
def project_rows(
    points: Any, start: int, stop: int, mean: Any, directions: Any, projected: Any
) -> float:
    """Project the rows from ``start`` to ``stop``; return the largest squared norm about the mean.

    In double precision throughout: the norm of the rest is a difference of squares.
    """
    (d, count), one = directions.shape, np.uint64(1)
    tile = np.empty((d, COLUMNS))
    along = np.empty((count, COLUMNS))
    rest = np.empty(COLUMNS)
    largest = 0.0
    for first in range(start, stop, COLUMNS):
        rows = min(COLUMNS, stop - first)
        i = np.uint64(first)
        for c in range(rows):
            for j in range(d):
                tile[j, c] = points[i, j]
            i += one
        along[:], rest[:] = 0.0, 0.0
        for j in range(d):
            for c in range(COLUMNS):
                tile[j, c] -= mean[j]
                rest[c] += tile[j, c] * tile[j, c]
            for k in range(count):
                weight = directions[j, k]
                for c in range(COLUMNS):
                    along[k, c] += weight * tile[j, c]
        for c in range(rows):
            largest = max(largest, rest[c])
        for k in range(count):
            for c in range(COLUMNS):
                rest[c] -= along[k, c] * along[k, c]
        for c in range(rows):
            for k in range(count):
                projected[first + c, k] = along[k, c]
            projected[first + c, count] = math.sqrt(max(rest[c], 0.0))
    return largest
