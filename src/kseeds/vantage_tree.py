"""The vantage-point tree of Algorithm 4: for k-means||, for nearest centres, and on its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds import careful
from kseeds.metrics import Family, FloatArray, Metric
from kseeds.threads import Workers, rows_for

LEAF_SIZE = 16
_STEPS = 8
_BUILD_DISTANCES = 1 << 20


class PreparedTree:
    """The tree over prepared points; assumes valid input. See `VPTree` for the public one."""

    def __init__(self, points: FloatArray, metric: Metric, leaf_size: int = LEAF_SIZE) -> None:
        from kseeds.kernels import vantage_tree as kernels

        m = len(points)
        # A split leaves at least leaf_size // 2 items a side, so this many nodes suffice.
        room = 2 * (m // max(leaf_size // 2, 1)) + 3
        self.metric = metric
        self.order = np.arange(m, dtype=np.int64)
        self.gaps = np.zeros(m, dtype=np.float64)
        self.first, self.last, self.near, self.far = np.full((4, room), -1, dtype=np.int64)
        self.ranges = np.zeros((room, 4), dtype=np.float64)
        self.first[0], self.last[0] = 0, m
        self.nodes, self.distances, done = 1, 0, 0
        while done < self.nodes:  # between two calls there may be an interrupt
            done, self.nodes, computed = kernels.build(
                points, int(metric.family), leaf_size, done, self.nodes, _BUILD_DISTANCES,
                self.order, self.gaps, self.first, self.last, self.near, self.far, self.ranges,
            )  # fmt: skip
            self.distances += computed
        self.points = np.ascontiguousarray(points[self.order])

    def improve(
        self,
        queries: FloatArray,
        squared: FloatArray,
        labels: npt.NDArray[np.int32],
        workers: Workers,
        *,
        offset: int = 0,
        in_range: bool = True,
    ) -> tuple[int, int]:
        """Overwrite ``squared`` and ``labels`` where an item is strictly nearer.

        Returns the distances computed and the nodes visited.
        """
        from kseeds.kernels.vantage_tree import nearest_in_range

        def task(start: int, stop: int) -> tuple[int, int]:
            computed, visited = nearest_in_range(
                queries, start, stop, self.points, int(self.metric.family),
                self.metric.relative, self.metric.absolute, self.order, self.gaps,
                self.first, self.last, self.near, self.far, self.ranges,
                in_range, offset, squared, labels,
            )  # fmt: skip
            return int(computed), int(visited)

        # Nothing may be pruned: then a query is compared with every item.
        rows = rows_for(len(self.points) * (20.0 + 0.1 * queries.shape[1]))
        counts = workers.over_blocks(task, len(queries), rows)
        return sum(c for c, _ in counts), sum(v for _, v in counts)


class CenterTrees:
    """Exact nearest centres for all rows: a tree over each batch of centres; any metric.

    Parameters
    ----------
    points : ndarray
        The rows.
    metric : Metric
        Their metric.

    Attributes
    ----------
    opened : int
        How many distances the rows needed in the last batch.
    """

    opened = 0

    def __init__(self, points: FloatArray, metric: Metric) -> None:
        self._points, self._metric = points, metric

    def improve(
        self,
        centers: FloatArray,
        offset: int,
        squared: FloatArray,
        labels: npt.NDArray[np.int32],
        workers: Workers,
    ) -> tuple[int, int]:
        """Overwrite ``squared`` and ``labels`` where one of ``centers`` is strictly nearer.

        Returns the distances computed, also between centres, and the nodes visited.
        """
        tree = PreparedTree(centers, self._metric)
        self.opened, visited = tree.improve(self._points, squared, labels, workers, offset=offset)
        return int(tree.distances) + self.opened, visited


class VPTree:
    """A vantage-point tree: exact nearest neighbours within a range.

    Use when the items are few to some tens of thousands, the dimension is low, or the range
    is small compared with the spread of the items. In hundreds of dimensions nothing is
    pruned and a plain matrix product is faster.

    Parameters
    ----------
    points : array-like, shape (m, d)
        The items.
    metric : str, default "euclidean"
        Any metric of kseeds.
    leaf_size : int, default 16
        Items kept unsplit.

    Attributes
    ----------
    distance_computations, nodes_visited : int
        Counted over the building and all queries so far.

    References
    ----------
    P. N. Yianilos, "Data structures and algorithms for nearest neighbor search in general
    metric spaces", SODA 1993; NearestInRange: E. Raff, IJCAI 2021, §4.1.

    Examples
    --------
    >>> from kseeds import VPTree
    >>> tree = VPTree([[0.0], [1.0], [10.0]])
    >>> indices, distances = tree.nearest_in_range([[0.9], [5.0]], radii=2.0)
    >>> indices.tolist()
    [1, -1]
    """

    def __init__(
        self, points: npt.ArrayLike, *, metric: str = "euclidean", leaf_size: int = LEAF_SIZE
    ) -> None:
        from kseeds.inputs import check_count, prepare_points

        check_count("leaf_size", leaf_size)
        if callable(metric):
            raise ValueError(
                f"metric={getattr(metric, '__name__', metric)} is a function, which may break the "
                "triangle inequality that the tree relies on; name a metric, or use kseeds.assign."
            )
        self._prepared = prepare_points(points, metric, name="points")
        self._exact = self._prepared.exact.copy()  # the caller may change what was passed
        self._tree = PreparedTree(self._prepared.points, self._prepared.metric, leaf_size)
        self.distance_computations = int(self._tree.distances)
        self.nodes_visited = 0

    def __len__(self) -> int:
        return len(self._tree.order)

    def nearest_in_range(
        self,
        queries: npt.ArrayLike,
        radii: npt.ArrayLike = np.inf,
        *,
        n_threads: int | None = None,
    ) -> tuple[npt.NDArray[np.int32], FloatArray]:
        """Return for each query the nearest item at a distance of at most its radius.

        Parameters
        ----------
        queries : array-like, shape (q, d)
            The points to search for.
        radii : float or array-like, shape (q,), default infinity
            How far to look.
        n_threads : int, optional
            Threads to use; all cores by default.

        Returns
        -------
        indices : ndarray of int32, shape (q,)
            The nearest item, the smaller index of several; -1 where none is in range.
        distances : ndarray, shape (q,)
            Its distance; infinity where none is in range.
        """
        from kseeds.inputs import check_radii, check_threads, prepare_like

        points, values = prepare_like(self._prepared, queries, name="queries")
        metric, reach = self._prepared.metric, check_radii(radii, len(points))
        squared = _just_beyond(reach, metric.scale, points.dtype)
        labels = np.full(len(points), -1, dtype=np.int32)
        with Workers(check_threads(n_threads)) as workers:
            computed, visited = self._tree.improve(points, squared, labels, workers)
        self.distance_computations += computed
        self.nodes_visited += visited
        distances = _in_user_units(squared, metric.scale)
        exact = points if metric.family is Family.ARC else values
        small, found = careful.settle_small(
            exact, self._exact, metric.kind, careful.small_squares(squared), labels
        )
        distances[small] = found.values()
        labels[distances > reach] = -1  # what only looked as if it coincided
        distances[labels < 0] = np.inf
        return labels, distances


def _in_user_units(squared: FloatArray, scale: float) -> FloatArray:
    with np.errstate(over="ignore", under="ignore"):  # a precision holds no more than it can
        distances: FloatArray = np.sqrt(squared) * squared.dtype.type(scale)
    return distances


def _just_beyond(radii: npt.NDArray[np.float64], scale: float, dtype: np.dtype[Any]) -> FloatArray:
    """Return the least squared distances that are reported as more than the radii.

    The search is strict, so that an item at a radius that was reported as its distance is found.
    Rounding puts the square of a radius a few steps from there; where distances are so small that
    they lose digits, many.
    """
    zero, infinite = dtype.type(0.0), dtype.type(np.inf)
    with np.errstate(over="ignore", under="ignore"):
        squared: FloatArray = np.square(radii / scale).astype(dtype)
    for _ in range(_STEPS):
        is_beyond = _in_user_units(squared, scale) > radii
        squared = np.where(is_beyond, np.nextafter(squared, zero), squared)
    for _ in range(2 * _STEPS):
        is_beyond = _in_user_units(squared, scale) > radii
        squared = np.where(is_beyond, squared, np.nextafter(squared, infinite))
    before = _in_user_units(np.nextafter(squared, zero), scale)
    found = (before <= radii) & (_in_user_units(squared, scale) > radii)
    left = np.flatnonzero(~found & np.isfinite(radii))
    squared[left] = _bisected(radii[left], scale, dtype)
    return squared


def _bisected(radii: npt.NDArray[np.float64], scale: float, dtype: np.dtype[Any]) -> FloatArray:
    """Do what `_just_beyond` does: the bits of positive floats are in the order of the floats."""
    bits = np.dtype(f"i{dtype.itemsize}")
    low = np.zeros(len(radii), dtype=bits)
    high = np.full(len(radii), np.inf, dtype=dtype).view(bits)
    for _ in range(8 * dtype.itemsize):
        middle = low + (high - low) // 2
        is_beyond = _in_user_units(middle.view(dtype), scale) > radii
        low, high = np.where(is_beyond, low, middle), np.where(is_beyond, middle, high)
    squared: FloatArray = high.view(dtype)
    return squared
