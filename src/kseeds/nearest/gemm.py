"""Nearest centres by matrix products, where there is no structure to be used.

|x − c|² = |x|² + |c|² − 2·x·c for all pairs is one matrix product. It loses digits, so it only
rules centres out; what it cannot rule out is computed anew, difference by difference.

How much it errs: let u be the unit roundoff, x and c about a common mean. A sum begins with |c|²,
rounded, and none of its d partial sums is more than |c|² + 2|x||c| ≤ 2|c|² + |x|², so they err by
d·u·(2|c|² + |x|²); products that are not fused err by 2u·|x||c| more, and |x|² by d·u·|x|².
Rounding the differences to the mean moves x and c by u of their norms, and so |x − c|² by
2u·(|x| + |c|)². All of it is less than (2d + 6)u·(|x|² + |c|²), but for products of these terms;
ε = γ(2d + 8), with γ(n) = nu / (1 − nu), bounds them, too (Higham, Accuracy and Stability of
Numerical Algorithms, 2002, chapter 3). That is so in single precision. In double precision |c|²
errs by d·u·|c|², too, and limits by a few u, as nothing more precise is at hand: ε = γ(3d + 10).
Products of whole numbers are exact (`kseeds.nearest.whole_numbers`): no tie is in doubt then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray, Metric
from kseeds.nearest import costs
from kseeds.nearest.gemm_kernels import Products, settle_rows, workspace
from kseeds.nearest.plain import largest_norm
from kseeds.nearest.state import Counts, Nearest
from kseeds.nearest.whole_numbers import are_whole, exact_up_to
from kseeds.runtime.aligned import Reused
from kseeds.runtime.block_sizes import LANES, column_order
from kseeds.runtime.memmap import is_mapped
from kseeds.runtime.threads import BLOCK_ROWS, Workers, blocks_of, rows_for, rows_to_share
from kseeds.simd.products import ABREAST, side_by_side

Task: TypeAlias = Callable[[int, int], int]
"""Does rows from one to another; returns how many distances of whole rows it computed."""


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

    at_once = 4096
    """Centres at a time: few enough to stay in a cache that rows are streamed through."""

    def __init__(self, points: FloatArray, metric: Metric, mean: npt.NDArray[np.float64]) -> None:
        self._points, self._metric = points, metric
        self._mean = mean.astype(points.dtype)
        self._order = column_order(len(mean))

    def update(self, nearest: Nearest, centers: FloatArray, first: int, workers: Workers) -> Counts:
        """See `kseeds.nearest.base.Strategy`."""
        exact = 0
        for low, high in blocks_of(len(centers), self.at_once):
            exact += self._update(nearest, centers[low:high], first + low, workers)
        return Counts(len(centers) * len(self._points), 0, exact)

    def _update(self, nearest: Nearest, centers: FloatArray, first: int, workers: Workers) -> int:
        n = len(self._points)
        size = rows_to_share(n, self._cost(len(centers)), workers.n_threads)
        # Where all is in doubt, a row takes as long as differences of all pairs; of a map, few rows
        # are to be read before an interrupt is heard.
        most = BLOCK_ROWS if is_mapped(self._points) else n
        at_worst = len(centers) * costs.pair(self._points, self._metric)
        size = min(size, rows_for(at_worst, most=most))
        return sum(workers.over_blocks(self.task(nearest, centers, first), n, size))

    def _cost(self, n_centers: int) -> float:
        """Return the nanoseconds that a row takes, roughly."""
        return costs.gemm(self._points, n_centers, 1)

    def task(self, nearest: Nearest, centers: FloatArray, first: int) -> Task:
        """Return what compares a block of rows with some centres."""
        points, products = self._points, self._products(centers)
        spaces = Reused(lambda: workspace(points))

        def task(start: int, stop: int) -> int:
            with spaces.one() as space:
                computed: int = settle_rows(
                    points, centers, products, start, stop, first, nearest.squared,
                    nearest.labels, *space,
                )  # fmt: skip
            return computed

        return task

    def _products(self, centers: FloatArray) -> Any:
        """Return the centres about the mean, times −2, four side by side, and the bounds."""
        (m, d), dtype = centers.shape, centers.dtype
        eps = float(np.finfo(dtype).eps)
        roundings = (2 * d + 8 if dtype == np.float32 else 3 * d + 10) * 0.5 * eps
        epsilon = roundings / (1.0 - min(0.5, roundings))
        is_whole = are_whole(centers)
        mean = np.rint(self._mean) if is_whole else self._mean
        moved = centers - mean
        wide = moved.astype(np.float64)
        with np.errstate(over="ignore"):  # of numbers that are then not multiplied
            factors = side_by_side(-2.0 * moved[:, self._order])
        # What is missing from the last four is nearest to nothing.
        groups = side_by_side(centers if d < LANES else centers[:0], np.inf)
        shifts = np.full(-(-m // ABREAST) * ABREAST, np.inf, dtype=dtype)
        norms = np.einsum("ij,ij->i", wide, wide)
        with np.errstate(over="ignore"):
            shifts[:m] = norms if is_whole else norms * (1.0 - epsilon)
        # Shifts of whole numbers are not rounded down, in case products are exact.
        slack = epsilon * float(norms.max()) if is_whole else 0.0
        whole = exact_up_to(norms, dtype) if is_whole else -1.0
        stretch = (1.0 + self._metric.relative) * (1.0 + 4.0 * d * eps)
        most = largest_norm(dtype)
        most = most if norms.max() <= most else -1.0
        return Products(
            factors, groups, shifts, mean[self._order], stretch, 1.0 - epsilon, slack, whole, most
        )  # fmt: skip
