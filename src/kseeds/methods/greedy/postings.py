"""Greedy steps on sparse rows: the rows that share a column with a candidate, by column.

The products of a candidate with all rows come from the lists of its own columns (the transposed
data); all other products are 0. Every row's distance follows from its product, its norm and the
norm of the candidate, so that a row which could not become nearer is ruled out without its entries.
Products are bounds only: they are in single precision, and leave out columns as
`kseeds.methods.greedy.cuts` says. The rows that remain are compared exactly.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from kseeds.distances.sparse_kernels import SparseArrays
from kseeds.distances.sparse_rows import Points, SparseRows
from kseeds.inputs.problem import Problem
from kseeds.methods.greedy import cuts
from kseeds.methods.greedy import postings_kernels as kernels
from kseeds.methods.greedy.proposal_kernels import candidates_of_step
from kseeds.methods.greedy.proposals import Proposals
from kseeds.methods.greedy.rule import winner
from kseeds.methods.greedy.steps import OneByOne
from kseeds.nearest.inverted import Inverted
from kseeds.nearest.state import Nearest
from kseeds.runtime.aligned import Reused, aligned
from kseeds.runtime.blas import one_blas_thread
from kseeds.runtime.block_sizes import BLOCK, COLUMNS
from kseeds.runtime.threads import Workers
from kseeds.sampling import sum_tree
from kseeds.sampling.sum_tree import Masses
from kseeds.sampling.sum_tree_kernels import sum_blocks, sum_inner

_CROWDED, _MOST_CROWDED = 1 / 6, 128
"""Share of the rows that have an entry in a column, from which on it is kept as a dense one unless
a cut leaves it out, and how many such columns there may be."""
_PAYS = 2.0
"""Entries of such columns that a candidate meets, per row, from which on that pays."""
_PRODUCT_ROWS = 32_768
_ROWS = 32_768
"""Rows whose products are made together, at most: a power of two."""
_KEPT = 16
"""A candidate that would be nearer to more than one in so many rows is compared again."""
_TOGETHER = 4
"""Candidates of one task."""


class PostingRows(OneByOne):
    """See `kseeds.methods.greedy.steps.Rows`; for sparse rows."""

    def __init__(self, problem: Problem, workers: Workers) -> None:
        points = problem.points
        self._points, self._metric, self._workers = points, problem.metric, workers
        self.nearest = Nearest.empty(points)
        self._weights = np.empty(0) if problem.weights is None else problem.weights
        self._sums = sum_tree.new_sums(len(points))
        self._arrays = SparseArrays.of(points)
        n_groups = cuts.number_of_groups(points.per_row)
        self._postings, crowded = _by_column(points, self._arrays, n_groups)
        rows = min(_ROWS, -(-len(points) // COLUMNS) * COLUMNS)
        n_blocks = -(-len(points) // rows)
        self._columns = self._dense_columns(crowded, n_blocks * rows)
        self._choice = cuts.Choice(n_groups)
        self._kept: kernels.Kept | None = None
        levels = aligned((n_blocks, rows), np.float32)
        norms = aligned((n_blocks * n_groups, rows), np.float32)
        levels[:], norms[:] = np.inf, 0.0
        kernels.group_norms(self._arrays, self._postings, np.empty(n_groups), norms)
        most = int(np.diff(points.indptr).max())
        error = 4.0 * (most + n_groups + 16) * float(np.finfo(np.float32).eps)
        self._bounds = kernels.Bounds(levels, error, norms, _ROWS - 1)
        self._spaces = Reused(
            lambda: kernels.Space(
                np.empty(rows),
                aligned(rows, np.float32),
                np.zeros(points.shape[1]),
                np.empty(len(points), dtype=np.int32),
                np.empty(len(points)),
                np.empty(len(points), dtype=points.dtype),
                np.empty(n_groups, dtype=np.int32),
                np.empty(n_groups, dtype=np.float32),
                np.empty((most, 2), dtype=np.int64),
                np.empty(most),
            )
        )

    def _dense_columns(self, crowded: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.float32]:
        """Return the columns that are kept dense, each as a row of so many values."""
        starts, rows, values = self._postings[:3]
        columns = aligned((len(crowded), width), np.float32)
        columns[:] = 0.0
        for number, column in enumerate(crowded):
            mine = slice(starts[column], starts[column + 1])
            columns[number, rows[mine]] = values[mine] * self._postings.unit
        return columns

    def _dense_products(self, candidates: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        """Return what dense columns contribute to the products of candidates with all rows."""
        width = self._columns.shape[1]
        if len(self._columns) == 0:
            return np.empty((len(candidates), 0), dtype=np.float32)
        products = aligned((len(candidates), width), np.float32)
        factors = np.ascontiguousarray(self._columns[:, candidates].T)

        def task(start: int, stop: int) -> None:
            np.matmul(factors, self._columns[:, start:stop], out=products[:, start:stop])

        with one_blas_thread():
            self._workers.over_blocks(task, width, _PRODUCT_ROWS)
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
        kernels.set_levels(self._arrays, self.nearest.squared, self._postings.unit, self._bounds)
        sum_blocks(self._masses, 0, -(-len(self._points) // BLOCK))
        sum_inner(self._sums)
        return counts.distances

    def candidates(self, proposals: Proposals) -> list[int]:
        """Return the candidates of the next step."""
        return candidates_of_step(proposals, self._masses)

    def add_best(self, candidates: list[int]) -> tuple[int, int]:
        """Make the best of some rows a centre, and compare all rows with it."""
        rows = np.array(candidates, dtype=np.int64)
        squared, family = self.nearest.squared, self._metric.kernel_family
        chosen = self._choice.of_step(len(rows))
        sizes = self._choice.sizes[chosen]
        products = self._dense_products(rows)
        gains, costs = np.empty((2, len(rows)))
        kept = self._room_for(len(rows))

        def task(start: int, stop: int) -> None:
            with self._spaces.one() as space:
                kernels.gains(
                    self._arrays, self._postings, self._bounds, rows, sizes, products, squared,
                    self._weights, family, start, stop, space, kept, gains, costs,
                )  # fmt: skip

        self._workers.over_blocks(task, len(rows), _TOGETHER)
        self._choice.learn(chosen, costs.tolist())
        at = winner(gains.tolist())
        with self._spaces.one() as space:
            kernels.take(
                self._arrays, self._postings, self._bounds, candidates[at], sizes[at], products[at],
                squared, self.nearest.labels, self.nearest.n_compared, self._masses, family, space,
                kept, at,
            )  # fmt: skip
        self.nearest.n_compared += 1
        return candidates[at], len(candidates) * len(self._points)

    def _room_for(self, n_candidates: int) -> kernels.Kept:
        """Return room for the rows that so many candidates would be nearer to."""
        if self._kept is None or len(self._kept.counts) < n_candidates:
            shape = (n_candidates, max(COLUMNS, len(self._points) // _KEPT))
            self._kept = kernels.Kept(
                np.empty(n_candidates, dtype=np.int64),
                np.empty(shape, dtype=np.int32),
                np.empty(shape, dtype=self._points.dtype),
            )
        return self._kept


def _by_column(
    points: SparseRows, arrays: SparseArrays, n_groups: int
) -> tuple[kernels.Postings, npt.NDArray[np.int64]]:
    """Return the entries by column, and which columns are kept as dense ones."""
    n, d = points.shape
    counts = np.bincount(points.columns, minlength=d)
    squares = np.zeros(d)
    kernels.column_squares(arrays, squares)
    groups = cuts.groups_of(counts, squares, n_groups)
    crowded = _crowded_columns(np.where(groups == n_groups, counts, 0), n)
    groups[crowded] = -1
    starts = np.zeros(d + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    postings = kernels.Postings(
        starts,
        np.empty(points.size, dtype=np.uint32),
        np.empty(points.size, dtype=points.dtype),
        groups,
        _unit(float(points.norms.max())),
    )
    kernels.transpose(arrays, starts[:-1].copy(), postings)
    return postings, crowded


def _crowded_columns(counts: npt.NDArray[np.int64], n: int) -> npt.NDArray[np.int64]:
    """Return the columns that are kept dense: a matrix product is faster than their lists."""
    found = np.flatnonzero(counts > _CROWDED * n)
    found = found[np.argsort(-counts[found], kind="stable")[:_MOST_CROWDED]]
    entries = float(np.square(counts[found], dtype=np.float64).sum()) / n  # of a candidate
    return found if entries > _PAYS * n else found[:0]


def _unit(largest: float) -> float:
    """Return the power of two that makes the largest of some squared norms about 1."""
    return math.ldexp(1.0, -(math.frexp(largest)[1] // 2)) if largest > 0.0 else 1.0
