"""The vantage-point tree of Algorithm 4: for k-means||, for nearest centres, and on its own."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.metrics import FloatArray, Metric
from kseeds.threads import Workers

LEAF_SIZE = 16


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
        self.nodes, self.distances = kernels.build(
            points, int(metric.family), leaf_size, self.order, self.gaps,
            self.first, self.last, self.near, self.far, self.ranges,
        )  # fmt: skip
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
        in_order: bool = False,
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
                in_range, in_order, offset, squared, labels,
            )  # fmt: skip
            return int(computed), int(visited)

        counts = workers.over_blocks(task, len(queries))
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
        self.opened, visited = tree.improve(
            self._points, squared, labels, workers, offset=offset, in_order=True
        )
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
        self._prepared = prepare_points(points, metric, name="points")
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

        points = prepare_like(self._prepared, queries, name="queries")
        reach = check_radii(radii, len(points)) / self._prepared.metric.scale
        limit = (reach * reach).astype(points.dtype)
        # The search is strict; one step up makes the radius itself part of the range.
        squared = np.nextafter(limit, points.dtype.type(np.inf))
        labels = np.full(len(points), -1, dtype=np.int32)
        with Workers(check_threads(n_threads)) as workers:
            computed, visited = self._tree.improve(points, squared, labels, workers)
        self.distance_computations += computed
        self.nodes_visited += visited
        distances = np.sqrt(squared) * points.dtype.type(self._prepared.metric.scale)
        distances[labels < 0] = np.inf
        return labels, distances
