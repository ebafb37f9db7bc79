"""Every row compared with every centre, 64 rows side by side."""

from __future__ import annotations

from kseeds.distances.metrics import FloatArray, Metric
from kseeds.nearest import costs
from kseeds.nearest.brute_force_kernels import brute_force, new_tile
from kseeds.nearest.state import Counts, Nearest
from kseeds.runtime.aligned import Reused
from kseeds.runtime.threads import Workers, rows_to_share


class BruteForce:
    """See `kseeds.nearest.base.Strategy`; for every metric that is no function."""

    def __init__(self, points: FloatArray, metric: Metric) -> None:
        self._points, self._metric = points, metric

    def update(self, nearest: Nearest, centers: FloatArray, first: int, workers: Workers) -> Counts:
        """See `kseeds.nearest.base.Strategy`."""
        rows, family = nearest.rows_of(self._points), self._metric.kernel_family

        tiles = Reused(lambda: new_tile(self._points))

        def task(start: int, stop: int) -> int:
            with tiles.one() as tile:
                computed: int = brute_force(rows, centers, first, family, start, stop, tile)
            return computed

        n = len(self._points)
        cost = len(centers) * costs.pair(self._points, self._metric)
        size = rows_to_share(n, cost, workers.n_threads)
        computed = sum(workers.over_blocks(task, n, size))
        return Counts(computed, 0, computed)
