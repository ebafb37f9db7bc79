"""Seeding of data in partitions: the rounds, as the driver runs them.

Rows, bounds and labels stay in their partitions. The driver sends new centres and a few numbers,
and receives sums and the rows that were drawn. The tasks of a partition are in
`kseeds.distributed.partition`; a backend only has to run them.

**k-means||**: one task draws the first row. Every round has two: ``update`` compares all rows with
the new candidates and returns Σ w·α², ``sample`` draws candidates. After a last ``update``,
``members`` returns the weights of the candidates, which the driver reduces to k
(`kseeds.distributed.reduction`).

**k-means++**: proposes many rows at a time, in proportion to the bounds w·q of the last update.
The driver accepts or rejects them in order, each against the seeds accepted before it, with
probability α²/q (docs/exactness.md proves that the law is exactly k-means++, whatever the bounds).
The accepted seeds are sent out with the next update. A batch that is large compared with the
number of seeds reduces Σα² by a constant factor, so the number of rounds grows like the logarithm
of the total reduction of Σα², not like the number of seeds.

All random numbers are keyed by row or drawn by the driver, so the result depends only on the
random state and the order of the rows: not on partitions, backend, or tasks that were run twice.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.distances import metrics
from kseeds.distances.reference import squared_distances
from kseeds.distances.sparse_rows import Points, is_sparse, stacked
from kseeds.distances.underflow import least_mass_for
from kseeds.distributed import partition
from kseeds.distributed.backend import Backend, Task
from kseeds.distributed.centers import check_centers, in_form
from kseeds.distributed.partition import Picked, Plan, Rows, joined
from kseeds.distributed.reduction import best_candidate, reduce_candidates
from kseeds.inputs.points import check_units
from kseeds.inputs.problem import check_enough
from kseeds.inputs.sparse import from_dense
from kseeds.inputs.weights import weight_scale
from kseeds.methods.completion import draw_by_small_masses
from kseeds.methods.parallel.schedule import Schedule
from kseeds.results import Work
from kseeds.runtime.progress import SILENT, Progress
from kseeds.sampling.streams import Purpose, Stream

_PROPOSALS = 8
"""Proposals per batch, as a multiple of the number of seeds."""
_LEAST, _MOST = 256, 65_536
"""Bounds of the number of proposals per batch."""
_BATCH_BYTES = 16 << 20
"""Upper bound of the size of a batch of proposals."""

_NO_ROWS: Rows = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Request:
    """The checked arguments of a seeding."""

    n_clusters: int
    metric: str
    initial: npt.NDArray[Any] | None
    stream: Stream | Callable[[], Stream]
    """A callable is called after all checks, because creating a stream may advance a generator."""
    progress: Progress = SILENT
    n_threads: int = 1
    name: str = "initial_centers"
    """What the user calls the initial centres."""
    wanted: str = "seeds"
    """What the user asks for so many of."""


@dataclass(frozen=True)
class Seeds:
    """The rows and values of the seeds, how many are distinct points, and the work."""

    indices: Rows
    values: Points
    distinct: int
    work: Work


class Driver:
    """Runs tasks on all partitions, and counts communications and bytes.

    Parameters
    ----------
    backend : Backend
        Runs the tasks.
    request : Request
        The arguments.
    plan : Plan, optional
        For partitions in memory, which were checked already.
    """

    def __init__(self, backend: Backend, request: Request, plan: Plan | None = None) -> None:
        self._backend, self.request = backend, request
        self.work = Work()
        surveys = self.ask(partition.survey, request.metric if plan is None else None)
        bad = [number for number, found in enumerate(surveys) if found.error is not None]
        if bad:
            raise ValueError(partition.unusable(bad[0], surveys[bad[0]].error, len(bad)))
        filled = [found for found in surveys if found.rows]
        n = sum(found.rows for found in surveys)
        columns = {found.columns for found in filled}
        if len(columns) > 1:
            raise ValueError(
                f"X has partitions of {min(columns)} and of {max(columns)} columns; give every "
                "partition the same columns."
            )
        if n == 0:
            raise ValueError("X is empty (no partition has rows); pass at least one row.")
        scale = weight_scale(max(found.weight_max for found in filled))
        if plan is None:
            for positive in (n, sum(found.positive for found in surveys)):
                check_enough(request.n_clusters, n, positive, request.wanted)
        self.work.rows = n
        dtype = np.result_type(*(found.dtype for found in filled))
        forms = {found.form for found in filled}
        if "" in forms and len(forms) > 1:
            raise ValueError(
                "X has sparse partitions and dense ones; make all of them sparse, or none."
            )
        self.form = max(forms)
        self.values = self.centers = _no_rows(filled[0].columns, dtype, self.form)
        if plan is None:
            largest = max(found.largest for found in filled)
            starts = np.cumsum([0] + [found.rows for found in surveys])[:-1]
            plan = self._planned(largest, scale, tuple(int(start) for start in starts))
        elif request.initial is not None:  # prepared, like the rows
            self.values = self.centers = request.initial
        self.plan = plan
        self.sums = [
            found.weight_sum * (weight_scale(found.weight_max) / plan.weight_scale)
            if found.weight_sum
            else 0.0
            for found in surveys
        ]
        self._weights, self._total_weight = self.sums, float(sum(self.sums))
        self.n_compared = 0

    def _planned(self, largest: float, scale: float, starts: tuple[int, ...]) -> Plan:
        """Return the plan for surveyed partitions; check the initial centres."""
        request, empty = self.request, self.values
        if request.initial is not None:
            checked = check_centers(
                request.initial, request.name, request.metric, empty.shape[1], empty.dtype,
                allow_empty=True,
            )  # fmt: skip
            self.values = in_form(checked, self.form)
        values = self.values.entries if is_sparse(self.values) else self.values
        of_centers = float(np.abs(values).max(initial=0.0))
        check_units(empty.dtype, largest, of_centers, request.name)
        metric, factor = metrics.bind(request.metric, empty, max(largest, of_centers))
        self.centers = metrics.prepare(metric.given, self.values, factor)
        stream = request.stream if isinstance(request.stream, Stream) else request.stream()
        return Plan(metric, factor, empty.dtype, scale, stream, starts, n_threads=request.n_threads)

    def again(self, stream: Stream | None = None) -> Driver:
        """Return a driver of the same partitions that has no centres yet, and counts anew."""
        twin = copy(self)
        twin.work, twin.n_compared = Work(rows=self.work.rows), 0
        twin.values, twin.centers, twin.sums = self.values[:0], self.centers[:0], self._weights
        twin.plan = self.plan if stream is None else replace(self.plan, stream=stream)
        return twin

    def forget(self) -> None:
        """Have partitions forget what they know of centres."""
        self._backend.forget()

    def ask(self, task: Task, message: Any, keep: bool = False) -> list[Any]:
        """Run a task on every partition; count the bytes of the message and of the replies."""
        replies = self._backend.run(task, message, keep)
        self.work.communications += 1
        self.work.bytes_out += _size_of(message)
        self.work.bytes_back += sum(_size_of(reply) for reply in replies)
        return replies

    def add(self, values: Points) -> None:
        """Add centres; the next `update` compares the rows with them."""
        if len(values) == 0:
            return
        self.values = stacked([self.values, values.astype(self.values.dtype)])
        self.centers = stacked([self.centers, self.plan.points(values)])

    def update(self, own: Rows) -> float:
        """Compare all rows with the centres added since the last update; return Σ w·α².

        Returns 0 if the sum is too small for ordinary arithmetic: see
        `kseeds.distances.underflow`. ``own`` has the row numbers of the new centres, if they are
        rows.
        """
        new = self.centers[self.n_compared :]
        replies = self.ask(partition.update, (self.plan, new, self.n_compared, own), keep=True)
        self.n_compared = len(self.centers)
        self.work.distances += sum(computed for _, _, computed in replies)
        self.sums = [total for total, _, _ in replies]
        total, largest = float(sum(self.sums)), max(most for _, most, _ in replies)
        least = least_mass_for(self.plan.metric, self.plan.dtype, largest, self._total_weight)
        return total if total >= least else 0.0

    def draw(self, uniforms: npt.NDArray[np.float64]) -> Picked:
        """Return one row per uniform, drawn in proportion to w·α² as of the last update."""
        reached = np.cumsum(self.sums)
        targets = uniforms * reached[-1]
        owner = np.searchsorted(reached, targets, side="right")
        owner = np.minimum(owner, np.flatnonzero(self.sums)[-1])
        local = targets - np.concatenate([[0.0], reached])[owner]
        asked = {int(p): local[owner == p] for p in np.unique(owner)}
        replies = self.ask(partition.draw, (self.plan, asked))
        order = np.argsort(owner, kind="stable")
        picked = joined([replies[p] for p in asked])
        back = np.empty(len(uniforms), dtype=np.int64)
        back[order] = np.arange(len(uniforms))
        return picked.at(back)

    def first_by_weight(self, purpose: Purpose, count: int, without: Rows = _NO_ROWS) -> Picked:
        """Return ``count`` rows drawn by weight without replacement: the first clocks to fire."""
        first = joined(self.ask(partition.first_clocks, (self.plan, purpose, count, without)))
        return first.at(np.lexsort((first.rows, first.scores))[:count])


def _size_of(message: Any) -> int:
    """Return the pickled size of a message; 0 if it holds a function that cannot be pickled."""
    try:
        return len(pickle.dumps(message))
    except (pickle.PicklingError, AttributeError, TypeError):
        return 0


def _no_rows(columns: int, dtype: np.dtype[Any], form: str) -> Points:
    rows = np.empty((0, columns), dtype=dtype)
    return from_dense(rows) if form else rows


def kmeans_parallel(driver: Driver, schedule: Schedule) -> Seeds:
    """Draw seeds by k-means||."""
    request, plan, work = driver.request, driver.plan, driver.work
    m = len(driver.centers)
    own = rows = _NO_ROWS
    if m == 0:
        first = driver.first_by_weight(Purpose.CLOCK, 1)
        driver.add(first.values)
        own = rows = first.rows
    steps = 2 * schedule.rounds + 2
    for round_ in range(schedule.rounds):
        request.progress.update(2 * round_, steps, "rounds")
        total = driver.update(own)
        own = _NO_ROWS
        if total <= 0.0:
            break
        request.progress.update(2 * round_ + 1, steps, "rounds")
        wanted = schedule.oversampling * request.n_clusters
        drawn = joined(driver.ask(partition.sample, (plan, round_, total, wanted)))
        driver.add(drawn.values)
        rows, own = np.concatenate([rows, drawn.rows]), drawn.rows
    request.progress.update(steps - 2, steps, "rounds")
    if driver.n_compared < len(driver.centers):
        driver.update(own)
    request.progress.update(steps - 1, steps, "rounds")
    count = len(driver.centers)
    weights = np.sum(driver.ask(partition.members, (plan, count)), axis=0)[m:]
    work.candidates, work.rounds = len(rows), schedule.rounds
    trials = schedule.trials(request.n_clusters)
    chosen = reduce_candidates(driver, m, weights, trials)
    rows, values = rows[chosen], driver.values[m:][chosen]
    if len(rows) < request.n_clusters:
        found = _complete_by_plusplus(driver, m, rows, values, trials)
    else:
        found = Seeds(rows, values, len(rows), work)
    request.progress.update(steps, steps, "rounds")
    return found


def _complete_by_plusplus(driver: Driver, m: int, rows: Rows, values: Points, trials: int) -> Seeds:
    """Continue with k-means++ over all rows: there were too few distinct candidates."""
    driver.values, driver.centers = driver.values[:m], driver.centers[:m]
    driver.n_compared = 0
    driver.add(values)
    missing = driver.request.n_clusters - len(rows)
    # Its steps are not reported: progress and rounds stay those of k-means||.
    request, asked = driver.request, driver.work.rounds
    driver.request = replace(request, progress=SILENT)
    found = kmeans_plusplus(driver, Purpose.COMPLETION, missing, rows, trials)
    driver.request, driver.work.rounds = request, asked
    return replace(
        found,
        indices=np.concatenate([rows, found.indices]),
        values=stacked([values, found.values]),
        distinct=found.distinct + len(rows),
    )


def kmeans_plusplus(
    driver: Driver,
    purpose: Purpose = Purpose.PROPOSAL,
    wanted: int | None = None,
    before: Rows = _NO_ROWS,
    trials: int = 1,
) -> Seeds:
    """Draw seeds by k-means++, or by its greedy form with several ``trials`` per step."""
    request, work = driver.request, driver.work
    k = request.n_clusters if wanted is None else wanted
    m, found = len(driver.centers), _NO_ROWS
    if m == 0:
        first = driver.draw(driver.plan.stream.uniforms(purpose, 1, 0, 1))
        driver.add(first.values)
        found = first.rows
    source = driver.plan.stream.source(purpose, 0)
    size = _batch_size(driver, k)
    while len(found) < k:
        request.progress.update(len(found), k, "seeds")
        if driver.update(_NO_ROWS) <= 0.0:
            break
        if trials > 1:
            uniforms = driver.plan.stream.uniforms(purpose, len(found), 0, trials)
            best = best_candidate(driver, uniforms)
            found = np.concatenate([found, best.rows])
            driver.add(best.values)
            continue
        uniforms = source(2 * size).reshape(2, size)
        proposed = driver.draw(uniforms[0])
        work.rounds += 1
        accepted = _accept(driver, proposed, uniforms[1], k - len(found))
        found = np.concatenate([found, proposed.rows[accepted]])
        driver.add(proposed.values[accepted])
    work.acceptances += len(found)
    if len(found) < k and not driver.plan.prepared:
        found = np.concatenate([found, _draw_by_small_masses(driver, k - len(found), trials)])
    values, distinct = driver.values[m:], len(found)
    if distinct < k and not driver.plan.prepared:
        found, values = _fill(driver, found, values, k, before)
    request.progress.update(k, k, "seeds")
    return Seeds(found, values, distinct, work)


def _batch_size(driver: Driver, k: int) -> int:
    row = driver.values.shape[1] * driver.values.itemsize + 16
    return int(np.clip(_PROPOSALS * k, _LEAST, max(_LEAST, min(_MOST, _BATCH_BYTES // row))))


def _accept(
    driver: Driver, proposed: Picked, uniforms: npt.NDArray[np.float64], wanted: int
) -> Rows:
    """Accept or reject proposals in order, each against those accepted before it.

    Returns the indices of the accepted ones, at most ``wanted``.
    """
    points = driver.plan.points(proposed.values)
    kind = driver.plan.metric.kind
    limits = uniforms * proposed.scores
    is_open = proposed.scores > 0.0  # not rejected yet
    accepted: list[int] = []
    b = -1
    while len(accepted) < wanted and is_open[b + 1 :].any():
        b += 1 + int(np.argmax(is_open[b + 1 :]))
        accepted.append(b)
        later = b + 1 + np.flatnonzero(is_open[b + 1 :])
        distances = squared_distances(points[later], points[b], kind)
        driver.work.distances += len(later)
        is_open[later[distances < limits[later]]] = False
    decided = len(points) if len(accepted) < wanted else b + 1
    driver.work.proposals += decided
    return np.array(accepted, dtype=np.int64)


def _draw_by_small_masses(driver: Driver, missing: int, trials: int) -> Rows:
    """Draw among the rows whose squared distances underflow, though they are not at a centre."""
    plan, centers = driver.plan, driver.plan.exact(driver.values)
    rows = joined(driver.ask(partition.rows_off_centers, (plan, centers)))
    drawn, distances = draw_by_small_masses(
        plan.exact(rows.values), rows.scores, centers, plan.metric, missing, plan.stream, trials
    )
    driver.work.distances += distances
    driver.add(rows.values[drawn])
    return rows.rows[drawn]


def _fill(
    driver: Driver, found: Rows, values: Points, k: int, before: Rows
) -> tuple[Rows, npt.NDArray[Any]]:
    """Add rows drawn by weight without replacement, since all rows coincide with centres."""
    without = np.concatenate([before, found])
    first = driver.first_by_weight(Purpose.FILL, k - len(found), without)
    return (
        np.concatenate([found, first.rows]),
        stacked([values, first.values.astype(values.dtype)]),
    )
