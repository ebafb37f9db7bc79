"""Vantage-point tree in arrays: build, and NearestInRange for a block of queries.

Algorithm 4 of the paper (after Yianilos, SODA 1993), without recursion and with leaf
buckets. Node t covers places ``first[t]`` to ``last[t]`` of a permutation of the items. An
inner node's vantage point stands at ``first[t]``; the nearer half of the rest belongs to
child ``near[t]`` and the farther half to ``far[t]``, each with the smallest and largest
distance of its items to the vantage point. A leaf has ``near[t] = -1``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kseeds.distances.pair_kernels import squared_distance
from kseeds.nearest.select_kernels import select
from kseeds.runtime.compiler import kernel

MAX_DEPTH = 64
"""Halving by rank bounds the depth by log2 of the number of items."""


@kernel
def _bounds(gaps: Any, low: int, high: int) -> Any:
    smallest, largest = gaps[low], gaps[low]
    for s in range(low + 1, high):
        smallest = min(smallest, gaps[s])
        largest = max(largest, gaps[s])
    return smallest, largest


@kernel
def build(
    points: Any,
    family: int,
    leaf_size: int,
    done: int,
    nodes: int,
    most: int,
    order: Any,
    gaps: Any,
    first: Any,
    last: Any,
    near: Any,
    far: Any,
    ranges: Any,
) -> Any:
    """Build the tree over all rows of ``points``, or go on building it.

    Returns the nodes done, those there are (as many when the tree is complete), and the distances
    computed, which are not many more than ``most``.

    Parameters
    ----------
    done, nodes : what the call before returned; 0 and 1 at first
    order : (m,) a permutation, changed in place
    gaps : (m,) float64, ends as each item's distance to its parent's vantage point
    first, last, near, far : per node
    ranges : (nodes, 4) near low, near high, far low, far high
    """
    computed, t = 0, done
    while t < nodes and computed < most:
        low, high = first[t], last[t]
        near[t], far[t] = -1, -1
        if high - low > leaf_size:
            for s in range(low + 1, high):
                gaps[s] = math.sqrt(squared_distance(points, order[low], points, order[s], family))
            computed += high - low - 1
            middle = (low + 1 + high) // 2
            select(order, gaps, low + 1, high, middle)
            near[t], first[nodes], last[nodes] = nodes, low + 1, middle
            ranges[t, 0], ranges[t, 1] = _bounds(gaps, low + 1, middle)
            far[t], first[nodes + 1], last[nodes + 1] = nodes + 1, middle, high
            ranges[t, 2], ranges[t, 3] = _bounds(gaps, middle, high)
            nodes += 2
        t += 1
    return t, nodes, computed


@kernel
def _outside(
    gap: float, low: float, high: float, reach: float, rel: float, absolute: float
) -> bool:
    """Tell whether everything at distances low..high from the vantage point is out of reach.

    d(q, x) ≥ max(low − gap, gap − high) by the triangle inequality; the slack makes it true
    of the computed distances as well.
    """
    beyond = max(low - gap, gap - high)
    return beyond - rel * (gap + high + reach) - absolute > reach


@kernel
def nearest_in_range(
    queries: Any,
    start: int,
    stop: int,
    points: Any,
    family: int,
    rel: float,
    absolute: float,
    order: Any,
    gaps: Any,
    first: Any,
    last: Any,
    near: Any,
    far: Any,
    ranges: Any,
    in_range: bool,
    offset: int,
    squared: Any,
    labels: Any,
) -> Any:
    """Find for queries ``start`` to ``stop`` the nearest item strictly within √squared.

    Where there is one, ``squared`` and ``labels`` (item + offset) are overwritten; ties go
    to the smaller item. ``points`` are the items in tree order. With ``in_range`` False the
    search starts at infinity, as an ordinary nearest-neighbour search does, and the answer
    is compared with the range afterwards. Returns distances computed and nodes visited.
    """
    computed, visited = 0, 0
    stack = np.empty(2 * MAX_DEPTH, np.int64)
    # Distance to the parent's vantage point, and the bounds that the node was pushed with.
    stack_gap = np.empty(2 * MAX_DEPTH, np.float64)
    stack_low = np.empty(2 * MAX_DEPTH, np.float64)
    stack_high = np.empty(2 * MAX_DEPTH, np.float64)
    for i in range(start, stop):
        best = squared[i]
        if in_range:
            if best <= 0.0:
                continue
        else:
            best = points.dtype.type(np.inf)
        reach = math.sqrt(best)
        item = -1
        stack[0], stack_gap[0], stack_low[0], stack_high[0] = 0, -1.0, 0.0, 0.0
        size = 1
        while size > 0:
            size -= 1
            t, gap = stack[size], stack_gap[size]
            if gap >= 0.0 and _outside(
                gap, stack_low[size], stack_high[size], reach, rel, absolute
            ):
                continue
            visited += 1
            leaf = near[t] < 0
            end = last[t] if leaf else first[t] + 1
            for s in range(first[t], end):
                if leaf and gap >= 0.0 and _outside(gap, gaps[s], gaps[s], reach, rel, absolute):
                    continue
                found = squared_distance(queries, i, points, s, family)
                computed += 1
                if found < best or (found == best and item >= 0 and order[s] < item):
                    best, item = found, order[s]
                    reach = math.sqrt(best)
                if not leaf:
                    gap = math.sqrt(found)
            if not leaf:
                nearer = gap < 0.5 * (ranges[t, 1] + ranges[t, 2])
                for turn in range(2):
                    # The child pushed last is searched first.
                    use_near = (turn == 1) == nearer
                    stack[size] = near[t] if use_near else far[t]
                    stack_gap[size] = gap
                    stack_low[size] = ranges[t, 0] if use_near else ranges[t, 2]
                    stack_high[size] = ranges[t, 1] if use_near else ranges[t, 3]
                    size += 1
        if item >= 0 and best < squared[i]:
            squared[i] = best
            labels[i] = item + offset
    return computed, visited
