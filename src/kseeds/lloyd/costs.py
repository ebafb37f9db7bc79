"""What iterations cost, in nanoseconds of one thread, for a row; see `kseeds.nearest.costs`.

All algorithms give the same result, so these only choose what is fastest.
"""

from __future__ import annotations

from kseeds.distances.metrics import FloatArray
from kseeds.nearest import costs

ITERATIONS = 15
"""How many iterations a job is expected to take, if it may take as many."""
ROOM = 44.0
"""Bytes per row that may be kept beside labels, bounds and distances."""
VISIT = 6.0
"""A row of a tree, apart from the distances of its leaf."""
SHARE = 0.25
"""Share of what `kseeds.nearest.costs.leaf_centers` expects: a tree can be given up soon."""
MOST = 0.65
"""Share of all centres that a leaf is compared with where nothing is ruled out but by its box."""
RESTLESS, LASTING = 5, 0.4
"""Iterations in which centres move far, and what is left of the distances afterwards, when leaves
keep their lists."""
AFTERWARDS = 8.0
"""A row, when new labels are compared with those before."""
SHORT_STEP = 1e5
"""An iteration of a short fit outside of kernels, whatever the number of rows."""
CHECK = 8.0
"""A row whose bounds are looked at."""
OPEN = 0.5
"""Share of the rows that bounds leave open."""


def tree(points: FloatArray, n_clusters: int, iterations: int, dimension: float) -> float:
    """Return the cost of building a tree and of all iterations on it."""
    pairs = min(MOST * n_clusters, SHARE * costs.leaf_centers(points, n_clusters, dimension))
    pairs *= _left_by_lists(iterations)
    once = VISIT * costs.width_of(points) + pairs * costs.leaf_pair(points)
    return 1.3 * costs.tree_build(points) + iterations * once


def _left_by_lists(iterations: int) -> float:
    """Return what lists leave of the distances of the first iteration, on average."""
    later = max(0, iterations - RESTLESS)
    return (min(iterations, RESTLESS) + LASTING * later) / max(1, iterations)


def most_pairs(points: FloatArray, n_clusters: int, iterations: int) -> float:
    """Return how many distances a row may cost at first for a tree to be as fast as products."""
    once = max(0.0, gemm(points, n_clusters, 1) - VISIT) / costs.leaf_pair(points)
    return once / _left_by_lists(iterations)


def gemm(points: FloatArray, n_clusters: int, iterations: int) -> float:
    """Return the cost of all iterations by products."""
    each = costs.products(points, n_clusters, 1) + AFTERWARDS
    return iterations * each


def short(points: FloatArray, n_clusters: int, iterations: int) -> float:
    """Return the cost of all iterations in one call of a kernel."""
    width, d = costs.width_of(points), int(points.shape[1])
    return iterations * (3.0 + width * n_clusters * (0.15 + 0.035 * d))


def short_plain(points: FloatArray, n_clusters: int, iterations: int) -> float:
    """Return the same in plain NumPy, apart from `SHORT_STEP`."""
    return iterations * (10.0 + costs.width_of(points) * n_clusters * 1.5)


def bounds(points: FloatArray, n_clusters: int, in_ball: float) -> float:
    """Return the cost of an iteration with bounds, if so many centres are near that of a row."""
    return bounds_of(points, n_clusters, OPEN, OPEN * (4.0 + 1.5 * in_ball))


def bounds_of(points: FloatArray, n_clusters: int, open_: float, pairs: float) -> float:
    """Return the cost of one that leaves a share of the rows open, and compares so many pairs.

    Rows that are left open are laid out as columns and compared with those in the ball, and the
    lists of neighbours are made of the distances of all pairs of centres.
    """
    d, width = int(points.shape[1]), costs.width_of(points)
    lists = n_clusters * (3000.0 + n_clusters * (5.0 + 0.035 * d)) / len(points)
    return CHECK + width * (open_ * (9.0 + 0.35 * d) + pairs * (0.17 + 0.034 * d) + lists)
