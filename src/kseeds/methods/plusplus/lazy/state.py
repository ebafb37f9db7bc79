"""What a lazy seeding knows, and what a set of kernels must be able to do with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray, Kind, Metric
from kseeds.inputs.fingerprint import Fingerprint
from kseeds.inputs.problem import Problem
from kseeds.methods.plusplus.lazy.costs import Costs
from kseeds.results import Work
from kseeds.runtime.block_sizes import BLOCK, COLUMNS, place_of


@dataclass
class State:
    """Bounds of the rows, the centres found, and the counts.

    ``bounds[i]`` is the squared distance of row i to the nearest (``labels[i]``) of the first
    ``met[i]`` centres. ``columns`` are the centres in transposed groups, one group below the
    other, coordinates at their `place_of`, padded with infinity. Σ w·q below ``least`` is left to
    `kseeds.methods.completion`.
    """

    points: FloatArray
    weights: npt.NDArray[np.float64]
    metric: Metric
    kind: Kind
    family: int
    wanted: int
    batch: int
    centers: FloatArray
    columns: FloatArray
    indices: npt.NDArray[np.int64]
    bounds: FloatArray
    labels: npt.NDArray[np.int32]
    n_compared: npt.NDArray[np.int32]
    tree: npt.NDArray[np.float64]
    known: int = 0
    swept: int = 0
    share: float = 1.0
    is_planted: bool = False
    spent: float = 0.0
    proposals_since_sweep: int = 0
    fingerprint: Fingerprint | None = None
    least: float = 0.0
    work: Work = field(default_factory=Work)

    @classmethod
    def start(cls, problem: Problem, batch: int) -> State:
        """Return the state in which no row has met any centre."""
        points, (n, d) = problem.points, problem.points.shape
        wanted = len(problem.initial) + problem.n_clusters
        groups = -(-wanted // COLUMNS)
        leaves = 1 << max(0, (-(-n // BLOCK) - 1).bit_length())
        weights = np.empty(0) if problem.weights is None else problem.weights
        return cls(
            points=points,
            weights=weights,
            metric=problem.metric,
            kind=problem.metric.kind,
            family=int(problem.metric.family),
            wanted=wanted,
            batch=batch,
            centers=np.empty((wanted, d), dtype=points.dtype),
            columns=np.full((groups * d, COLUMNS), np.inf, dtype=points.dtype),
            indices=np.empty(problem.n_clusters, dtype=np.int64),
            bounds=np.empty(n, dtype=points.dtype),
            labels=np.full(n, -1, dtype=np.int32),
            n_compared=np.zeros(n, dtype=np.int32),
            tree=np.zeros(2 * leaves),
        )

    @property
    def total(self) -> float:
        """Σ w·q over all rows."""
        return float(self.tree[1])

    @property
    def is_exhausted(self) -> bool:
        """Whether Σ w·q has become too small for this arithmetic; it may be 0."""
        return self.total < self.least

    @property
    def waste(self) -> tuple[float, float, int, int, int]:
        """What `sweep_is_due` wants to know."""
        return self.spent, self.proposals_since_sweep, self.known, self.wanted, self.swept

    def add_center(self, point: FloatArray) -> None:
        """Append a centre in both layouts."""
        self.centers[self.known] = point
        group, column = divmod(self.known, COLUMNS)
        d = len(point)
        places = [place_of(j, d) for j in range(d)]
        self.columns[group * d : (group + 1) * d, column][places] = point
        self.known += 1


class Kernels(Protocol):
    """What `plain` and `compiled` both do, to the same effect."""

    def first_pass(self, state: State) -> None:
        """Let every row meet the first centre; make the tree of sums.

        May leave a fingerprint of the points in the state, if it comes for nothing.
        """

    def run(
        self,
        state: State,
        uniforms: npt.NDArray[np.float64],
        costs: Costs,
        price: npt.NDArray[np.float64],
    ) -> int:
        """Settle batches until all seeds are found, no mass is left, or a sweep is due.

        Returns how many of the batches of uniforms were used; at least one.
        """

    def sweep(self, state: State, threshold: float) -> int:
        """Let rows of mass at least ``threshold`` meet all centres; return the distances."""

    def refresh(self, state: State) -> int:
        """Let all rows that have any mass meet all centres; return the distances."""
