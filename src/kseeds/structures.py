"""The data structures of the paper as public classes: `VPTree` and `ClockQueue`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.distances import underflow
from kseeds.distances.metrics import FloatArray
from kseeds.inputs import check_count, check_radii, check_threads, prepare_like, prepare_points
from kseeds.inputs.containers import to_array
from kseeds.nearest.vantage_tree import LEAF_SIZE, VantageTree
from kseeds.runtime.threads import Workers
from kseeds.sampling.clock_queue import PreparedQueue

_STEPS = 8


class ClockQueue(PreparedQueue):
    """A priority queue whose keys may be increased at any time, but never decreased.

    Increasing a key costs nothing: its entry in the heap becomes outdated, and is too small. `pop`
    corrects only those outdated entries that reach the top.

    Parameters
    ----------
    keys : array of float64, shape (n,)
        The key of each item. The queue keeps this array: increase a key by writing to it.

    Attributes
    ----------
    keys : ndarray
        The current keys.
    examined : int
        How many items the last `pop` examined.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds import ClockQueue
    >>> queue = ClockQueue(np.array([0.3, 0.1, 0.2]))
    >>> queue.keys[1] = 5.0
    >>> queue.pop(), queue.examined
    (2, 2)
    >>> len(queue)
    2
    """

    def __init__(self, keys: npt.ArrayLike) -> None:
        values = np.ascontiguousarray(to_array(keys, "keys"), dtype=np.float64)
        if values.ndim != 1:
            raise ValueError(
                f"keys has {values.ndim} dimensions; pass a one-dimensional array of keys."
            )
        if np.isnan(values).any():
            where = int(np.flatnonzero(np.isnan(values))[0])
            raise ValueError(f"keys has NaN at position {where}; give every item a number.")
        super().__init__(values)


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
        The name of a metric, as for `kmeans_plusplus`.
    leaf_size : int, default 16
        Nodes of at most this many items are not split.

    Attributes
    ----------
    distance_computations, nodes_visited : int
        Totals of the construction and of all queries so far.

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
        check_count("leaf_size", leaf_size)
        if callable(metric):
            raise ValueError(
                f"metric={getattr(metric, '__name__', metric)} is a function, which may break the "
                "triangle inequality that the tree relies on; name a metric, or use kseeds.assign."
            )
        self._prepared = prepare_points(points, metric, name="points")
        self._exact = self._prepared.exact.copy()  # a copy, since the caller may change the array
        self._tree = VantageTree(self._prepared.points, self._prepared.metric, leaf_size)
        self.distance_computations = int(self._tree.distances)
        self.nodes_visited = 0

    def __len__(self) -> int:
        return len(self._tree)

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
            The nearest item, ties going to the lowest index; -1 where none is in range.
        distances : ndarray, shape (q,)
            Its distance; infinity where none is in range.
        """
        points, values = prepare_like(self._prepared, queries, name="queries")
        metric, limits = self._prepared.metric, check_radii(radii, len(points))
        squared = _just_beyond(limits, metric.scale, points.dtype)
        labels = np.full(len(points), -1, dtype=np.int32)
        with Workers(check_threads(n_threads)) as workers:
            computed, visited = self._tree.search(points, squared, labels, workers)
        self.distance_computations += computed
        self.nodes_visited += visited
        distances = _in_user_units(squared, metric.scale)
        exact = points if metric.is_embedded else values
        small, found = underflow.relabel_underflowed(
            exact, self._exact, metric, underflow.small_squares(squared), labels
        )
        distances[small] = found.values()
        labels[distances > limits] = -1  # a square that had underflowed to 0
        distances[labels < 0] = np.inf
        return labels, distances


def _in_user_units(squared: FloatArray, scale: float) -> FloatArray:
    with np.errstate(over="ignore", under="ignore"):  # distances may overflow or underflow
        distances: FloatArray = np.sqrt(squared) * squared.dtype.type(scale)
    return distances


def _just_beyond(radii: npt.NDArray[np.float64], scale: float, dtype: np.dtype[Any]) -> FloatArray:
    """Return the smallest squared distances whose rounded square roots exceed the radii.

    The search finds items strictly below these limits, hence items at a distance of exactly the
    radius. The squared radius is a few floating-point steps off; many for distances so small that
    their squares lose digits, which are bisected.
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
    """Bisect for `_just_beyond` over the bits of the floats, which sort as positive floats do."""
    bits = np.dtype(f"i{dtype.itemsize}")
    low = np.zeros(len(radii), dtype=bits)
    high = np.full(len(radii), np.inf, dtype=dtype).view(bits)
    for _ in range(8 * dtype.itemsize):
        midpoint = low + (high - low) // 2
        is_beyond = _in_user_units(midpoint.view(dtype), scale) > radii
        low, high = np.where(is_beyond, low, midpoint), np.where(is_beyond, midpoint, high)
    squared: FloatArray = high.view(dtype)
    return squared
