"""Greedy k-means++ by pools of candidates: one pass over the rows for many steps.

Which rows an epoch proposes is known when it begins. A pool has the next proposals that could be
accepted now. One pass compares all rows with all of them by scalar products, and keeps for each a
list of the rows that it may be nearer to than what they have, with a lower bound of the squared
distance. After s seeds that is about a share of 1/s of the rows, so that pools grow, and fewer
passes are needed. A step goes through the lists of its candidates only: with the α² of now they
bound gains from both sides. Only where two are too close to call are exact distances computed, and
those of the rows that the winner may be nearer to.

With u the unit roundoff, and x and c about a common mean, rounded: products, in the order of the
coordinates, and norms give |x − c|² but for (2d + 8)u·(|x|² + |c|²), the norms themselves err by
(d/16 + 36)u of them, and rounding x and c adds 4u. So ε = 3(d + 20)u. A squared distance is summed
in sixteen lanes and errs by less than 2(d/16 + 36)u of itself.

Where a few columns have most of the variance, products are of these only: distances in them are
never more than those in all. The pairs that they leave open are compared exactly in the same pass.
"""

from __future__ import annotations

import math
import threading

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray
from kseeds.inputs.problem import Problem
from kseeds.methods.greedy import pool_kernels as kernels
from kseeds.methods.greedy import pool_list_kernels as lists
from kseeds.methods.greedy.leading import leading_columns
from kseeds.methods.greedy.proposals import Proposals
from kseeds.methods.greedy.rule import OUTDATED, TIE, is_outdated, winner
from kseeds.nearest import costs
from kseeds.nearest.choice import Job
from kseeds.nearest.projection import center_of
from kseeds.nearest.state import Nearest
from kseeds.nearest.update import NearestUpdater
from kseeds.runtime.aligned import Reused, aligned, read_only
from kseeds.runtime.block_sizes import BLOCK, LANES
from kseeds.runtime.threads import Workers
from kseeds.sampling import sum_tree
from kseeds.sampling.sum_tree import Masses
from kseeds.sampling.sum_tree_kernels import sum_inner

_PER_ROW, _AT_LEAST = 3, 1 << 18
"""Entries of lists there is room for: so many per row, and so many in all."""
_SHORT = 2
"""Which part of the rows of a block there is room for in a list, if there are many lists."""
_FILLED = 0.8
"""Share of them that a pool is expected to need."""
_MOST_COLUMNS = 256
_FEWEST, _FEW, _MOST = 1024, 2048, 8192
"""Rows of a block; large ones are for very many rows only, as a thread has room for all rows of a
block in all lists."""
_MANY_ENTRIES = 100_000
"""Entries looked at in a step from which on threads pay, of rows of few columns."""
_AT_A_TIME = 10_000_000
"""The same of a call that takes several steps: some tens of milliseconds."""
_COLUMNS = 64
"""Columns of a row that make an entry twice as dear."""
_LISTED = 0.5
"""Share of the rows in a list, times the number of seeds, about and at least."""
_DECAY = 0.6
"""What the first step leaves of the potential, about."""
_FEW_CENTERS = 8
"""First centres up to which all rows are compared with them at once."""


class PoolRows:
    """See `kseeds.methods.greedy.steps.Rows`; Euclidean."""

    def __init__(self, problem: Problem, trials: int, workers: Workers) -> None:
        points, self._metric, self._workers = problem.points, problem.metric, workers
        (n, d), dtype = points.shape, points.dtype
        self.nearest = Nearest.empty(points)
        weights = np.empty(0) if problem.weights is None else problem.weights
        self._masses = Masses(self.nearest.squared, weights, sum_tree.new_sums(n))
        self._mean = center_of(points).astype(dtype)
        size = -(-max(_FEWEST, min(_FEW, n // 8), min(_MOST, n // 128)) // BLOCK) * BLOCK
        eps = float(np.finfo(dtype).eps)
        self._rows = lists.Rows(
            points, self.nearest.squared, self.nearest.labels, weights, np.empty(n, dtype=dtype),
            read_only(self._mean[None]), np.arange(d), size, (d / LANES + 36.0) * eps,
            1.5 * (d + 20) * eps,
        )  # fmt: skip
        self._blocks = -(-n // size)
        self._entries = np.empty(max(_PER_ROW * n, _AT_LEAST), dtype=np.uint32)
        self._step = kernels.Step(
            np.empty(trials, dtype=np.int64), np.empty((self._blocks, trials)),
            np.empty((self._blocks, trials)), np.empty(self._blocks), np.empty((3, trials)),
            np.zeros(4, dtype=np.int64),
        )  # fmt: skip
        self._pool: kernels.Pool | None = None
        self._list, self._of, self._decay = _LISTED * n, 1, _DECAY
        self._dear = 1.0 + d / _COLUMNS
        self._effort = n * trials
        self._spaces, self._room = Reused(lambda: self._space(0)), 0
        self._may_lead = True

    @property
    def total(self) -> float:
        """Σ w·α² over all rows."""
        return float(self._masses.sums[1])

    def add_centers(self, centers: FloatArray) -> int:
        """Compare all rows with the first centres; return the distances computed."""
        rows = self._rows
        count = len(rows.points) * len(centers)
        if len(centers) > _FEW_CENTERS:
            job = Job(rows.points, self._metric, self._workers, len(centers))
            counts = NearestUpdater(job).update(self.nearest, centers, 0)
            count, centers = min(counts.distances, count), centers[:0]
        self._start(centers)
        sum_inner(self._masses.sums)
        self.nearest.n_compared = max(self.nearest.n_compared, len(centers))
        return count

    def _start(self, centers: FloatArray) -> None:
        """Compare all rows with some centres, and compute their norms."""
        rows, centers = self._rows, read_only(np.ascontiguousarray(centers))

        def task(start: int, stop: int) -> None:
            lists.start_rows(rows, centers, self._masses, start, stop)

        self._workers.over_blocks(task, len(rows.points), rows.size)

    def _lead(self) -> None:
        """Compare leading columns from now on: what they leave open has become little."""
        rows, leading = self._rows, leading_columns(self._rows.points)
        self._may_lead = False
        if len(leading) == len(rows.leading):
            return
        mean = read_only(self._mean[None, leading])
        eps = float(np.finfo(self._mean.dtype).eps)
        self._rows = rows._replace(
            mean=mean, leading=leading, epsilon=1.5 * (len(leading) + 20) * eps
        )
        self._start(rows.points[:0])
        self._room = 0

    def add_seeds(self, proposals: Proposals, most: int, least: float) -> tuple[list[int], int]:
        """Take as many steps as the pool serves; make a new one if it serves none."""
        pool = self._pool
        if pool is None:
            proposals.begin_step(self._masses)
            pool = self._pool = self._refill(proposals, most)
        seeds: list[int] = []
        before, bounds, self._step.place[3] = self.total, proposals.frozen.bounds, 0
        while len(seeds) < most and self.total >= least:
            if is_outdated(self.total, proposals.frozen.sums.item(1)):
                self._pool = None
                break
            if self._workers.n_threads > 1 and self._effort > _MANY_ENTRIES / self._dear:
                found = self._shared_step(pool, bounds)
            else:
                found = self._steps(pool, proposals, most - len(seeds), least)
            if not found:
                self._pool = None
                break
            seeds += found
        if seeds:
            self._decay = (max(self.total, 1e-300) / before) ** (1.0 / len(seeds))
            proposals.taken = int(pool.numbers[self._step.place[0] - 1]) + 1
        return seeds, int(self._step.place[3]) * len(self._rows.points)

    def _steps(
        self, pool: kernels.Pool, proposals: Proposals, most: int, least: float
    ) -> list[int]:
        """Take some steps by one call."""
        seeds = np.empty(most, dtype=np.int64)
        done = kernels.run(
            self._rows, pool, self._masses, proposals.frozen, least, self.nearest.n_compared,
            int(_AT_A_TIME / self._dear), seeds, self._step,
        )  # fmt: skip
        self.nearest.n_compared += done
        self._effort = int(self._step.place[2]) // max(done, 1)
        found: list[int] = seeds[:done].tolist()
        return found

    def _shared_step(self, pool: kernels.Pool, bounds: FloatArray) -> list[int]:
        """Take one step, shared out to threads; or none, if the pool has not enough."""
        rows, step = self._rows, self._step
        if not kernels.next_candidates(rows, pool, bounds, step):
            return []
        share = -(-self._blocks // (4 * self._workers.n_threads))

        def bound(first: int, last: int) -> int:
            return int(kernels.bound_gains(rows, pool, bounds, first, last, step))

        self._effort = sum(self._workers.over_blocks(bound, self._blocks, share))
        count = int(step.place[1])
        upper, lower, _ = step.totals[:, :count]
        kernels.add_blocks(step.most, count, upper)
        kernels.add_blocks(step.least, count, lower)
        upper *= 1.0 + kernels.SUMMING
        surely = lower.max() * (1.0 - TIE) * (1.0 - kernels.SUMMING)
        left = [q for q in np.argsort(-upper, kind="stable").tolist() if upper[q] >= surely]
        at = left[0]
        if len(left) > 1:
            known: dict[int, float] = {}
            for q in left:
                if known and upper[q] < max(known.values()) * (1.0 - TIE):
                    break
                known[q] = self._exact_gain(pool, int(step.columns[q]), bounds, share)
            which = sorted(known)
            at = which[winner([known[q] for q in which])]
        column, number = int(step.columns[at]), self.nearest.n_compared

        def take(first: int, last: int) -> None:
            kernels.take(rows, pool, self._masses, bounds, column, number, first, last)

        self._workers.over_blocks(take, self._blocks, share)
        sum_inner(self._masses.sums)
        self.nearest.n_compared += 1
        return [int(pool.of_columns[column])]

    def _exact_gain(self, pool: kernels.Pool, column: int, bounds: FloatArray, share: int) -> float:
        """Return the gain of a column."""

        def task(first: int, last: int) -> None:
            kernels.exact_gains(self._rows, pool, bounds, column, first, last, self._step.exact)

        self._workers.over_blocks(task, self._blocks, share)
        return float(sum(self._step.exact.tolist()))

    def _wanted(self, proposals: Proposals, most: int) -> int:
        """Return how many proposals a pool should have, for up to ``most`` steps."""
        # A list is of a share of the rows that falls with the number of seeds.
        seen = max(self._list * self._of, _LISTED * len(self._rows.points))
        expected = max(1.0, seen / self.nearest.n_compared)
        wanted, steps = _FILLED * len(self._entries) / expected, float(most)
        if self._decay < 1.0:
            end = OUTDATED * proposals.frozen.sums.item(1)
            steps = min(steps, 1.0 + math.log(end / self.total) / math.log(self._decay))
        # Some will not be accepted any more. Products are computed for sixteen at a time.
        groups = math.ceil(1.2 * steps * proposals.trials / LANES)
        return max(proposals.trials, int(min(wanted, _MOST_COLUMNS, groups * LANES)))

    def _refill(self, proposals: Proposals, most: int) -> kernels.Pool:
        """Make a pool of the next proposals."""
        if self._may_lead and self.nearest.n_compared >= costs.GREEDY_LEADING_SEEDS:
            self._lead()
        wanted, trials, taken = self._wanted(proposals, most), proposals.trials, proposals.taken
        rows, places = np.empty((2, wanted), dtype=np.int64)
        count, ahead = 0, taken + 2 * wanted
        while count < trials:
            numbers = proposals.numbers(ahead)
            count = kernels.look_ahead(
                proposals.frozen, numbers, taken, self._masses.bounds, np.empty(wanted), rows,
                places,
            )  # fmt: skip
            ahead *= 2
        while True:
            columns = {row: at for at, row in enumerate(dict.fromkeys(rows[:count].tolist()))}
            starts, doubts, counts = self._lists(list(columns), proposals.frozen.bounds)
            if int(counts.sum()) <= len(self._entries):
                break
            # Fewer proposals, but enough for a step; then for it there must be room.
            fits = np.cumsum(counts) <= len(self._entries)
            number = [columns[row] for row in rows[:count].tolist()]
            count = max(trials, next(at for at, k in enumerate(number) if not fits[k]))
            needed = int(counts[: 1 + max(number[:count])].sum())
            if needed > len(self._entries):
                self._entries = np.empty(needed, dtype=np.uint32)
        self._list, self._of = float(counts.mean()), self.nearest.n_compared
        self._step.place[0] = 0
        return kernels.Pool(
            rows[:count], np.array([columns[row] for row in rows[:count].tolist()]),
            numbers[0, 1, places[:count]], places[:count], np.array(list(columns)), starts, doubts,
            self._entries,
        )  # fmt: skip

    def _lists(self, columns: list[int], bounds: FloatArray) -> tuple[
        npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.int64]
    ]:  # fmt: skip
        """Compare all rows with some; return where lists begin, their doubts, and their sizes."""
        rows, factors, count = self._rows, self._factors(columns), len(columns)
        starts = np.empty((self._blocks, count + 1), dtype=np.int64)
        doubts, sizes = np.empty((self._blocks, count)), np.empty((self._blocks, count), np.int64)
        if count > self._room:
            self._room = room = min(_MOST_COLUMNS, 2 * count) if count > LANES else LANES
            self._spaces = Reused(lambda: self._space(max(room, count)))
        lock, used = threading.Lock(), [0]

        def task(block: int, _: int) -> None:
            with self._spaces.one() as space:
                total = int(lists.fill(rows, bounds, factors, block, space, doubts))
                longest = int(space.counts[:count].max())
                if longest > space.lists.shape[1]:
                    space = self._space(count, longest)
                    lists.fill(rows, bounds, factors, block, space, doubts)
                sizes[block] = space.counts[:count]
                with lock:
                    start = used[0]
                    used[0] += total
                if start + total <= len(self._entries):
                    lists.keep(space, start, block, starts, self._entries)

        self._workers.over_blocks(task, self._blocks, 1)
        return starts, doubts, sizes.sum(axis=0)

    def _space(self, columns: int, size: int | None = None) -> lists.Space:
        """Return a workspace for so many columns, with room for so many rows each."""
        rows = self._rows
        # Pools of many columns are for many seeds, and their lists are short.
        usual = rows.size if columns <= LANES else rows.size // _SHORT
        return lists.workspace(rows.points, len(rows.leading), columns, size or usual)

    def _factors(self, columns: list[int]) -> lists.Factors:
        """Return rows as factors about the mean, times −2, sixteen side by side."""
        points, leading = self._rows.points, self._rows.leading
        d, dtype, groups = len(leading), points.dtype, -(-len(columns) // LANES)
        moved = points[columns][:, leading] - self._rows.mean
        wide = moved.astype(np.float64)
        squares = np.einsum("ij,ij->i", wide, wide)
        whole = np.zeros((groups * LANES, d), dtype=dtype)
        whole[: len(columns)] = -2.0 * moved
        tile = aligned((groups * d, LANES), dtype)
        tile.reshape(groups, d, LANES)[:] = whole.reshape(groups, LANES, d).swapaxes(1, 2)
        added = np.full(groups * LANES, np.inf, dtype=dtype)
        added[: len(columns)] = squares * (1.0 - self._rows.epsilon)
        return lists.Factors(np.array(columns), tile, added, squares)
