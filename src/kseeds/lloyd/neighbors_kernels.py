"""Lists of the neighbours of every centre, the nearest first, 16 side by side."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from kseeds.distances.metrics import FloatArray
from kseeds.nearest.brute_force_kernels import load_columns, squares
from kseeds.nearest.select_kernels import select
from kseeds.runtime.aligned import aligned
from kseeds.runtime.block_sizes import COLUMNS, LANES
from kseeds.runtime.compiler import inlined, kernel


class Slack(NamedTuple):
    """What makes a computed distance a bound: factors of more and less than 1, and a length.

    ``drifted`` is the factor for the rounding of a sum, and ``tiny`` the least normal number.
    """

    up: Any
    down: Any
    length: Any
    drifted: Any
    tiny: Any


class Centers(NamedTuple):
    """The centres, and all of them as columns, 64 side by side; how far each has moved."""

    rows: Any
    columns: Any
    moved: Any


class Lists(NamedTuple):
    """The neighbours of every centre in groups of 16, the nearest group first.

    Group g of centre a is group ``a * groups + g`` of ``columns`` and ``numbers``; no centre of
    it, of a later one or of none is nearer to a than ``reach[a, g]``. The last of these is for
    those that are in no group. ``steps[a]`` has what changes the bounds of the rows of centre a:
    how far it has moved, how far the centres of its list have at most, and the first and the last
    of ``reach[a]``.
    """

    columns: Any
    numbers: Any
    reach: Any
    steps: Any


class Sorting(NamedTuple):
    """A workspace: the distances of a centre to all others, and their numbers."""

    keys: Any
    items: Any
    limits: Any
    sums: Any
    numbers: Any


def sorting(centers: FloatArray) -> Sorting:
    """Return what the kernels here need."""
    k = -(-len(centers) // COLUMNS) * COLUMNS
    limits, sums = aligned((2, COLUMNS), centers.dtype)
    limits[:] = np.inf
    keys, items = np.empty(k, dtype=centers.dtype), np.empty(k, dtype=np.int64)
    return Sorting(keys, items, limits, sums, aligned(COLUMNS, np.int64))


@kernel
def set_columns(rows: Any, start: int, stop: int, columns: Any, numbers: Any) -> None:
    """Write the centres of the groups from ``start`` to ``stop`` as columns, 64 side by side.

    Columns without a centre are infinite.
    """
    k, d = rows.shape
    for group in range(start, stop):
        low = group * COLUMNS
        size = COLUMNS if low + COLUMNS < k else k - low
        for c in range(size):
            numbers[c] = low + c
        part = columns[group * d : (group + 1) * d]
        load_columns(rows, numbers, size, part)
        for j in range(d):
            for c in range(size, COLUMNS):
                part[j, c] = np.inf


@inlined
def _write_list(
    centers: Centers, a: int, groups: int, places: Any, lists: Lists, items: Any
) -> None:
    """Write the neighbours of centre a as columns; those that are missing are infinite."""
    k, d = centers.rows.shape
    farthest = 0.0
    for g in range(groups):
        group = a * groups + g
        for c in range(LANES):
            at = 1 + g * LANES + c
            if at < k:
                s = items[at]
                lists.numbers[group, c] = s
                farthest = centers.moved[s] if centers.moved[s] > farthest else farthest
                for j in range(d):
                    lists.columns[group * d + places[j], c] = centers.rows[s, j]
            else:
                lists.numbers[group, c] = k
                for j in range(d):
                    lists.columns[group * d + j, c] = np.inf
    lists.steps[a, 1] = farthest


@kernel
def list_neighbors(
    centers: Centers, start: int, stop: int, lists: Lists, slack: Slack, places: Any,
    space: Sorting,
) -> None:  # fmt: skip
    """Make the lists of the centres from ``start`` to ``stop``."""
    k, d = centers.rows.shape
    groups, keys, items = lists.reach.shape[1] - 1, space.keys, space.items
    for a in range(start, stop):
        for group in range((k + COLUMNS - 1) // COLUMNS):
            squares(centers.rows, a, centers.columns, group * d * COLUMNS, space.limits, space.sums)
            for c in range(COLUMNS):
                keys[group * COLUMNS + c] = space.sums[c]
        keys[a] = -1.0  # itself comes first, and is left out
        for c in range(k):
            items[c] = c
        high = k
        for g in range(groups, -1, -1):
            rank = 1 + g * LANES
            reach = np.inf
            if rank < high:
                select(items, keys, 0, high, rank)
                reach = math.sqrt(np.float64(keys[rank])) * slack.down - slack.length
                high = rank
            lists.reach[a, g] = reach if reach > 0.0 else 0.0
        _write_list(centers, a, groups, places, lists, items)
        lists.steps[a, 0], lists.steps[a, 2] = centers.moved[a], lists.reach[a, 0]
        lists.steps[a, 3] = lists.reach[a, groups]
