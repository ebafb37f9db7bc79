"""Rows meet the centres they have not met, 64 rows at a time: the brute force."""

from __future__ import annotations

from typing import Any

import numpy as np

from kseeds.distances.pair_kernels import EUCLIDEAN, squared_distance
from kseeds.runtime.block_sizes import COLUMNS, place_of
from kseeds.runtime.compiler import inlined, kernel
from kseeds.simd.columns import column_sums

squares = column_sums()
_place_of = inlined(place_of)


@inlined
def catch_up_tile(
    points: Any, centers: Any, known: int, chosen: Any, size: int, tile: Any, sums: Any,
    best: Any, near: Any, bounds: Any, labels: Any, n_compared: Any,
) -> int:  # fmt: skip
    """Let up to 64 chosen rows, laid out as columns, meet the centres one after the other.

    Starts with the oldest centre that any of them has not met: meeting a centre again
    changes nothing. Returns how many pairs had not met before.
    """
    oldest, pairs = known, 0
    for c in range(size):
        i = chosen[c]
        pairs += known - n_compared[i]
        best[c], near[c] = bounds[i], labels[i]
        oldest = min(oldest, n_compared[i])
        for j in range(points.shape[1]):
            tile[_place_of(j, points.shape[1]), c] = points[i, j]
    best[size:] = 0.0  # nothing is nearer: columns without a row never ask for more
    for s in range(oldest, known):
        if squares(centers, s, tile, 0, best, sums):
            for c in range(COLUMNS):
                nearer = sums[c] < best[c]
                best[c] = sums[c] if nearer else best[c]
                near[c] = s if nearer else near[c]
    for c in range(size):
        i = chosen[c]
        bounds[i], labels[i], n_compared[i] = best[c], near[c], known
    return pairs


@inlined
def catch_up_row(
    points: Any,
    i: int,
    centers: Any,
    known: int,
    family: int,
    bounds: Any,
    labels: Any,
    n_compared: Any,
) -> int:
    """Let one row meet the centres it has not met, by any metric."""
    pairs = known - n_compared[i]
    for s in range(n_compared[i], known):
        distance = squared_distance(points, i, centers, s, family)
        if distance < bounds[i]:
            bounds[i], labels[i] = distance, s
    n_compared[i] = known
    return pairs


@kernel
def brute_force(
    points: Any, start: int, stop: int, centers: Any, family: int,
    bounds: Any, labels: Any, n_compared: Any,
) -> int:  # fmt: skip
    """Let rows ``start`` to ``stop`` meet all centres; ties keep the earlier."""
    known, pairs = centers.shape[0], 0
    if family != EUCLIDEAN:
        for i in range(start, stop):
            pairs += catch_up_row(points, i, centers, known, family, bounds, labels, n_compared)
        return pairs
    tile = np.zeros((points.shape[1], COLUMNS), points.dtype)
    sums = np.empty(COLUMNS, points.dtype)
    best = np.empty(COLUMNS, points.dtype)
    near = np.empty(COLUMNS, np.int32)
    chosen = np.empty(COLUMNS, np.int64)
    for first in range(start, stop, COLUMNS):
        size = min(COLUMNS, stop - first)
        for c in range(size):
            chosen[c] = first + c
        pairs += catch_up_tile(
            points, centers, known, chosen, size, tile, sums, best, near, bounds, labels, n_compared
        )
    return pairs
