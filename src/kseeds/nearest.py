"""The nearest centre of every row: one interface, several exact ways.

Bringing every row up to date with a batch of centres is the step under k-means||, under the
labels of a seeding and under `assign`. All ways leave the same labels, ties to the earlier
centre, and the same distances.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kseeds.inputs.problem import Problem
from kseeds.meeting import meet
from kseeds.metrics import Family, FloatArray, Metric
from kseeds.patience import can_do_without, without_compiler
from kseeds.result import Nearest
from kseeds.threads import Workers, blocks_of

if TYPE_CHECKING:
    from kseeds.point_tree import PointTree

WAYS = ("plain", "brute", "tree", "sketch")

_PLAIN_ROWS = 2048
_TREE_DIMENSIONS = 8
_TREE_PAYS = {"tree": 250.0, "sketch": 2000.0}
"""Nanoseconds a row that brute force must be expected to take for a tree to be built."""
_BATCH_PAYS = {"tree": 40.0, "sketch": 200.0}
"""Nanoseconds a row that brute force must take with one batch for the tree to be used."""
_LARGE_SKETCH_PAYS = 40_000.0
"""The same for sketches of more than 8 coordinates."""
_TREE_ROWS = 8192
_USELESS = 0.25
"""Share of all distances from which on a tree is given up: the data has no structure."""


class CatchUp:
    """Lets every row meet batches of centres, one batch after the other.

    Parameters
    ----------
    points : ndarray
        Prepared points.
    metric : Metric
        Their metric.
    workers : Workers
        Threads to use.
    expected : float
        How many centres the rows will meet in all; decides what is worth building.
    way : {"plain", "brute", "tree", "sketch"}, optional
        Plain NumPy, compiled brute force, a tree over the points, or a tree over sketches of
        the points; chosen by default. A way that the metric does not allow gives way to one
        that it does.
    """

    def __init__(
        self,
        points: FloatArray,
        metric: Metric,
        workers: Workers,
        expected: float,
        way: str | None = None,
    ) -> None:
        self._points, self._metric, self._workers = points, metric, workers
        self.way = _possible(metric, way or choose_way(points, metric, expected))
        self._forced = way is not None
        self._expected = expected
        self._tree = self._plant() if self.way in _TREE_PAYS else None

    def _plant(self) -> PointTree | None:
        """Return the tree, or None where sketches of the points turn out to be of no use."""
        from kseeds.point_tree import PointTree
        from kseeds.sketch import Sketch

        sketch = None
        if self.way == "sketch":
            size = min(8, self._points.shape[1] + 1) if self._forced else None
            sketch = Sketch(self._points, size)
            if sketch.size == 0 or self._too_large(sketch.size):
                return None
        return PointTree(self._points, self._metric, self._workers, sketch)

    def _too_large(self, size: int) -> bool:
        """Tell whether sketches of this size cost more than they are expected to save."""
        brute_force = self._expected * _pair_cost(self._points)
        return not self._forced and size > 8 and brute_force < _LARGE_SKETCH_PAYS

    def meet(self, nearest: Nearest, centers: FloatArray) -> tuple[int, int]:
        """Let every row meet ``centers``, of which it has met the first few already.

        Returns the distances computed and the nodes of trees visited.
        """
        met = nearest.met_by_row
        if met is None:
            met = np.full(len(self._points), nearest.met, dtype=np.int32)
        oldest = int(met.min())
        nearest.met, nearest.met_by_row = len(centers), None
        if oldest == len(centers):
            return 0, 0
        if self.way == "plain":
            with without_compiler():
                return self._meet_plainly(nearest, centers, oldest), 0
        batch = (len(centers) - oldest) * _pair_cost(self._points)
        if self._tree is not None and (self._forced or batch >= _BATCH_PAYS[self.way]):
            new = np.ascontiguousarray(centers[oldest:])
            counts = self._tree.improve(new, oldest, nearest.squared, nearest.labels, self._workers)
            if counts[0] > _USELESS * len(new) * len(self._points) and not self._forced:
                self._tree = None
            return counts
        return self._meet_by_brute_force(nearest, centers, met), 0

    def _meet_plainly(self, nearest: Nearest, centers: FloatArray, oldest: int) -> int:
        for lo, hi in blocks_of(len(self._points), _PLAIN_ROWS):
            nearest.squared[lo:hi], nearest.labels[lo:hi] = meet(
                self._points[lo:hi], centers, oldest, self._metric.kind,
                nearest.squared[lo:hi], nearest.labels[lo:hi],
            )  # fmt: skip
        return len(self._points) * (len(centers) - oldest)

    def _meet_by_brute_force(
        self, nearest: Nearest, centers: FloatArray, met: npt.NDArray[np.int32]
    ) -> int:
        from kseeds.kernels.catch_up import brute_force

        def task(start: int, stop: int) -> int:
            computed: int = brute_force(
                self._points, start, stop, centers, int(self._metric.family),
                nearest.squared, nearest.labels, met,
            )  # fmt: skip
            return computed

        n, threads = len(self._points), self._workers.n_threads
        rows_a_task = max(4096, -(-n // (8 * 64 * threads)) * 64)
        return sum(self._workers.over_blocks(task, n, rows_a_task))


def _pair_cost(points: FloatArray) -> float:
    """Return nanoseconds of brute force for one row and one centre."""
    return float(points.itemsize / 4 * (0.07 + 0.035 * points.shape[1]))


def _possible(metric: Metric, way: str) -> str:
    """Return ``way``, or what can stand in for it: trees are Euclidean, functions are plain."""
    if metric.function is not None:
        return "plain"
    return way if metric.family is Family.EUCLIDEAN or way not in _TREE_PAYS else "brute"


def choose_way(points: FloatArray, metric: Metric, expected: float) -> str:
    """Return the way that is soonest done when every row meets so many centres."""
    if metric.function is not None or can_do_without(3e-9 * points.size * expected):
        return "plain"
    way = "tree" if points.shape[1] <= _TREE_DIMENSIONS else "sketch"
    pays = expected * _pair_cost(points) >= _TREE_PAYS[way]
    fits = metric.family is Family.EUCLIDEAN and _TREE_ROWS <= len(points) < 2**31
    return way if pays and fits else "brute"


def mass_of(nearest: Nearest, weights: npt.NDArray[np.float64] | None, workers: Workers) -> float:
    """Return Σ w·d², summed in fixed blocks."""

    def task(start: int, stop: int) -> float:
        squared = nearest.squared[start:stop].astype(np.float64)
        return float(squared.sum() if weights is None else squared @ weights[start:stop])

    return sum(workers.over_blocks(task, len(nearest.squared)))


def finish_nearest(
    problem: Problem, nearest: Nearest | None, indices: npt.NDArray[np.int64]
) -> tuple[Nearest, float]:
    """Return the nearest of all centres for every row, and Σ w·d²."""
    points = problem.points
    centers = np.concatenate([problem.initial, points[indices]])
    state = Nearest.unmet(points) if nearest is None else nearest
    oldest = state.met if state.met_by_row is None else int(state.met_by_row.min())
    with Workers(problem.n_threads) as workers:
        CatchUp(points, problem.metric, workers, len(centers) - oldest).meet(state, centers)
        return state, mass_of(state, problem.weights, workers)
