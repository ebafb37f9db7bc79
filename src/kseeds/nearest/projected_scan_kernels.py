"""All pairs of sketches, 64 rows at a time, and whole rows for what they leave open.

Of every 16 centres only the least distance in the sketch is kept. A row looks at the most
promising centre first, whole, and then at those centres whose sketches are nearer than that.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kseeds.distances.pair_kernels import sum_of_squares
from kseeds.runtime.block_sizes import COLUMNS, LANES
from kseeds.runtime.compiler import inlined, kernel
from kseeds.simd.columns import group_minima

_GROUPS = 64
"""Groups of 16 centres looked at together: their distances stay in cache."""

_NEAR = 1 << 22
"""Coordinates of points that may be in cache."""

_least_of_group = group_minima()


@inlined
def _set_limit(limits: Any, c: int, best: float, relative: float, slack: float) -> None:
    """Set the largest distance in the sketch of a centre that may be as near as ``best``."""
    distance = math.sqrt(np.float64(best) * (1.0 + relative)) + slack
    limits[c] = distance * distance * (1.0 + relative)
    limits[c] = np.nextafter(limits[c], limits.dtype.type(np.inf))


@inlined
def _champion(table: Any, c: int, group: int) -> int:
    """Return the column of a group whose sketch is nearest to that of row c."""
    best_candidate = group * LANES
    least = table[best_candidate, c]
    for k in range(best_candidate + 1, group * LANES + LANES):
        less = table[k, c] < least
        best_candidate, least = (k if less else best_candidate), (table[k, c] if less else least)
    return best_candidate


@inlined
def _settle(
    points: Any, i: int, centers: Any, first: int, table: Any, leasts: Any, c: int, groups: int,
    best_candidate: int, offset: int, relative: float, slack: float, limits: Any, squared: Any,
    labels: Any,
) -> int:  # fmt: skip
    """Let row i meet what its sketch leaves open; return the distances computed."""
    best, near, looked = squared[i], -1, 1  # ties with what the row had before change nothing
    exact = sum_of_squares(points, i, centers, best_candidate)
    if exact < best:
        best, near = exact, best_candidate
        _set_limit(limits, c, best, relative, slack)
    for g in range(groups):
        if leasts[g, c] > limits[c]:
            continue
        for s in range(g * LANES, (g + 1) * LANES):
            k = first + s
            if table[s, c] > limits[c] or k == best_candidate:
                continue
            looked += 1
            exact = sum_of_squares(points, i, centers, k)
            if exact < best or (exact == best and k < near):
                best, near = exact, k
                _set_limit(limits, c, best, relative, slack)
    if near >= 0:
        squared[i], labels[i] = best, offset + near
    return looked


@kernel
def improve_rows(
    points: Any, centers: Any, sketches: Any, columns: Any, slack: Any, start: int, stop: int,
    offset: int, relative: float, squared: Any, labels: Any,
) -> int:  # fmt: skip
    """Let rows ``start`` to ``stop`` meet ``centers``, numbered from ``offset``.

    ``columns`` are the sketches of the centres as columns, infinite up to a multiple of 16.
    Sketches of row i are at most ``slack[i]`` farther apart than what they are sketches of.
    Overwrites ``squared`` and ``labels`` where a centre is strictly nearer, ties to the earlier.
    Returns how many distances of whole rows were computed.
    """
    dtype, (r, width) = sketches.dtype, columns.shape
    tile, table = np.zeros((r, COLUMNS), dtype), np.empty((_GROUPS * LANES, COLUMNS), dtype)
    leasts, least = np.empty((_GROUPS, COLUMNS), dtype), np.empty(COLUMNS, dtype)
    limits, chosen = np.empty(COLUMNS, dtype), np.empty(COLUMNS, np.int32)
    waiting = np.empty(COLUMNS, np.int64)
    far = points.size > _NEAR  # rows that are in cache need not be read ahead
    computed = 0
    for base in range(start, stop, COLUMNS):
        rows = min(COLUMNS, stop - base)
        for c in range(rows):
            _set_limit(limits, c, squared[base + c], relative, slack[base + c])
            for j in range(r):
                tile[j, c] = sketches[base + c, j]
        limits[rows:] = -1.0
        for first in range(0, width, _GROUPS * LANES):
            groups = (min(first + _GROUPS * LANES, width) - first) // LANES
            least[:] = np.inf
            for g in range(groups):
                _least_of_group(tile, columns, first + g * LANES, limits, table, leasts, g)
                for c in range(COLUMNS):
                    less = leasts[g, c] < least[c]
                    least[c] = leasts[g, c] if less else least[c]
                    chosen[c] = g if less else chosen[c]
            count = 0
            touched = dtype.type(0.0)
            for c in range(rows):
                if least[c] <= limits[c]:
                    waiting[count] = c
                    for j in range(0, points.shape[1] if far else 0, LANES):
                        touched += points[base + c, j]  # these reads do not wait for each other
                    count += 1
            least[0] = touched
            for at in range(count):
                c = waiting[at]
                best_candidate = first + _champion(table, c, chosen[c])
                computed += _settle(
                    points, base + c, centers, first, table, leasts, c, groups, best_candidate,
                    offset, relative, slack[base + c], limits, squared, labels,
                )  # fmt: skip
    return computed
