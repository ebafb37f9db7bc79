"""Greedy steps on sparse rows: the rows that share a column with a candidate, by column.

The products of a candidate with all rows come from the lists of its own columns (the transposed
data); all other products are 0. Every row's distance follows from its product, its norm and the
norm of the candidate, so that a gain costs one look at each row and none at its entries.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.distances.sparse_kernels import SparseArrays
from kseeds.distances.sparse_rows import Points
from kseeds.inputs.problem import Problem
from kseeds.methods.greedy import postings_kernels as kernels
from kseeds.methods.greedy.rule import winner
from kseeds.methods.greedy.steps import Float64Array, OneByOne
from kseeds.nearest.inverted import Inverted
from kseeds.nearest.state import Nearest
from kseeds.runtime.aligned import Reused
from kseeds.runtime.block_sizes import BLOCK, LANES
from kseeds.runtime.threads import Workers
from kseeds.sampling import sum_tree
from kseeds.sampling.sum_tree import Masses
from kseeds.sampling.sum_tree_kernels import draw_rows, sum_blocks, sum_inner


class PostingRows(OneByOne):
    """See `kseeds.methods.greedy.steps.Rows`; for sparse rows."""

    def __init__(self, problem: Problem, workers: Workers) -> None:
        points = problem.points
        self._points, self._metric, self._workers = points, problem.metric, workers
        self.nearest = Nearest.empty(points)
        self._weights = np.empty(0) if problem.weights is None else problem.weights
        self._sums = sum_tree.new_sums(len(points))
        self._arrays = SparseArrays.of(points)
        starts = np.zeros(points.shape[1] + 1, dtype=np.int64)
        np.cumsum(np.bincount(points.columns, minlength=points.shape[1]), out=starts[1:])
        rows = np.empty(points.size, dtype=np.int32)
        values = np.empty(points.size, dtype=points.dtype)
        kernels.transpose(self._arrays, starts[:-1].copy(), rows, values)
        self._postings = kernels.Postings(starts, rows, values)
        most = int(np.diff(points.indptr).max())
        self._error = 4.0 * (most + 4) * float(np.finfo(np.float64).eps)
        padded = -(-len(points) // LANES) * LANES
        self._levels = np.full(padded, np.inf)
        self._dots = Reused(lambda: np.zeros(padded))

    @property
    def total(self) -> float:
        """Σ w·α² over all rows."""
        return float(self._sums[1])

    @property
    def _masses(self) -> Masses:
        return Masses(self.nearest.squared, self._weights, self._sums)

    def add_centers(self, centers: Points) -> int:
        """Compare all rows with the first centres; return the distances computed."""
        counts = Inverted(self._points, self._metric).update(
            self.nearest, centers, 0, self._workers
        )
        self.nearest.n_compared = len(centers)
        kernels.set_levels(
            self._arrays, self.nearest.squared, self._error, 0, len(self._points), self._levels
        )
        sum_blocks(self._masses, 0, -(-len(self._points) // BLOCK))
        sum_inner(self._sums)
        return counts.distances

    def draw(self, uniforms: Float64Array) -> npt.NDArray[np.int64]:
        """Return a row per uniform number, drawn in proportion to w·α²."""
        drawn = np.empty(len(uniforms), dtype=np.int64)
        draw_rows(self._masses, uniforms[None, None], 0, np.empty(len(uniforms)), drawn)
        return drawn

    def add_best(self, candidates: list[int]) -> tuple[int, int]:
        """Make the best of some rows a centre, and compare all rows with it."""
        squared, family = self.nearest.squared, self._metric.kernel_family

        def gain_of(start: int, stop: int) -> float:
            with self._dots.one() as dots:
                gain: float = kernels.gain(
                    self._arrays, self._postings, candidates[start], squared, self._weights,
                    family, self._error, self._levels, dots,
                )  # fmt: skip
            return gain

        at = winner(self._workers.over_blocks(gain_of, len(candidates), 1))
        with self._dots.one() as dots:
            kernels.take(
                self._arrays, self._postings, candidates[at], squared, self.nearest.labels,
                self.nearest.n_compared, self._masses, family, self._error, self._levels, dots,
            )  # fmt: skip
        self.nearest.n_compared += 1
        return candidates[at], len(candidates) * len(self._points)
