"""The nearest centre of every row: one interface, several exact ways.

Bringing every row up to date with a batch of centres is the step under k-means||, under the
labels of a seeding and under `assign`. All ways leave the same labels, ties to the earlier
centre, and the same distances.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import Family, FloatArray, Metric
from kseeds.nearest.plain import meet
from kseeds.nearest.state import Nearest
from kseeds.runtime.block_sizes import LANES
from kseeds.runtime.compile_policy import can_do_without, without_compiler
from kseeds.runtime.memmap import is_mapped
from kseeds.runtime.threads import Workers, blocks_of, rows_for

if TYPE_CHECKING:
    from kseeds.nearest.projection import Axes

STRATEGIES = ("plain", "brute", "tree", "projected_tree", "projected_scan", "gemm", "vantage")
_PLANS = ("tree", "projected_tree", "projected_scan", "gemm", "vantage")
"""Ways that are more than brute force; all but the last are Euclidean."""

_PLAIN_ENTRIES = 1 << 19
"""Distances computed at a time in plain NumPy: few enough for the cache."""
_PLAIN_CENTERS = 8192
_TREE_DIMENSIONS = 8
_TREE_COST = (45.0, 9.0)
"""Nanoseconds a row of building a tree, and of a batch of few centres."""
_BATCH_PAYS = {
    "tree": 10.0,
    "projected_tree": 150.0,
    "projected_scan": 20.0,
    "gemm": 100.0,
    "vantage": 1000.0,
}
"""Nanoseconds a row that brute force must take with one batch for the rest to be used."""
_SKETCH_TREE_PAYS = 900.0
"""As for trees, beside what it takes to find axes, several times over: it may be for nothing."""
_SKETCH_TREE_AXES = 7
_SKETCH_TREE_LEAVES_OUT = 0.1
"""A tree over sketches pays where few axes leave out little of the variance."""
_SKETCH_TREE_ENOUGH = 0.002
_SKETCH_AXES = (8, 16, 32, 64)
_SKETCH_LEAVES_OUT = 0.2
_STOPPED = (0.85, 0.6)
"""Share of brute force that is left where sums stop at what a row has already, with few centres
a batch and with hundreds."""
_HUNDREDS = 512
_AXES_COST = 40_000.0
"""Nanoseconds a dimension for finding axes, on one of two threads."""
_TREE_ROWS = 8192
_FEW = 16
"""Centres too few to judge by: one of them is the nearest whatever the structure."""
_USELESS = {
    "tree": 0.25,
    "projected_tree": 0.25,
    "projected_scan": 0.25,
    "gemm": 0.1,
    "vantage": 0.7,
}
"""Share of all distances from which on a way is given up: the data has no structure."""


class _Plan(Protocol):
    """What is prepared once and then lets the rows meet batches of centres."""

    exact_evaluations: int

    def improve(
        self,
        centers: FloatArray,
        offset: int,
        squared: FloatArray,
        labels: npt.NDArray[np.int32],
        workers: Workers,
    ) -> tuple[int, int]:
        """Overwrite ``squared`` and ``labels`` where one of ``centers`` is strictly nearer."""


class NearestUpdater:
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
    batches : int
        In how many batches.
    strategy : str, optional
        Plain NumPy, compiled brute force, a tree over the points, a tree over sketches of the
        points, brute force in the sketches, matrix products, or the paper's vantage-point tree
        over the centres; chosen by default. A way that the metric does not allow gives way to
        one that it does.
    """

    def __init__(
        self,
        points: FloatArray,
        metric: Metric,
        workers: Workers,
        expected: float,
        batches: int = 1,
        strategy: str | None = None,
    ) -> None:
        self._points, self._metric, self._workers = points, metric, workers
        self.strategy = _possible(
            points, metric, strategy or choose_strategy(points, metric, expected, batches)
        )
        self._forced = strategy is not None
        self._plan = self._prepare(expected, batches) if self.strategy in _PLANS else None

    def _prepare(self, expected: float, batches: int) -> _Plan | None:
        """Return the tree or sketches or what products need; None for brute force after all."""
        points, metric, workers = self._points, self._metric, self._workers
        if self.strategy == "vantage":
            from kseeds.nearest.vantage_tree import CenterTrees

            return CenterTrees(points, metric)
        from kseeds.nearest.point_tree import PointTree
        from kseeds.nearest.projection import Sketch, principal_axes

        if self.strategy == "tree":
            return PointTree(points, metric, workers)
        axes = principal_axes(points, 0 if self.strategy == "gemm" else _SKETCH_AXES[-1])
        if self.strategy == "projected_tree" and (
            self._forced or axes.unexplained(_SKETCH_TREE_AXES) <= _SKETCH_TREE_LEAVES_OUT
        ):
            enough = _SKETCH_TREE_AXES
            while enough > 1 and axes.unexplained(enough - 1) <= _SKETCH_TREE_ENOUGH:
                enough -= 1
            return PointTree(points, metric, workers, Sketch(axes.first(enough)))
        count = _telling_axes(axes)
        flat = _flat_cost(points, count, expected, batches) if count else np.inf
        product = _product_cost(points, expected, batches)
        if self._forced:
            flat, product = (0.0, 1.0) if self.strategy == "projected_scan" else (1.0, 0.0)
            count = count or min(_SKETCH_AXES[0], points.shape[1])
        elif min(flat, product) > _stopped_cost(points, metric, expected, batches):
            return None
        if flat < product:
            from kseeds.nearest.projected_scan import FlatSketch

            self.strategy = "projected_scan"
            return FlatSketch(points, metric, workers, axes.first(count))
        from kseeds.nearest.gemm import Products

        self.strategy = "gemm"
        return Products(points, metric, axes.middle)

    def meet(self, nearest: Nearest, centers: FloatArray) -> tuple[int, int]:
        """Let every row meet ``centers``, of which it has met the first few already.

        Returns the distances computed and the nodes of trees visited.
        """
        n_compared = nearest.compared_by_row
        oldest = nearest.n_compared if n_compared is None else int(n_compared.min())
        counts = (0, 0)
        if oldest < len(centers):
            counts = self._meet(nearest, centers, oldest)
        # Not before the work is done: whoever is interrupted may try again, since meeting a
        # centre twice changes nothing.
        nearest.n_compared, nearest.compared_by_row = len(centers), None
        return counts

    def _meet(self, nearest: Nearest, centers: FloatArray, oldest: int) -> tuple[int, int]:
        if self.strategy == "plain":
            with without_compiler():
                return self._meet_plainly(nearest, centers, oldest), 0
        batch = (len(centers) - oldest) * _pair_cost(self._points, self._metric)
        if self._plan is not None and (self._forced or batch >= _BATCH_PAYS[self.strategy]):
            new = np.ascontiguousarray(centers[oldest:])
            counts = self._plan.improve(new, oldest, nearest.squared, nearest.labels, self._workers)
            open_share = self._plan.exact_evaluations / (len(new) * len(self._points))
            if open_share > _USELESS[self.strategy] and len(new) > _FEW and not self._forced:
                self._plan = None
            return counts
        n_compared = nearest.compared_by_row
        if n_compared is None:
            n_compared = np.full(len(self._points), nearest.n_compared, dtype=np.int32)
        return self._meet_by_brute_force(nearest, centers, n_compared), 0

    def _meet_plainly(self, nearest: Nearest, centers: FloatArray, oldest: int) -> int:
        for first, last in blocks_of(len(centers) - oldest, _PLAIN_CENTERS):
            for lo, hi in blocks_of(len(self._points), _plain_rows(last - first)):
                nearest.squared[lo:hi], nearest.labels[lo:hi] = meet(
                    self._points[lo:hi], centers[: oldest + last], oldest + first,
                    self._metric.kind, nearest.squared[lo:hi], nearest.labels[lo:hi],
                )  # fmt: skip
        return len(self._points) * (len(centers) - oldest)

    def _meet_by_brute_force(
        self, nearest: Nearest, centers: FloatArray, n_compared: npt.NDArray[np.int32]
    ) -> int:
        from kseeds.nearest.brute_force_kernels import brute_force

        def task(start: int, stop: int) -> int:
            computed: int = brute_force(
                self._points, start, stop, centers, int(self._metric.family),
                nearest.squared, nearest.labels, n_compared,
            )  # fmt: skip
            return computed

        n, threads = len(self._points), self._workers.n_threads
        rows_a_task = max(4096, -(-n // (8 * 64 * threads)) * 64)
        cost = len(centers) * _pair_cost(self._points, self._metric)
        return sum(self._workers.over_blocks(task, n, min(rows_a_task, rows_for(cost))))


def _plain_rows(n_centers: int) -> int:
    return max(64, min(2048, _PLAIN_ENTRIES // n_centers))


def _pair_cost(points: FloatArray, metric: Metric) -> float:
    """Return nanoseconds of brute force for one row and one centre."""
    d, width = points.shape[1], points.itemsize / 4
    in_columns = metric.family is Family.EUCLIDEAN
    return float(width * (0.07 + 0.035 * d) if in_columns else 19.0 + 0.1 * width * d)


def _stopped_cost(points: FloatArray, metric: Metric, expected: float, batches: int) -> float:
    """Return nanoseconds of brute force for one row and all centres, in many dimensions."""
    share: float = _STOPPED[int(expected >= batches * _HUNDREDS)]
    layout = batches * (5.0 + 0.65 * points.shape[1])
    return float(share * expected * _pair_cost(points, metric) + layout)


def _possible(points: FloatArray, metric: Metric, strategy: str) -> str:
    """Return ``strategy``, or what can stand in for it: trees are Euclidean."""
    if metric.function is not None:
        return "plain"
    if strategy == "tree" and points.shape[1] >= LANES:
        strategy = "projected_tree"
    for_all = strategy == "vantage" or strategy not in _PLANS
    return strategy if metric.family is Family.EUCLIDEAN or for_all else "brute"


def _telling_axes(axes: Axes) -> int:
    """Return how many axes hold most of the variance; 0 if there are none such."""
    for count in _SKETCH_AXES:
        if count < len(axes.middle) and axes.unexplained(count) <= _SKETCH_LEAVES_OUT:
            return count
    return 0


def _flat_cost(points: FloatArray, axes: int, expected: float, batches: int) -> float:
    """Return nanoseconds of a flat sketch for one row and all centres expected.

    Sketching, all pairs of sketches, the few distances they leave open, and the nearest.
    """
    d, width = points.shape[1], points.itemsize / 4
    sketching = d * (0.6 + 0.018 * axes + _AXES_COST / len(points))
    pairs = expected * (0.07 + 0.022 * axes)
    open_ = 0.3 * math.sqrt(expected) * 0.18 * d
    return float(width * (sketching + pairs + open_ + batches * (80.0 + 0.35 * d)))


def _product_cost(points: FloatArray, expected: float, batches: int) -> float:
    """Return nanoseconds of products for one row and all centres expected."""
    d, width = points.shape[1], points.itemsize / 4
    return float(width * (expected * (0.43 + 0.019 * d) + batches * (60.0 + 0.35 * d)))


def tree_is_possible(points: FloatArray, metric: Metric) -> bool:
    """Tell whether a tree over the points can be of use.

    A tree holds all rows in memory, which mapped ones may not fit in.
    """
    fits = _TREE_ROWS <= len(points) < 2**31 and points.shape[1] <= _TREE_DIMENSIONS
    return fits and metric.family is Family.EUCLIDEAN and not is_mapped(points)


def choose_strategy(points: FloatArray, metric: Metric, expected: float, batches: int = 1) -> str:
    """Return the way that is soonest done when every row meets so many centres."""
    if metric.function is not None or can_do_without(3e-9 * points.size * expected):
        return "plain"
    brute_force = expected * _pair_cost(points, metric)
    if metric.family is not Family.EUCLIDEAN:
        return "vantage" if brute_force >= batches * _BATCH_PAYS["vantage"] else "brute"
    if not _TREE_ROWS <= len(points) < 2**31:
        return "brute"
    if is_mapped(points):
        return "gemm" if _product_cost(points, expected, batches) < brute_force else "brute"
    if tree_is_possible(points, metric):
        return "tree" if brute_force >= _TREE_COST[0] + batches * _TREE_COST[1] else "brute"
    axes_cost = points.shape[1] * _AXES_COST / len(points)
    if brute_force >= _SKETCH_TREE_PAYS + 3.0 * axes_cost:
        return "projected_tree"
    flat = _flat_cost(points, _SKETCH_AXES[0], expected, batches)
    product = _product_cost(points, expected, batches)
    if min(flat, product) >= _stopped_cost(points, metric, expected, batches):
        return "brute"
    return "projected_scan" if flat < product else "gemm"
