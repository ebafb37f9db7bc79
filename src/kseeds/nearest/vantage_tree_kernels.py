"""Vantage-point tree in arrays: build, and NearestInRange for a block of queries.

Algorithm 4 of the paper (after Yianilos, SODA 1993), without recursion and with leaf buckets.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from kseeds.distances.pair_kernels import squared_distance
from kseeds.nearest.select_kernels import select
from kseeds.runtime.compiler import inlined, kernel

MAX_DEPTH = 64
"""Halving by rank bounds the depth by log2 of the number of items."""


class Nodes(NamedTuple):
    """Node t covers places ``first[t]`` to ``last[t]`` of ``order``, a permutation of the items.

    An inner node's vantage point stands at ``first[t]``; the nearer half of the rest belongs to
    child ``near[t]`` and the farther half to ``far[t]``. ``ranges[t]`` are the smallest and the
    largest distance of the items of either child to the vantage point. A leaf has ``near[t] = -1``.
    ``distances`` are those of each item, place by place, to its parent's vantage point.
    """

    order: Any
    distances: Any
    first: Any
    last: Any
    near: Any
    far: Any
    ranges: Any


class Stack(NamedTuple):
    """A workspace: the nodes to be searched.

    Each with the distance to its parent's vantage point, and the range of its items' distances.
    """

    nodes: Any
    distances: Any
    ranges: Any


def new_stack() -> Stack:
    """Return a workspace for `nearest_in_range`."""
    depth = 2 * MAX_DEPTH
    return Stack(np.empty(depth, dtype=np.int64), np.empty(depth), np.empty((depth, 2)))


@inlined
def _set_range(tree: Nodes, t: int, side: int, low: int, high: int) -> None:
    """Write the smallest and largest distance of a child of node t."""
    smallest = largest = tree.distances[low]
    for s in range(low + 1, high):
        value = tree.distances[s]
        smallest = value if value < smallest else smallest
        largest = value if value > largest else largest
    tree.ranges[t, side], tree.ranges[t, side + 1] = smallest, largest


@kernel
def build(
    points: Any, family: Any, tree: Nodes, leaf_size: int, done: int, nodes: int, most: int
) -> Any:
    """Build the tree over all rows of ``points``, or go on building it.

    ``done`` and ``nodes`` are what the call before returned, 0 and 1 at first: the nodes done, and
    those there are, as many when the tree is complete. Returns these and the distances computed,
    which are not many more than ``most``.
    """
    computed, t = 0, done
    while t < nodes and computed < most:
        low, high = tree.first[t], tree.last[t]
        tree.near[t], tree.far[t] = -1, -1
        if high - low > leaf_size:
            vantage = tree.order[low]
            for s in range(low + 1, high):
                squared = squared_distance(points, vantage, points, tree.order[s], family)
                tree.distances[s] = math.sqrt(squared)
            computed += high - low - 1
            middle = (low + 1 + high) // 2
            select(tree.order, tree.distances, low + 1, high, middle)
            tree.near[t], tree.first[nodes], tree.last[nodes] = nodes, low + 1, middle
            _set_range(tree, t, 0, low + 1, middle)
            tree.far[t], tree.first[nodes + 1], tree.last[nodes + 1] = nodes + 1, middle, high
            _set_range(tree, t, 2, middle, high)
            nodes += 2
        t += 1
    return t, nodes, computed


@inlined
def _outside(
    distance: float, low: float, high: float, radius: float, relative: float, absolute: float
) -> bool:
    """Tell whether everything at distances low..high from the vantage point is out of range.

    d(q, x) ≥ max(low − d(q, v), d(q, v) − high) by the triangle inequality; the slack makes it
    true of the computed distances as well.
    """
    beyond = low - distance if low - distance > distance - high else distance - high
    return beyond - relative * (distance + high + radius) - absolute > radius


@kernel
def nearest_in_range(
    queries: Any, start: int, stop: int, points: Any, family: Any, relative: float,
    absolute: float, tree: Nodes, in_range: bool, number: int, squared: Any, labels: Any,
    stack: Stack,
) -> Any:  # fmt: skip
    """Find for queries ``start`` to ``stop`` the nearest item strictly within √squared.

    Where there is one, ``squared`` and ``labels`` (item + number) are overwritten; ties go
    to the smaller item. ``points`` are the items in tree order. With ``in_range`` False the
    search starts at infinity, as an ordinary nearest-neighbour search does, and the answer
    is compared with the range afterwards. Returns distances computed and nodes visited.
    """
    computed, visited = 0, 0
    for i in range(start, stop):
        best = squared[i]
        if in_range:
            if best <= 0.0:
                continue
        else:
            best = points.dtype.type(np.inf)
        radius = math.sqrt(best)
        item = -1
        stack.nodes[0], stack.distances[0] = 0, -1.0
        size = 1
        while size > 0:
            size -= 1
            t, distance = stack.nodes[size], stack.distances[size]
            if distance >= 0.0 and _outside(
                distance, stack.ranges[size, 0], stack.ranges[size, 1], radius, relative, absolute
            ):
                continue
            visited += 1
            leaf = tree.near[t] < 0
            end = tree.last[t] if leaf else tree.first[t] + 1
            for s in range(tree.first[t], end):
                from_parent = tree.distances[s]
                if leaf and distance >= 0.0 and _outside(
                    distance, from_parent, from_parent, radius, relative, absolute
                ):  # fmt: skip
                    continue
                found = squared_distance(queries, i, points, s, family)
                computed += 1
                if found < best or (found == best and item >= 0 and tree.order[s] < item):
                    best, item = found, tree.order[s]
                    radius = math.sqrt(best)
                if not leaf:
                    distance = math.sqrt(found)
            if not leaf:
                nearer = distance < 0.5 * (tree.ranges[t, 1] + tree.ranges[t, 2])
                for turn in range(2):
                    # The child pushed last is searched first.
                    use_near = (turn == 1) == nearer
                    side = 0 if use_near else 2
                    stack.nodes[size] = tree.near[t] if use_near else tree.far[t]
                    stack.distances[size] = distance
                    stack.ranges[size, 0] = tree.ranges[t, side]
                    stack.ranges[size, 1] = tree.ranges[t, side + 1]
                    size += 1
        if item >= 0 and best < squared[i]:
            squared[i] = best
            labels[i] = item + number
    return computed, visited
