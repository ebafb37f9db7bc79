"""Nearest centres from a table of scalar products, whose doubts are settled row by row.

Entry (b, k) of the table, in groups of 64, is −2·x_b·c_k; with ``shifts[k]`` ≈ |c_k|² and
``low[b]`` ≈ |x_b|², both rounded down, their sum is a lower bound of |x_b − c_k|².
See `kseeds.nearest.gemm` for the bounds.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kseeds.distances.pair_kernels import sum_of_squares
from kseeds.runtime.block_sizes import COLUMNS, LANES
from kseeds.runtime.compiler import inlined, kernel


@kernel
def squared_gaps_to(rows: Any, middle: Any, out: Any) -> None:
    """Write the squared distances of the rows to ``middle``, a single row."""
    for b in range(rows.shape[0]):
        out[b] = sum_of_squares(rows, b, middle, 0)


@kernel
def improve_block(
    points: Any, centers: Any, start: int, table: Any, shifts: Any, low: Any, slack: Any,
    offset: int, relative: float, stretch: float, squared: Any, labels: Any,
) -> int:  # fmt: skip
    """Let the rows from ``start`` on meet ``centers``, numbered from ``offset``.

    Overwrites ``squared`` and ``labels`` where a centre is strictly nearer, ties to the
    earlier. Returns how many distances of whole rows were computed.
    """
    rows = table.shape[0]
    best_candidates = np.empty(rows, np.int64)
    limit = np.empty(1, table.dtype)
    lanes = np.empty(COLUMNS, table.dtype)
    waiting = np.empty(rows, np.int64)
    count = 0
    for b in range(rows):
        _set_limit(limit, squared[start + b], relative, stretch, slack[b], low[b])
        best_candidates[b] = _least_entry(table, shifts, b, limit[0], lanes)
        if best_candidates[b] >= 0:
            waiting[count] = b
            count += 1
    computed = count
    for at in range(count):
        b = waiting[at]
        i, best_candidate = start + b, best_candidates[b]
        best, near = squared[i], -1  # ties with what the row had before change nothing
        exact = sum_of_squares(points, i, centers, best_candidate)
        if exact < best:
            best, near = exact, best_candidate
        _set_limit(limit, best, relative, stretch, slack[b], low[b])
        most = limit[0]
        for g in range(table.shape[1]):
            hits = 0
            for c in range(COLUMNS):
                hits += table[b, g, c] <= most
            if hits == 0 or (hits == 1 and g == best_candidate // COLUMNS):
                continue
            for c in range(COLUMNS):
                k = g * COLUMNS + c
                if table[b, g, c] > limit[0] or k == best_candidate:
                    continue
                computed += 1
                exact = sum_of_squares(points, i, centers, k)
                if exact < best or (exact == best and k < near):
                    best, near = exact, k
                    _set_limit(limit, best, relative, stretch, slack[b], low[b])
        if near >= 0:
            squared[i], labels[i] = best, offset + near
    return computed


@inlined
def _set_limit(
    limit: Any, best: float, relative: float, stretch: float, slack: float, low: float
) -> None:
    """Set the largest table entry of a centre that may be as near as ``best``."""
    distance = math.sqrt(np.float64(best) * (1.0 + relative)) * stretch + slack
    limit[0] = distance * distance - low
    limit[0] = np.nextafter(limit[0], limit.dtype.type(np.inf))


@inlined
def _least_entry(table: Any, shifts: Any, b: int, limit: float, lanes: Any) -> int:
    """Add the shifts to a row of the table; return its least entry, or -1 if over the limit.

    Minima of 64 lanes, so that the compiler finds vectors.
    """
    for c in range(COLUMNS):
        lanes[c] = np.inf
    for g in range(table.shape[1]):
        for c in range(COLUMNS):
            value = table[b, g, c] + shifts[g, c]
            table[b, g, c] = value
            lanes[c] = value if value < lanes[c] else lanes[c]
    for c in range(LANES):
        pair = lanes[c] if lanes[c] < lanes[c + 16] else lanes[c + 16]
        other = lanes[c + 32] if lanes[c + 32] < lanes[c + 48] else lanes[c + 48]
        lanes[c] = pair if pair < other else other
    for half in (8, 4, 2, 1):
        for c in range(half):
            lanes[c] = lanes[c] if lanes[c] < lanes[c + half] else lanes[c + half]
    least = lanes[0]
    if least > limit:
        return -1
    for g in range(table.shape[1]):
        hits = 0
        for c in range(COLUMNS):
            hits += table[b, g, c] == least
        if hits > 0:
            break
    c = 0
    while table[b, g, c] > least:
        c += 1
    return g * COLUMNS + c
