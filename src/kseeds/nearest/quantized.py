"""Nearest centres by products of bytes, a quarter of the instructions of products of numbers.

A row and a centre about a common mean, x and c, are rounded to whole numbers of steps, one step for
each of them: x = x̂ + r and c = ĉ + e, where x̂ and ĉ are steps times whole numbers from −127 to 127.
Processors that multiply and add 64 bytes at once (AVX-512 VNNI) have x̂·ĉ exactly, and

    x·c = x̂·ĉ + x̂·e + r·c,    so    2·x·c ≤ 2·x̂·ĉ + θ|x̂|² + |e|²/θ + θ|c|² + |r|²/θ

for any θ > 0: two terms of the centre, which its shift has, and two of the row, which its limit
has. The best θ is |e| / |x̂| and |r| / |c|, which hardly varies. For any δ > 0, (a + b)² is at most
(1 + δ)a² + (1 + 1/δ)b², and so |x̂|² at most (1 + δ)|x|² + (1 + 1/δ)|r|². What this lower bound of
|x − c|² cannot rule out, a centre or two of a row, is computed anew, difference by difference.

Rounding: let u be the unit roundoff of single precision, in which bounds are computed whatever that
of the rows. Differences to the mean err by 4u·(|x|² + |c|²), as in `kseeds.nearest.gemm`, the norm
of a row by d·u of it; scaling products, and adding them to the shift, by 4u·(|x̂|² + |ĉ|²) and u
of the shift, where |ĉ| ≤ 2|c|. All of it is less than (2d + 16)u·(|x|² + |c|²) if there are at
least 16 columns, but for products of these terms, and ε = γ(2d + 16) bounds them, too. |r| as
computed errs by ε|r| + ε|x| at most. Whole numbers of at most 127 are whole steps: their products
are exact (`kseeds.nearest.whole_numbers`), and no tie is in doubt.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray, Metric
from kseeds.nearest import costs
from kseeds.nearest.gemm import Gemm, Task
from kseeds.nearest.quantized_kernels import Found, settle_rows, workspace
from kseeds.nearest.state import Nearest
from kseeds.nearest.steps_kernels import STEPS, Factors, Steps, Tile, new_steps, set_factors
from kseeds.nearest.whole_numbers import are_whole, exact_up_to
from kseeds.runtime import compile_policy
from kseeds.runtime.aligned import Reused, aligned, read_only
from kseeds.simd.byte_products import TOGETHER
from kseeds.simd.products import ABREAST

_LEAST_THETA, _SPLIT = 3e-3, 0.02
"""The least θ, about what rows leave out where centres leave nothing; and δ."""
_EXACT_PAIR = 1e-8
"""Seconds that a distance takes of a pair that is in doubt, about."""
_JUDGED_ROWS = 1024
MOST_NORM = 1e34
"""Squared norm up to which no product is beyond single precision; see `settle_rows`."""
_SINGLE = np.dtype(np.float32)


class InSteps(NamedTuple):
    """Centres about the mean in steps, four side by side, and the squares of what steps leave out.

    ``norms`` are squared, and ``largest`` is the largest coordinate.
    """

    words: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int32]
    slopes: npt.NDArray[np.float32]
    norms: npt.NDArray[np.float64]
    errors: npt.NDArray[np.float64]
    largest: float


def in_steps(
    centers: FloatArray, mean: FloatArray, order: npt.NDArray[np.int64], is_whole: bool = False
) -> InSteps:
    """Return centres about the mean in steps, which are 1 if they are whole.

    ``mean`` is in the ``order`` in which columns hold coordinates.
    """
    m, d = centers.shape
    room = -(-m // ABREAST) * ABREAST
    starts, slopes = np.zeros(room, dtype=np.int32), np.zeros(room, dtype=_SINGLE)
    words = aligned((room // ABREAST * -(-d // TOGETHER), ABREAST), np.int32)
    norms, errors = np.empty((2, m))
    largest = set_factors(
        read_only(centers), mean, order, is_whole, words, starts, slopes, norms, errors
    )
    return InSteps(words, starts, slopes, norms, errors, largest)


class Quantized(Gemm):
    """See `kseeds.nearest.base.Strategy`; Euclidean.

    Where steps are too coarse (rows of which one coordinate is far larger than the others), the
    other blocks are left to products of numbers, if that repays their kernels.

    Parameters
    ----------
    points : ndarray
        The rows, of at least 16 columns.
    metric : Metric
        Their metric.
    mean : ndarray, shape (d,)
        What to move the rows by, so that their norms are small.
    keeps : bool
        Whether the rows are kept in steps, for batches to come: a byte for each coordinate, and
        twelve or twenty a row.
    """

    at_once = 2048
    name, gives_way_to = "quantized", "gemm"

    def __init__(
        self,
        points: FloatArray,
        metric: Metric,
        mean: npt.NDArray[np.float64],
        keeps: bool = False,
    ) -> None:
        super().__init__(points, metric, mean)
        self._instead: Gemm = Gemm(points, metric, mean)
        self._is_useful = self._is_new = True
        self._keeps = keeps
        self._kept: tuple[FloatArray, Steps] | None = None

    def task(self, nearest: Nearest, centers: FloatArray, first: int) -> Task:
        """Return what compares a block of rows with some centres."""
        dtype = self._points.dtype
        instead = functools.cache(lambda: self._instead.task(nearest, centers, first))
        factors, m = self._products(centers), len(centers)
        if factors is None:
            return instead()
        by_bytes = self._by_bytes(nearest, centers, factors, first)

        def judged(start: int, stop: int) -> int:
            computed = by_bytes(start, stop)
            # A row has one centre that is nearest, whatever the steps.
            if computed > (1.0 + costs.USELESS[self.name] * m) * (stop - start):
                rest = _EXACT_PAIR * (len(self._points) - stop) * computed / (stop - start)
                self._is_useful = compile_policy.waiting(self.gives_way_to, dtype) > rest
            return computed

        def task(start: int, stop: int) -> int:
            computed = 0
            if self._is_new:  # a few rows tell, before a whole block is lost
                few = min(stop, start + _JUDGED_ROWS)
                computed, start = judged(start, few), few
                self._is_new = False
            if start == stop:
                return computed
            if self._is_useful:
                return computed + judged(start, stop)
            with compile_policy.using(self.gives_way_to, dtype):
                return computed + instead()(start, stop)

        return task

    def _cost(self, n_centers: int) -> float:
        """Return the nanoseconds that a row takes, roughly."""
        return costs.quantized(self._points, n_centers, 1)

    def _by_bytes(
        self, nearest: Nearest, centers: FloatArray, factors: Factors, first: int
    ) -> Task:
        """Return what does so in any case."""
        points = self._points
        kept = self._steps_for(factors) if self._keeps else None
        spaces = Reused(lambda: self._workspace(len(factors.added), kept))

        def task(start: int, stop: int) -> int:
            with spaces.one() as (steps, tile, found):
                computed: int = settle_rows(
                    points, centers, factors, steps, start, stop, first, nearest.squared,
                    nearest.labels, tile, found,
                )  # fmt: skip
            return computed

        return task

    def _workspace(self, n_centers: int, kept: Steps | None) -> tuple[Steps, Tile, Found]:
        steps = new_steps(self._points, False) if kept is None else kept
        return steps, *workspace(self._points, n_centers)

    def _steps_for(self, factors: Factors) -> Steps:
        """Return the steps of all rows that are known, about the mean of these factors."""
        if self._kept is None or not np.array_equal(factors.mean, self._kept[0]):
            self._kept = None  # before there are others
            self._kept = factors.mean, new_steps(self._points, True)
        return self._kept[1]

    def _products(self, centers: FloatArray) -> Factors | None:
        """Return the centres about the mean in steps, four side by side, and the bounds.

        None if products may be beyond single precision.
        """
        stepped, mean, is_exact = self._stepped(centers)
        is_safe = stepped.norms.max() < MOST_NORM
        return self._factors(stepped, mean, is_exact) if is_safe else None

    def _stepped(self, centers: FloatArray) -> tuple[InSteps, FloatArray, bool]:
        """Return the centres in steps, the mean that they are about, and whether they are exact."""
        mean = self._mean[self._order]
        if are_whole(centers):
            rounded = np.rint(mean)
            stepped = in_steps(centers, rounded, self._order, is_whole=True)
            if stepped.largest <= STEPS:
                return stepped, rounded, True
        return in_steps(centers, mean, self._order), mean, False

    def _factors(self, stepped: InSteps, mean: FloatArray, is_exact: bool) -> Factors:
        added = np.full(len(stepped.starts), np.inf, dtype=_SINGLE)  # those missing are never near
        bounds = self._bounds(stepped.norms, stepped.errors, added, is_exact)
        return Factors(stepped.words, stepped.starts, stepped.slopes, added, mean, *bounds)

    def _bounds(
        self,
        norms: npt.NDArray[np.float64],
        errors: npt.NDArray[np.float64],
        added: npt.NDArray[np.float32],
        is_exact: bool,
    ) -> tuple[float, float, float, float, float]:
        """Write the shifts of centres, and return what follows them in `Factors`."""
        d = len(self._order)
        roundings = (2 * d + 16) * 0.5 * float(np.finfo(_SINGLE).eps)
        epsilon = roundings / (1.0 - min(0.5, roundings))
        theta = math.sqrt(errors.sum() / max(float(norms.sum()), np.finfo(np.float64).tiny))
        theta = min(max(theta, _LEAST_THETA), 1.0)
        slack, whole = 0.0, -1.0
        if is_exact:  # shifts are not rounded down, in case products are exact
            slack, whole = (theta + epsilon) * float(norms.max()), exact_up_to(norms, _SINGLE)
            added[: len(norms)] = norms
        else:
            shifts = (norms * (1.0 - epsilon - theta) - errors / theta).astype(_SINGLE)
            added[: len(norms)] = np.nextafter(shifts, _SINGLE.type(-np.inf))
        # What a row's own steps leave out is at most the first of these times what was computed of
        # it, squared, and the second times |x|².
        of_left = (1.0 + _SPLIT) * (1.0 + epsilon) ** 2
        of_rounding = (1.0 + 1.0 / _SPLIT) * epsilon**2
        each = theta * (1.0 + 1.0 / _SPLIT) + 1.0 / theta
        of_norm = 1.01 * (theta * (1.0 + _SPLIT) + epsilon) + each * of_rounding
        eps = float(np.finfo(self._points.dtype).eps)
        stretch = (1.0 + self._metric.relative) * (1.0 + 4.0 * d * eps)
        return of_norm, each * of_left, slack, stretch, whole
