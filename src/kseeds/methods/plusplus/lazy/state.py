"""What a lazy seeding knows, and what a set of kernels must be able to do with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import Metric
from kseeds.distances.sparse_rows import Points, is_sparse
from kseeds.inputs.fingerprint import Fingerprint
from kseeds.inputs.problem import Problem
from kseeds.methods.plusplus.lazy.forecast import Forecast
from kseeds.methods.plusplus.lazy.sparse_seeds import SeedRows
from kseeds.nearest.state import Rows
from kseeds.results import Work
from kseeds.runtime.aligned import aligned
from kseeds.runtime.block_sizes import COLUMNS, column_order
from kseeds.sampling.sum_tree import Masses, new_sums


class Centers(NamedTuple):
    """The centres found, as rows and as columns, and which rows they are.

    Sparse ones are `kseeds.methods.plusplus.lazy.sparse_seeds.SeedRows`, and have no columns.

    Columns stand in groups of 64, one group below the other, in the `column_order` of coordinates;
    those not found yet are infinite. ``indices`` has no entry for initial centres.
    """

    rows: Any
    columns: Any
    indices: Any


class Proposals(NamedTuple):
    """A batch of proposed rows, and what was found of each: see `kseeds.nearest.state.Rows`."""

    rows: Any
    squared: Any
    labels: Any
    n_compared: Any
    targets: Any


@dataclass
class State:
    """Bounds of the rows, the centres found, and the counts.

    ``rows.squared`` are the bounds q: row i is that far from the nearest of the first
    ``rows.n_compared[i]`` centres. ``sums`` is the tree of sums of w·q; a total below ``least`` is
    left to `kseeds.methods.completion`.
    """

    rows: Rows
    weights: npt.NDArray[np.float64]
    sums: npt.NDArray[np.float64]
    centers: Centers
    proposals: Proposals
    metric: Metric
    wanted: int
    known: int = 0
    refreshed: int = 0
    """How many centres were known when bounds were last refreshed."""
    share: float = 1.0
    """Of all (row, centre) pairs, those that the last partial refresh computed."""
    has_tree: bool = False
    spent: float = 0.0
    """What proposals rejected since the last refresh have cost."""
    proposals_since: int = 0
    fingerprint: Fingerprint | None = None
    least: float = 0.0
    work: Work = field(default_factory=Work)

    @classmethod
    def start(cls, problem: Problem, batch: int) -> State:
        """Return the state before the first pass, which fills in what is known of the rows."""
        points, n, dtype = problem.points, len(problem.points), problem.points.dtype
        wanted = len(problem.initial) + problem.n_clusters
        centers = _room_for(wanted, problem)
        labels, n_compared = np.empty((2, batch), dtype=np.int32)
        return cls(
            rows=Rows(
                points,
                np.empty(n, dtype=dtype),
                np.empty(n, dtype=np.int32),
                np.zeros(n, dtype=np.int32),
            ),
            weights=np.empty(0) if problem.weights is None else problem.weights,
            sums=new_sums(n),
            centers=centers,
            proposals=Proposals(
                np.empty(batch, dtype=np.int64),
                np.empty(batch, dtype=dtype),
                labels,
                n_compared,
                np.empty(batch),
            ),
            metric=problem.metric,
            wanted=wanted,
        )

    @property
    def batch(self) -> int:
        """How many proposals are drawn at a time."""
        return len(self.proposals.rows)

    @property
    def masses(self) -> Masses:
        """The masses w·q of the rows."""
        return Masses(self.rows.squared, self.weights, self.sums)

    @property
    def total(self) -> float:
        """Σ w·q over all rows."""
        return float(self.sums[1])

    @property
    def is_exhausted(self) -> bool:
        """Whether Σ w·q has become too small for this arithmetic; it may be 0."""
        return self.total < self.least

    @property
    def pending(self) -> int:
        """How many centres were found since bounds were last refreshed."""
        return self.known - self.refreshed

    def refresh_is_due(self, forecast: Forecast) -> bool:
        """Tell whether a refresh now costs less than going on without one."""
        return forecast.refresh_is_due(
            self.spent, self.proposals_since, self.known, self.wanted, self.refreshed
        )

    def add_center(self, point: Points) -> None:
        """Append a centre in both layouts."""
        if isinstance(self.centers.rows, SeedRows):
            self.centers.rows.add(self.known, point)
            self.known += 1
            return
        self.centers.rows[self.known] = point
        group, column = divmod(self.known, COLUMNS)
        d = len(point)
        self.centers.columns[group * d : (group + 1) * d, column] = point[column_order(d)]
        self.known += 1

    def note_proposals(self, settled: int, pairs: int, spent: float) -> None:
        """Count proposals and their distances, and note what was spent since the last refresh."""
        self.work.proposals += settled
        self.work.distances += pairs
        self.proposals_since += settled
        self.spent = spent


def _room_for(wanted: int, problem: Problem) -> Centers:
    """Return room for so many centres."""
    indices = np.empty(problem.n_clusters, dtype=np.int64)
    points, d = problem.points, problem.points.shape[1]
    if is_sparse(points):
        return Centers(SeedRows(wanted, points, problem.initial), None, indices)
    columns = aligned((-(-wanted // COLUMNS) * d, COLUMNS), points.dtype)
    columns[:] = np.inf
    return Centers(np.empty((wanted, d), dtype=points.dtype), columns, indices)


class Kernels(Protocol):
    """What `plain` and `compiled` both do, to the same effect."""

    def first_pass(self, state: State) -> None:
        """Compare every row with the first centre; make the tree of sums.

        May leave a fingerprint of the points in the state, if it comes for nothing.
        """

    def run(self, state: State, uniforms: npt.NDArray[np.float64], forecast: Forecast) -> int:
        """Settle batches until all seeds are found, no mass is left, or a refresh is due.

        Returns how many of the batches of uniforms were used; at least one.
        """

    def partial_refresh(self, state: State, threshold: float) -> int:
        """Compare rows of mass at least ``threshold`` with all centres; return the distances."""

    def full_refresh(self, state: State) -> int:
        """Compare all rows that have any mass with all centres; return the distances."""
