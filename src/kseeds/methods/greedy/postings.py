"""Greedy steps on sparse rows: the rows that share a column with a candidate, by column.

The products of a candidate with all rows come from the lists of its own columns (the transposed
data); all other products are 0. Every row's distance follows from its product, its norm and the
norm of the candidate, so that a gain costs one look at each row and none at its entries.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.distances.sparse_kernels import SparseArrays
from kseeds.distances.sparse_rows import Points, fit_single_precision
from kseeds.inputs.problem import Problem
from kseeds.methods.greedy import postings_kernels as kernels
from kseeds.methods.greedy.rule import winner
from kseeds.methods.greedy.steps import Float64Array, OneByOne
from kseeds.nearest.inverted import Inverted
from kseeds.nearest.state import Nearest
from kseeds.runtime.aligned import Reused
from kseeds.runtime.blas import one_blas_thread
from kseeds.runtime.block_sizes import BLOCK, LANES
from kseeds.runtime.threads import Workers
from kseeds.sampling import sum_tree
from kseeds.sampling.sum_tree import Masses
from kseeds.sampling.sum_tree_kernels import draw_rows, sum_blocks, sum_inner

_CROWDED, _MOST_CROWDED = 1 / 6, 128
"""Share of the rows that have an entry in a column, from which on it is kept as a dense one, and
how many such columns there may be."""
_PAYS = 2.0
"""Entries of such columns that a candidate meets, per row, from which on that pays."""
_PRODUCT_ROWS = 8192


class PostingRows(OneByOne):
    """See `kseeds.methods.greedy.steps.Rows`; for sparse rows."""

    def __init__(self, problem: Problem, workers: Workers) -> None:
        points = problem.points
        self._points, self._metric, self._workers = points, problem.metric, workers
        self.nearest = Nearest.empty(points)
        self._weights = np.empty(0) if problem.weights is None else problem.weights
        self._sums = sum_tree.new_sums(len(points))
        self._arrays = SparseArrays.of(points)
        counts = np.bincount(points.columns, minlength=points.shape[1])
        crowded = self._crowded_columns(counts)
        starts = np.zeros(points.shape[1] + 1, dtype=np.int64)
        np.cumsum(counts, out=starts[1:])
        rows = np.empty(points.size, dtype=np.int32)
        values = np.empty(points.size, dtype=points.dtype)
        kernels.transpose(self._arrays, starts[:-1].copy(), rows, values)
        is_crowded = np.zeros(points.shape[1], dtype=bool)
        is_crowded[crowded] = True
        self._postings = kernels.Postings(starts, rows, values, is_crowded)
        self._columns = np.zeros((len(crowded), len(points)), dtype=np.float32)
        for number, column in enumerate(crowded):
            mine = slice(starts[column], starts[column + 1])
            self._columns[number, rows[mine]] = values[mine]
        self._number = np.full(points.shape[1], -1, dtype=np.int32)
        self._number[crowded] = np.arange(len(crowded))
        most = int(np.diff(points.indptr).max())
        self._error = 4.0 * (most + 4) * float(np.finfo(np.float64).eps)
        if len(crowded):
            self._error += 4.0 * (len(crowded) + 8) * float(np.finfo(np.float32).eps)
        padded = -(-len(points) // LANES) * LANES
        self._levels = np.full(padded, np.inf)
        self._spaces = Reused(lambda: kernels.Space(np.zeros(padded), np.zeros(points.shape[1])))

    def _crowded_columns(self, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the columns that are kept dense: a matrix product is faster than their lists."""
        if not fit_single_precision(self._points):
            return np.empty(0, dtype=np.int64)
        n = len(self._points)
        found = np.flatnonzero(counts > _CROWDED * n)
        found = found[np.argsort(-counts[found], kind="stable")[:_MOST_CROWDED]]
        entries = float(np.square(counts[found], dtype=np.float64).sum()) / n  # of a candidate
        return found if entries > _PAYS * n else found[:0]

    def _crowded_products(self, candidates: list[int]) -> npt.NDArray[np.float32]:
        """Return the products of candidates with all rows in crowded columns alone."""
        if len(self._columns) == 0:
            return np.zeros((len(candidates), 0), dtype=np.float32)
        chosen = self._points[candidates]
        numbers = self._number[chosen.columns]
        is_crowded = numbers >= 0
        factors = np.zeros((len(candidates), len(self._columns)), dtype=np.float32)
        places = chosen.rows_of_entries[is_crowded], numbers[is_crowded]
        factors[places] = chosen.entries[is_crowded]
        products = np.empty((len(candidates), len(self._points)), dtype=np.float32)

        def task(start: int, stop: int) -> None:
            np.matmul(factors, self._columns[:, start:stop], out=products[:, start:stop])

        with one_blas_thread():
            self._workers.over_blocks(task, len(self._points), _PRODUCT_ROWS)
        return products

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

        crowded, is_rough = self._crowded_products(candidates), len(self._columns) > 0

        def gain_of(start: int, stop: int) -> float:
            with self._spaces.one() as space:
                gain: float = kernels.gain(
                    self._arrays, self._postings, candidates[start], crowded[start], squared,
                    self._weights, family, is_rough, self._error, self._levels, space,
                )  # fmt: skip
            return gain

        at = winner(self._workers.over_blocks(gain_of, len(candidates), 1))
        with self._spaces.one() as space:
            kernels.take(
                self._arrays, self._postings, candidates[at], crowded[at], squared,
                self.nearest.labels, self.nearest.n_compared, self._masses, family, is_rough,
                self._error, self._levels, space,
            )  # fmt: skip
        self.nearest.n_compared += 1
        return candidates[at], len(candidates) * len(self._points)
