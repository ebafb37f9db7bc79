"""All pairs of projections, 64 rows at a time, and whole rows for what they leave open.

Of every 16 centres only the least distance of projections is kept. A row is compared with the most
promising centre first, whole, and then with those centres whose projections are nearer than that.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from kseeds.distances.pair_kernels import sum_of_squares
from kseeds.runtime.aligned import aligned
from kseeds.runtime.block_sizes import COLUMNS, LANES
from kseeds.runtime.compiler import inlined, kernel
from kseeds.simd.columns import group_minima

_GROUPS = 64
"""Groups of 16 centres looked at together: their distances stay in cache."""

_IN_CACHE = 1 << 22
"""Coordinates of points that may be in cache."""

_least_of_group = group_minima()


class Projected(NamedTuple):
    """Projections of the rows and, as columns, of the centres, infinite up to a multiple of 16.

    Those of row i are at most ``slack[i]`` farther apart than what they are projections of.
    """

    rows: Any
    columns: Any
    slack: Any
    relative: float


class Workspace(NamedTuple):
    """The 64 rows at hand as columns, with all distances to some centres, and the least of 16."""

    tile: Any
    table: Any
    group_leasts: Any
    leasts: Any
    limits: Any
    groups: Any
    waiting: Any


def workspace(projected: Projected) -> Workspace:
    """Return what `scan_rows` needs."""
    dtype, r = projected.rows.dtype, projected.rows.shape[1]
    tile, (leasts, limits) = aligned((r, COLUMNS), dtype), aligned((2, COLUMNS), dtype)
    groups, waiting = aligned((2, COLUMNS), np.int32)
    tile[:], groups[:] = 0.0, 0
    table, group_leasts = (
        aligned((_GROUPS * LANES, COLUMNS), dtype),
        aligned((_GROUPS, COLUMNS), dtype),
    )
    return Workspace(tile, table, group_leasts, leasts, limits, groups, waiting)


@kernel
def squared_distances_to(rows: Any, mean: Any, out: Any) -> None:
    """Write the squared distances of the rows to ``mean``, a single row."""
    for b in range(rows.shape[0]):
        out[b] = sum_of_squares(rows, b, mean, 0)


@inlined
def _set_limit(limits: Any, c: int, squared: float, relative: float, slack: float) -> None:
    """Set the distance of projections up to which a centre may be as near as ``squared``."""
    distance = math.sqrt(np.float64(squared) * (1.0 + relative)) + slack
    limits[c] = distance * distance * (1.0 + relative)
    limits[c] = np.nextafter(limits[c], limits.dtype.type(np.inf))


@inlined
def _settle(
    points: Any, centers: Any, projected: Projected, i: int, c: int, first: int, groups: int,
    number: int, squared: Any, labels: Any, space: Workspace,
) -> int:  # fmt: skip
    """Compare row i, column c of the tile, with what its projection leaves open.

    Those are the centres of the ``groups`` from ``first`` on. Returns the distances computed.
    """
    slack, relative = projected.slack[i], projected.relative
    promising = space.groups[c] * LANES
    for k in range(promising + 1, space.groups[c] * LANES + LANES):
        promising = k if space.table[k, c] < space.table[promising, c] else promising
    best, near, compared = squared[i], -1, 1  # ties with what the row had before change nothing
    exact = sum_of_squares(points, i, centers, first + promising)
    if exact < best:
        best, near = exact, first + promising
        _set_limit(space.limits, c, best, relative, slack)
    for g in range(groups):
        if space.group_leasts[g, c] > space.limits[c]:
            continue
        for s in range(g * LANES, (g + 1) * LANES):
            if space.table[s, c] > space.limits[c] or s == promising:
                continue
            compared += 1
            k = first + s
            exact = sum_of_squares(points, i, centers, k)
            if exact < best or (exact == best and k < near):
                best, near = exact, k
                _set_limit(space.limits, c, best, relative, slack)
    if near >= 0:
        squared[i], labels[i] = best, number + near
    return compared


@kernel
def scan_rows(
    points: Any, centers: Any, projected: Projected, start: int, stop: int, number: int,
    squared: Any, labels: Any, space: Workspace,
) -> int:  # fmt: skip
    """Compare rows ``start`` to ``stop`` with ``centers``, numbered from ``number``.

    Overwrites ``squared`` and ``labels`` where a centre is strictly nearer, ties to the lowest
    number. Returns how many distances of whole rows were computed.
    """
    r, width = projected.columns.shape
    far = points.size > _IN_CACHE  # rows that are in cache need not be read ahead
    limits, leasts, computed = space.limits, space.leasts, 0
    for base in range(start, stop, COLUMNS):
        rows = COLUMNS if base + COLUMNS < stop else stop - base
        for c in range(rows):
            i = base + c
            _set_limit(limits, c, squared[i], projected.relative, projected.slack[i])
            for j in range(r):
                space.tile[j, c] = projected.rows[i, j]
        for c in range(rows, COLUMNS):
            limits[c] = -1.0
        for first in range(0, width, _GROUPS * LANES):
            groups = (width - first) // LANES
            groups = groups if groups < _GROUPS else _GROUPS
            for c in range(COLUMNS):
                leasts[c] = np.inf
            for g in range(groups):
                _least_of_group(
                    space.tile, projected.columns, first + g * LANES, limits, space.table,
                    space.group_leasts, g,
                )  # fmt: skip
                for c in range(COLUMNS):
                    less = space.group_leasts[g, c] < leasts[c]
                    leasts[c] = space.group_leasts[g, c] if less else leasts[c]
                    space.groups[c] = g if less else space.groups[c]
            count = 0
            touched = points.dtype.type(0.0)
            for c in range(rows):
                if leasts[c] <= limits[c]:
                    space.waiting[count] = c
                    for j in range(0, points.shape[1] if far else 0, LANES):
                        touched += points[base + c, j]  # these reads do not wait for each other
                    count += 1
            leasts[0] = touched
            for at in range(count):
                c = space.waiting[at]
                computed += _settle(
                    points, centers, projected, base + c, c, first, groups, number, squared,
                    labels, space,
                )  # fmt: skip
    return computed
