"""Bounds of every row, and the balls around its centre in which a nearer one must lie.

A row at the distance r from its centre a can only be nearer to centres within 2r of a. So every
centre has a list of its neighbours, the nearest first, 16 side by side, and a row whose bounds do
not decide is compared with the beginning of the list of its centre.

Upper bounds are larger, and lower bounds smaller, than the distances by more than the rounding of
computed ones: a centre that is ruled out is farther as computed, too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kseeds.distances.metrics import FloatArray
from kseeds.distances.pair_kernels import sum_of_squares
from kseeds.lloyd.neighbors_kernels import Centers, Lists, Slack
from kseeds.nearest.brute_force_kernels import load_columns, squares
from kseeds.runtime.aligned import aligned
from kseeds.runtime.block_sizes import COLUMNS, LANES
from kseeds.runtime.compiler import inlined, kernel
from kseeds.simd.columns import column_sums
from kseeds.simd.tables import keep_two_nearest

_few_squares = column_sums(LANES)
_keep_two_nearest = keep_two_nearest()

_TOGETHER = 12
"""Rows of a centre from which on they are compared side by side."""
TRIES = 3
"""Lists looked through for a row before it is compared with all centres."""


class Rows(NamedTuple):
    """The points, and what is known of each: its centre, and bounds of distances.

    ``upper`` is one of the distance to its centre, ``lower`` one of that to all others.
    """

    points: Any
    labels: Any
    upper: Any
    lower: Any


class Tile(NamedTuple):
    """64 rows of one centre as columns: bounds of their distances to it, and the best two so far.

    Rows that are settled, and columns without a row, have a best one of -1.
    """

    rows: Any
    columns: Any
    own: Any
    squared: Any
    labels: Any
    second: Any
    limits: Any
    sums: Any


def new_tile(points: FloatArray) -> Tile:
    """Return a workspace for 64 rows."""
    own, squared, second, limits, sums = aligned((5, COLUMNS), points.dtype)
    columns = aligned((points.shape[1], COLUMNS), points.dtype)
    columns[:] = 0.0
    return Tile(
        aligned(COLUMNS, np.int64), columns, own, squared, aligned(COLUMNS, np.int32), second,
        limits, sums,
    )  # fmt: skip


class Workspace(NamedTuple):
    """What the kernels need: rows left open, and those that changed, with their former centres."""

    open: Any
    sorted: Any
    places: Any
    changed: Any
    former: Any
    limits: Any
    sums: Any
    few_limits: Any
    few_sums: Any


def workspace(points: FloatArray, n_clusters: int, n_rows: int) -> Workspace:
    """Return what is needed for blocks of at most so many rows."""
    dtype = points.dtype
    limits, sums = aligned((2, COLUMNS), dtype)
    few_limits, few_sums = aligned((2, LANES), dtype)
    return Workspace(
        np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.int64),
        np.empty(n_clusters + 1, dtype=np.int64), np.empty(n_rows, dtype=np.int64),
        np.empty(n_rows, dtype=np.int32), limits, sums, few_limits, few_sums,
    )  # fmt: skip


@kernel
def check_rows(rows: Rows, start: int, stop: int, steps: Any, slack: Slack, open_: Any) -> Any:
    """Let the bounds follow the centres; return how many of the rows are left open by them.

    ``lower`` is one of the distance to the centres of the list, which have moved by no more than
    the second of the steps, and to the others, which are beyond what the list reaches.
    """
    count = 0
    for i in range(start, stop):
        a = rows.labels[i]
        upper = (rows.upper[i] + steps[a, 0]) * slack.drifted
        lower = rows.lower[i] - steps[a, 1] * slack.drifted
        near, far = steps[a, 2] - upper, steps[a, 3] - upper
        lower = far if far < lower else lower
        rows.upper[i], rows.lower[i] = upper, lower
        open_[count] = i
        count += not (upper < lower or upper < near)
    return count


@kernel
def sort_rows(labels: Any, count: int, rows: Any, places: Any, sorted_: Any) -> None:
    """Sort the first ``count`` of some rows by their centres, whose lists then stay in cache."""
    for a in range(places.shape[0]):
        places[a] = 0
    for at in range(count):
        places[labels[rows[at]] + 1] += 1
    for a in range(1, places.shape[0]):
        places[a] += places[a - 1]
    for at in range(count):
        a = labels[rows[at]]
        sorted_[places[a]] = rows[at]
        places[a] += 1


@inlined
def _take(value: Any, number: Any, best: Any, near: Any, second: Any) -> Any:
    """Return the best two after one more squared distance; ties go to the lowest number."""
    # No branch: whether a centre is nearer is anyone's guess.
    is_nearer = (value < best) | ((value == best) & (number < near))
    other = best if is_nearer else value
    second = other if (other < second) & (number != near) else second
    return value if is_nearer else best, number if is_nearer else near, second


@inlined
def _scan_all(
    rows: Rows, i: int, centers: Centers, best: Any, near: Any, second: Any, space: Workspace
) -> Any:
    """Compare row i with all centres; return the best two."""
    k, d = centers.rows.shape
    for group in range((k + COLUMNS - 1) // COLUMNS):
        limit = np.nextafter(second, space.limits.dtype.type(np.inf))
        for c in range(COLUMNS):
            space.limits[c] = limit
        if squares(rows.points, i, centers.columns, group * d * COLUMNS, space.limits, space.sums):
            for c in range(COLUMNS):
                best, near, second = _take(
                    space.sums[c], np.int32(group * COLUMNS + c), best, near, second
                )
    return best, near, second


@inlined
def _search_lists(
    rows: Rows, i: int, best: Any, near: Any, second: Any, centers: Centers, lists: Lists,
    slack: Slack, space: Workspace,
) -> Any:  # fmt: skip
    """Compare row i with the lists of its nearest centres so far, or else with all centres.

    Returns the best two, a bound of the distances to centres it was not compared with, and the
    distances computed.
    """
    d, groups = rows.points.shape[1], lists.reach.shape[1] - 1
    one = rows.upper.dtype.type
    computed, a = 0, near
    upper = _upper(best, slack)
    for _ in range(TRIES):
        own = upper
        for g in range(groups + 1):
            beyond = lists.reach[a, g] - own
            if upper < beyond:
                return best, near, second, beyond, computed
            if g < groups:
                group = a * groups + g
                limit = np.nextafter(second, one(np.inf))
                for c in range(LANES):
                    space.few_limits[c] = limit
                computed += LANES
                if _few_squares(
                    rows.points, i, lists.columns, group * d * LANES, space.few_limits,
                    space.few_sums,
                ):  # fmt: skip
                    for c in range(LANES):
                        best, near, second = _take(
                            space.few_sums[c], lists.numbers[group, c], best, near, second
                        )
                    upper = _upper(best, slack)
        if near == a:
            break
        a = near
    best, near, second = _scan_all(rows, i, centers, best, near, second, space)
    return best, near, second, one(np.inf), computed + centers.rows.shape[0]


@inlined
def _upper(squared: Any, slack: Slack) -> Any:
    """Return an upper bound of a distance."""
    return np.sqrt(squared) * slack.up + slack.length


@inlined
def _keep(
    rows: Rows, i: int, best: Any, near: Any, second: Any, beyond: Any, slack: Slack,
    changed: Any, space: Workspace,
) -> Any:  # fmt: skip
    """Note what was found of row i; return how many rows have changed."""
    lower = np.sqrt(second) * slack.down - slack.length
    rows.upper[i], rows.lower[i] = _upper(best, slack), lower if lower < beyond else beyond
    if near != rows.labels[i]:
        space.changed[changed], space.former[changed] = i, rows.labels[i]
        rows.labels[i] = near
        changed += 1
    return changed


@inlined
def _settle_tile(
    rows: Rows, first: int, size: int, a: int, centers: Centers, lists: Lists, slack: Slack,
    changed: Any, tile: Tile, space: Workspace,
) -> Any:  # fmt: skip
    """Find the nearest centres of up to 64 rows of centre a, side by side.

    Returns how many rows have changed, and the distances computed.
    """
    groups, k, open_ = lists.reach.shape[1] - 1, centers.rows.shape[0], 0
    one, computed = rows.upper.dtype.type, size
    for c in range(size):
        tile.rows[c] = space.sorted[first + c]
    load_columns(rows.points, tile.rows, size, tile.columns)
    for c in range(COLUMNS):
        tile.limits[c], tile.second[c], tile.labels[c] = np.inf, np.inf, a
    squares(centers.rows, a, tile.columns, 0, tile.limits, tile.squared)
    for c in range(COLUMNS):
        tile.own[c] = _upper(tile.squared[c], slack)
    for c in range(size):
        i, upper = tile.rows[c], tile.own[c]
        if upper < rows.lower[i] or upper < lists.reach[a, 0] - upper:
            rows.upper[i], tile.squared[c] = upper, -1.0
        else:
            open_ += 1
    for c in range(size, COLUMNS):
        tile.squared[c] = -1.0
    if open_ == 0:
        return changed, computed
    for c in range(COLUMNS):
        if tile.squared[c] < 0.0:  # nothing is nearer
            tile.second[c] = -1.0
    tiny, wider = slack.tiny, slack.drifted
    g = 0
    while g < groups:
        farthest = one(0.0)
        for c in range(COLUMNS):
            reached = tile.own[c] + np.sqrt(tile.squared[c]) * slack.up
            reached = reached if tile.squared[c] >= 0.0 else one(0.0)
            farthest = reached if reached > farthest else farthest
        if farthest + slack.length < lists.reach[a, g]:
            break
        group = a * groups + g
        for q in range(LANES):
            s = lists.numbers[group, q]
            if s < k:
                for c in range(COLUMNS):
                    tile.limits[c] = tile.second[c] * wider + tiny
                computed += open_
                if squares(centers.rows, s, tile.columns, 0, tile.limits, tile.sums):
                    _keep_two_nearest(tile.sums, s, tile.squared, tile.labels, tile.second)
        g += 1
    for c in range(size):
        best = tile.squared[c]
        if best >= 0.0:
            i, near, second = tile.rows[c], tile.labels[c], tile.second[c]
            beyond = lists.reach[a, g] - tile.own[c]
            if not _upper(best, slack) < beyond:
                best, near, second, beyond, more = _search_lists(
                    rows, i, best, near, second, centers, lists, slack, space
                )
                computed += more
            changed = _keep(rows, i, best, near, second, beyond, slack, changed, space)
    return changed, computed


@kernel
def settle_rows(
    rows: Rows, count: int, centers: Centers, lists: Lists, slack: Slack, tile: Tile,
    space: Workspace,
) -> Any:  # fmt: skip
    """Find the nearest centres of the rows that are left open.

    Returns how many have another than before, which are in ``space``, and the distances computed.
    """
    one = rows.upper.dtype.type
    changed: Any = np.int64(0)  # a plain 0 would have `_settle_tile` compiled for 0 as well
    computed, at = 0, 0
    while at < count:
        a, size = rows.labels[space.sorted[at]], 1
        while size < COLUMNS and at + size < count and rows.labels[space.sorted[at + size]] == a:
            size += 1
        if size >= _TOGETHER:
            changed, more = _settle_tile(
                rows, at, size, a, centers, lists, slack, changed, tile, space
            )
            computed += more
            at += size
            continue
        i = space.sorted[at]
        best = sum_of_squares(rows.points, i, centers.rows, a)
        upper = _upper(best, slack)
        at, computed = at + 1, computed + 1
        if upper < rows.lower[i] or upper < lists.reach[a, 0] - upper:
            rows.upper[i] = upper
            continue
        best, near, second, beyond, more = _search_lists(
            rows, i, best, a, one(np.inf), centers, lists, slack, space
        )
        computed += more
        changed = _keep(rows, i, best, near, second, beyond, slack, changed, space)
    return changed, computed
