"""Greedy k-means++ for small data: all rows as columns, and many steps by one call of a kernel.

The same bounds as in `scan`, on one thread: a step of a fraction of a millisecond is over before
threads have shared it out.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray
from kseeds.inputs.problem import Problem
from kseeds.methods.greedy import scan_kernels as kernels
from kseeds.methods.greedy.proposals import Proposals
from kseeds.methods.greedy.scan import State
from kseeds.nearest import costs
from kseeds.nearest.state import Nearest
from kseeds.runtime.aligned import aligned
from kseeds.runtime.block_sizes import COLUMNS, column_order
from kseeds.runtime.threads import Workers
from kseeds.sampling.sum_tree_kernels import sum_inner
from kseeds.simd.products import ABREAST

_CALL_NS, _STEPS = 4e7, 64
"""What a call may take, so that an interrupt is heard soon, and its steps at most."""


class ColumnRows:
    """See `kseeds.methods.greedy.steps.Rows`; Euclidean."""

    def __init__(self, problem: Problem, trials: int, workers: Workers) -> None:
        self._state = state = State(problem)
        (n, d), dtype = state.points.shape, state.points.dtype
        self._order = column_order(d)
        self._rows = rows = _rows_of(state, self._order)
        groups = -(-trials // ABREAST)
        factors, added = aligned((groups * d, ABREAST), dtype), np.zeros(groups * ABREAST, dtype)
        factors[:] = 0.0
        self._candidates = kernels.Candidates(
            np.empty((trials, d), dtype=dtype), factors, added, np.empty(trials, dtype=dtype)
        )
        step = n * costs.greedy_columns(state.points, trials)
        self._steps = max(1, min(_STEPS, int(_CALL_NS / step)))
        self._found = aligned((2, trials, COLUMNS), np.float64)
        self._drawn, self._targets = np.empty(trials, dtype=np.int64), np.empty(trials)
        self._space, self._masses = kernels.workspace(state.points), state.masses
        self._tiles = aligned((-(-n // COLUMNS) * d, COLUMNS), dtype)
        self._tiles[:] = 0.0
        kernels.load_all(rows, self._tiles, self._space.rows)
        kernels.set_norms(state.points, state.mean, 0, n, state.norms)

    @property
    def nearest(self) -> Nearest:
        """The nearest centre of every row."""
        return self._state.nearest

    @property
    def total(self) -> float:
        """Σ w·α² over all rows."""
        return float(self._masses.sums[1])

    def add_centers(self, centers: FloatArray) -> int:
        """Compare all rows with the first centres; return the distances computed."""
        state, n = self._state, len(self._state.points)
        state.within.fill(1)  # every row may be nearer to the first candidate
        for number, center in enumerate(centers):
            self._candidates.centers[0] = center
            kernels.take(self._rows, self._candidates.centers, None, 0, number, 0, n, self._masses)
        state.nearest.n_compared = len(centers)
        sum_inner(self._masses.sums)
        return n * len(centers)

    def add_seeds(self, proposals: Proposals, most: int, least: float) -> tuple[list[int], int]:
        """Take some steps, up to the next epoch of proposals."""
        proposals.begin_step(self._masses)
        seeds, nearest = np.empty(min(most, self._steps), np.int64), self._state.nearest
        ahead = 2 * len(seeds) * proposals.trials
        taken = np.array([proposals.taken])
        done, pairs = kernels.run(
            self._rows, self._tiles, self._order, self._masses, self._candidates,
            proposals.frozen, proposals.numbers(proposals.taken + ahead), taken, least,
            nearest.n_compared, seeds, self._found, self._drawn, self._targets, self._space,
        )  # fmt: skip
        proposals.note(taken, is_stuck=done == 0)
        nearest.n_compared += done
        return seeds[:done].tolist(), int(pairs)


def _rows_of(state: State, order: npt.NDArray[np.int64]) -> kernels.Scanned:
    """Return the rows of a state as kernels take them, the mean in the order of a column."""
    nearest = state.nearest
    return kernels.Scanned(
        state.points, nearest.squared, nearest.labels, state.weights, state.norms, state.within,
        state.mean[order], state.epsilon, state.of_squared,
    )  # fmt: skip
