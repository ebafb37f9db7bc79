"""Nearest centres by matrix products, where there is no structure to be used.

|x − c|² = |x|² + |c|² − 2·x·c for all pairs is one matrix product. It loses digits, so it only
rules centres out; what it cannot rule out is computed anew, difference by difference. With u
the unit roundoff, products and norms err by less than 8(d + 8)u·(|x|² + |c|²), where x and c are
about a common mean; rounding these differences moves x and c by less than 2u of their norms, and so
|x − c|² by less than 32u·(|x|² + |c|²). Hence ε = 8(d + 12)u for both.
Products of whole numbers are exact (`kseeds.nearest.whole_numbers`): no tie is in doubt then.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray, Metric
from kseeds.nearest import costs
from kseeds.nearest.gemm_kernels import Products, settle_rows, workspace
from kseeds.nearest.state import Counts, Nearest
from kseeds.nearest.whole_numbers import are_whole, exact_up_to
from kseeds.runtime.aligned import Reused
from kseeds.runtime.block_sizes import COLUMNS, column_order
from kseeds.runtime.threads import Workers, blocks_of, is_worth_sharing, rows_for
from kseeds.simd.products import ABREAST, side_by_side

_CENTERS = 4096
"""Centres at a time: few enough to stay in a cache that rows are streamed through."""


class Gemm:
    """See `kseeds.nearest.base.Strategy`; Euclidean.

    Parameters
    ----------
    points : ndarray
        The rows.
    metric : Metric
        Their metric.
    mean : ndarray, shape (d,)
        What to move the rows by, so that their norms are small.
    """

    def __init__(self, points: FloatArray, metric: Metric, mean: npt.NDArray[np.float64]) -> None:
        self._points, self._metric = points, metric
        self._mean = mean.astype(points.dtype)
        self._order = column_order(len(mean))

    def update(self, nearest: Nearest, centers: FloatArray, first: int, workers: Workers) -> Counts:
        """See `kseeds.nearest.base.Strategy`."""
        exact = 0
        for low, high in blocks_of(len(centers), _CENTERS):
            exact += self._update(nearest, centers[low:high], first + low, workers)
        return Counts(len(centers) * len(self._points), 0, exact)

    def _update(self, nearest: Nearest, centers: FloatArray, first: int, workers: Workers) -> int:
        points, products = self._points, self._products(centers)
        spaces = Reused(lambda: workspace(points))

        def task(start: int, stop: int) -> int:
            with spaces.one() as space:
                computed: int = settle_rows(
                    points, centers, products, start, stop, first, nearest.squared,
                    nearest.labels, *space,
                )  # fmt: skip
            return computed

        n, cost = len(points), len(centers) * costs.pair(points, self._metric)
        shared_out = -(-n // (8 * COLUMNS * workers.n_threads)) * COLUMNS
        size = min(max(1024, shared_out), rows_for(cost)) if is_worth_sharing(n * cost) else n
        return sum(workers.over_blocks(task, n, size))

    def _products(self, centers: FloatArray) -> Products:
        """Return the centres about the mean, times −2, four side by side, and the bounds."""
        (m, d), dtype = centers.shape, centers.dtype
        eps = float(np.finfo(dtype).eps)
        epsilon = 4.0 * (d + 12) * eps
        is_whole = are_whole(centers)
        mean = np.rint(self._mean) if is_whole else self._mean
        moved = centers - mean
        wide = moved.astype(np.float64)
        factors = side_by_side(-2.0 * moved[:, self._order])
        shifts = np.full(-(-m // ABREAST) * ABREAST, np.inf, dtype=dtype)
        norms = np.einsum("ij,ij->i", wide, wide)
        shifts[:m] = norms if is_whole else norms * (1.0 - epsilon)
        # Shifts of whole numbers are not rounded down, in case products are exact.
        slack = epsilon * float(norms.max()) if is_whole else 0.0
        whole = exact_up_to(norms, dtype) if is_whole else -1.0
        stretch = (1.0 + self._metric.relative) * (1.0 + 4.0 * d * eps)
        return Products(
            factors, shifts, mean[self._order], stretch, 1.0 - epsilon, slack, whole
        )  # fmt: skip
