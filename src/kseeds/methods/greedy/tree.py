"""Greedy k-means++ by a forest over the points, or over projections of them.

A step looks at the few leaves that a candidate can be nearest to. While they are many, parts of the
forest are shared out to threads; once they are few, many steps are taken by one call of a kernel.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray
from kseeds.inputs.problem import Problem
from kseeds.methods.greedy import tree_kernels as kernels
from kseeds.methods.greedy.proposal_kernels import candidates_of_step
from kseeds.methods.greedy.proposals import Proposals
from kseeds.methods.greedy.rule import TIE, winner
from kseeds.nearest.forest import one_after_the_other
from kseeds.nearest.point_tree import in_parts, trees_over
from kseeds.nearest.projection import Components, Projection, rounding_of
from kseeds.nearest.state import Nearest
from kseeds.runtime.aligned import Reused, read_only
from kseeds.runtime.block_sizes import BLOCK
from kseeds.runtime.threads import Workers
from kseeds.sampling import sum_tree
from kseeds.sampling.sum_tree import Masses

_MANY_PAIRS = 150_000
"""Pairs looked at in a step from which on threads pay."""
_AT_A_TIME = 10_000_000
"""The same of a call that takes several steps: some tens of milliseconds."""
_SHARES = 4
"""Tasks of a thread."""
_STEPS = 64

Float64Array = npt.NDArray[np.float64]


class TreeRows:
    """See `kseeds.methods.greedy.steps.Rows`; Euclidean.

    Parameters
    ----------
    problem : Problem
        What to seed.
    trials : int
        Candidates drawn per step.
    workers : Workers
        Threads to use.
    components : Components, optional
        What to project on; without, the trees are over the points, of fewer than 16 columns.
    """

    def __init__(
        self, problem: Problem, trials: int, workers: Workers, components: Components | None = None
    ) -> None:
        points, self._metric, self._workers = problem.points, problem.metric, workers
        n, dtype = len(points), points.dtype
        placed, absolute, self._projection = points, 0.0, None
        if components is not None:
            placed, radius = Projection(components).of(points, workers)
            placed = read_only(placed)
            absolute = rounding_of(dtype) * 2.0 * radius
            self._projection = components.mean, np.ascontiguousarray(components.directions)
        d, shared_out = placed.shape[1], in_parts(placed, workers)
        del placed
        trees = trees_over(shared_out, workers)
        del shared_out
        self._forest = one_after_the_other(trees)
        self.nearest = Nearest.empty(points)  # after what takes the most memory
        weights = np.empty(0) if problem.weights is None else problem.weights
        self._masses = Masses(self.nearest.squared, weights, sum_tree.new_sums(n))
        parts = len(self._forest.parts) - 1
        changed = np.zeros(-(-n // BLOCK), dtype=np.uint8)
        self._rows = kernels.Rows(
            points, self.nearest.squared, self.nearest.labels, weights, changed
        )
        self._candidates = kernels.Candidates(
            np.empty((trials, d), dtype=dtype),
            np.empty((trials, points.shape[1]), dtype=dtype),
            np.zeros((parts, trials)), self._metric.relative, absolute,
        )  # fmt: skip
        self._spaces = Reused(lambda: _cleared(kernels.workspace(trials, dtype)))
        self._effort = n * trials

    @property
    def _is_shared_out(self) -> bool:
        """Whether the next step is one for several threads."""
        return self._workers.n_threads > 1 and self._effort > _MANY_PAIRS

    @property
    def total(self) -> float:
        """Σ w·α² over all rows."""
        return float(self._masses.sums[1])

    def add_centers(self, centers: FloatArray) -> int:
        """Compare all rows with the first centres; return the distances computed."""
        for number, center in enumerate(centers):
            self._set_candidate(center)
            self._visit(1, kernels.TAKE, number)
        self.nearest.n_compared = len(centers)
        kernels.sum_changed(self._rows.changed, self._masses)
        return len(self._rows.points) * len(centers)

    def _set_candidate(self, center: FloatArray) -> None:
        """Make a point the first candidate."""
        as_rows = self._rows._replace(points=read_only(np.ascontiguousarray(center[None])))
        row = np.zeros(1, dtype=np.int64)
        kernels.set_candidates(as_rows, row, self._candidates, self._projection)

    def add_seeds(self, proposals: Proposals, most: int, least: float) -> tuple[list[int], int]:
        """Take one step that is shared out to threads, or some up to the next epoch."""
        if self._is_shared_out:
            self._effort = 0
            drawn = np.array(candidates_of_step(proposals, self._masses))
            seeds, pairs = self._step(drawn)
        else:
            seeds, pairs = self._steps(proposals, min(most, _STEPS), least)
        self.nearest.n_compared += len(seeds)
        return seeds, pairs

    def _steps(self, proposals: Proposals, most: int, least: float) -> tuple[list[int], int]:
        """Take some steps by one call."""
        proposals.begin_step(self._masses)
        numbers = proposals.numbers(proposals.taken + 2 * most * proposals.trials)
        found, taken = np.empty(most, dtype=np.int64), np.array([proposals.taken])
        with self._spaces.one() as space:
            done, pairs = kernels.run(
                self._forest, self._rows, self._masses, self._candidates, self._projection,
                proposals.frozen, numbers, taken, least, self.nearest.n_compared, _AT_A_TIME,
                found, space,
            )  # fmt: skip
            self._effort = int(space.effort[0]) // max(done, 1)
        proposals.note(taken, is_stuck=done == 0)
        return found[:done].tolist(), pairs

    def _step(self, drawn: npt.NDArray[np.int64]) -> tuple[list[int], int]:
        """Take one step with these candidates, shared out to threads."""
        candidates, projection, pairs = self._candidates, self._projection, 0
        count = kernels.set_candidates(self._rows, drawn, candidates, projection)
        known = every = (1 << count) - 1
        pairs = self._visit(every, kernels.BOUND if projection else kernels.EXACT)
        gains = self._gains()
        if projection is not None:
            best, known = 0.0, 0
            for q in np.argsort(-gains[:count], kind="stable").tolist():
                # The bounds are sums of the same length as the gains, and round alike.
                if gains[q] < best * (1.0 - 2.0 * TIE):
                    break
                pairs += self._visit(1 << q, kernels.EXACT)
                gains[q], known = self._gains()[q], known | 1 << q
                best = max(best, float(gains[q]))
        which = [q for q in range(count) if known >> q & 1]
        at = which[winner([float(gains[q]) for q in which])]
        self._visit(1 << at, kernels.TAKE, self.nearest.n_compared)
        kernels.sum_changed(self._rows.changed, self._masses)
        return [int(drawn[at])], pairs

    def _gains(self) -> Float64Array:
        totals = np.empty(self._candidates.gains.shape[1])
        kernels.add_parts(self._candidates.gains, totals)
        return totals

    def _visit(self, bits: int, mode: int, number: int = 0) -> int:
        """Compare all rows with some candidates; return the pairs compared."""

        def task(part: int, stop: int) -> tuple[int, int]:
            with self._spaces.one() as space:
                space.effort[0] = 0
                pairs = kernels.visit(
                    self._forest, part, stop, bits, mode, number, self._rows, self._candidates,
                    self._projection, space,
                )  # fmt: skip
                return int(pairs), int(space.effort[0])

        parts = len(self._forest.parts) - 1
        done = self._workers.over_blocks(
            task, parts, -(-parts // (_SHARES * self._workers.n_threads))
        )
        self._effort += sum(effort for _, effort in done)
        return sum(pairs for pairs, _ in done)


def _cleared(space: kernels.Workspace) -> kernels.Workspace:
    space.lowered[:] = 0.0
    return space
