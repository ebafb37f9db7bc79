"""The rounds of seeding data in partitions: what the driver does, and what travels.

The rows, their bounds and their labels stay where they are. Out go new centres and a few
numbers; back come sums, and the rows that were drawn. What a partition does is in
`kseeds.distributed.partition`; a backend only has to run its tasks.

**k-means||** asks for the first row, then twice a round: "meet these centres, what is your sum
of w·α²?" and "draw your candidates"; then "meet the last ones" and "who has which members?". The
candidates are reduced here.

**k-means++** proposes rows in proportion to the bounds w·q of the last catch-up, many at a
time, and settles them here, in order, each against the seeds accepted before it: accept with
probability α²/q (see `kseeds.methods.plusplus.lazy` for the proof that the law is exactly
k-means++, whatever the bounds). Then the accepted seeds go out for the next catch-up. A batch
that is large against the number of seeds brings Σα² down by a constant factor, so the number
of rounds grows like the logarithm of how far Σα² falls, not like the number of seeds.

All randomness is keyed by row or made here, so the answer depends on the random state and the
order of the rows only: not on the partitions, the backend, or tasks that were run twice.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from kseeds.distances import metrics
from kseeds.distances.reference import squared_distances
from kseeds.distances.underflow import least_mass_for
from kseeds.distributed import partition
from kseeds.distributed.centers import check_centers
from kseeds.distributed.partition import Picked, Plan, Rows
from kseeds.inputs.points import check_units
from kseeds.inputs.problem import Problem, check_enough
from kseeds.inputs.weights import weight_scale
from kseeds.methods.completion import draw_by_small_masses
from kseeds.methods.parallel.schedule import Schedule
from kseeds.methods.plusplus import lazy
from kseeds.results import Work
from kseeds.runtime.progress import SILENT, Progress
from kseeds.runtime.threads import default_threads
from kseeds.sampling.streams import Purpose, Stream

_PROPOSALS = 8
"""Proposals of a batch, as a multiple of the seeds wanted."""
_LEAST, _MOST = 256, 65_536
_BATCH_BYTES = 16 << 20
"""What a batch of proposals may weigh, at most."""

Task = Callable[[Any, Any, Any], tuple[Any, Any]]


class Backend(Protocol):
    """What runs tasks on partitions, and keeps their states."""

    def run(self, task: Task, message: Any, keep: bool) -> list[Any]:
        """Run a task on every partition; return the replies in the order of the partitions.

        With ``keep`` the states it returns replace those before; else they are the same.
        """


@dataclass(frozen=True)
class Request:
    """What the user wants, checked."""

    n_clusters: int
    metric: str
    initial: npt.NDArray[Any] | None
    stream: Stream | Callable[[], Stream]
    """Made by the call only once nothing is left to refuse: making it may advance a generator."""
    progress: Progress = SILENT
    n_threads: int = 1


@dataclass(frozen=True)
class Found:
    """Seeds: their rows and values, whether the distinct points sufficed, and the work."""

    indices: Rows
    values: npt.NDArray[Any]
    distinct: int
    work: Work


class Driver:
    """Asks the partitions, and counts what travels.

    Parameters
    ----------
    backend : Backend
        Runs the tasks.
    request : Request
        What to seed.
    plan : Plan, optional
        For partitions that are known already and need no survey.
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
            check_enough(request.n_clusters, n, n)
            check_enough(request.n_clusters, n, sum(found.positive for found in surveys))
        self.work.rows = n
        dtype = np.result_type(*(found.dtype for found in filled))
        self.values = self.centers = np.empty((0, filled[0].columns), dtype=dtype)
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
        self._total_weight = float(sum(self.sums))
        self.n_compared = 0

    def _planned(self, largest: float, scale: float, starts: tuple[int, ...]) -> Plan:
        """Return the plan for rows that are known by their survey; check the initial centres."""
        request, empty = self.request, self.values
        if request.initial is not None:
            self.values = check_centers(
                request.initial, "initial_centers", request.metric, empty.shape[1], empty.dtype,
                allow_empty=True,
            )  # fmt: skip
        of_centers = float(np.abs(self.values).max(initial=0.0))
        check_units(empty.dtype, largest, of_centers, "initial_centers")
        metric, factor = metrics.bind(request.metric, empty, max(largest, of_centers))
        self.centers = metrics.prepare(metric.given, self.values, factor)
        stream = request.stream if isinstance(request.stream, Stream) else request.stream()
        return Plan(metric, factor, empty.dtype, scale, stream, starts, n_threads=request.n_threads)

    def ask(self, task: Task, message: Any, keep: bool = False) -> list[Any]:
        """Run a task everywhere; count the bytes of the question and of the answers."""
        replies = self._backend.run(task, message, keep)
        self.work.communications += 1
        self.work.bytes_out += _size_of(message)
        self.work.bytes_back += sum(_size_of(reply) for reply in replies)
        return replies

    def add(self, values: npt.NDArray[Any]) -> None:
        """Add centres that the partitions have yet to meet."""
        if len(values) == 0:
            return
        self.values = np.concatenate([self.values, values.astype(self.values.dtype)])
        self.centers = np.concatenate([self.centers, self.plan.points(values)])

    def catch_up(self, own: Rows) -> float:
        """Let all rows meet the centres they have not met.

        Returns Σ w·α², or 0 if that is too small for this arithmetic: see
        `kseeds.distances.underflow`.
        """
        new = self.centers[self.n_compared :]
        replies = self.ask(partition.catch_up, (self.plan, new, self.n_compared, own), keep=True)
        self.n_compared = len(self.centers)
        self.work.distances += sum(computed for _, _, computed in replies)
        self.sums = [total for total, _, _ in replies]
        total, largest = float(sum(self.sums)), max(most for _, most, _ in replies)
        least = least_mass_for(self.plan.metric, self.plan.dtype, largest, self._total_weight)
        return total if total >= least else 0.0

    def draw(self, uniforms: npt.NDArray[np.float64]) -> Picked:
        """Return rows drawn in proportion to their share of the sums, one a uniform."""
        reached = np.cumsum(self.sums)
        targets = uniforms * reached[-1]
        owner = np.searchsorted(reached, targets, side="right")
        owner = np.minimum(owner, np.flatnonzero(self.sums)[-1])
        local = targets - np.concatenate([[0.0], reached])[owner]
        asked = {int(p): local[owner == p] for p in np.unique(owner)}
        replies = self.ask(partition.draw, (self.plan, asked))
        places = np.argsort(owner, kind="stable")
        picked = _together([replies[p] for p in asked])
        back = np.empty(len(uniforms), dtype=np.int64)
        back[places] = np.arange(len(uniforms))
        return Picked(picked.rows[back], picked.values[back], picked.by[back])


def _size_of(message: Any) -> int:
    """Return what a message weighs on its way; 0 if it holds a function that stays in memory."""
    try:
        return len(pickle.dumps(message))
    except (pickle.PicklingError, AttributeError, TypeError):
        return 0


def _together(picked: list[Picked]) -> Picked:
    filled = [part for part in picked if len(part.rows)] or picked[:1]
    return Picked(
        np.concatenate([part.rows for part in filled]),
        np.concatenate([part.values for part in filled]),
        np.concatenate([part.by for part in filled]),
    )


def kmeans_parallel(driver: Driver, schedule: Schedule) -> Found:
    """Draw seeds by k-means||."""
    request, plan, work = driver.request, driver.plan, driver.work
    m = len(driver.centers)
    own = rows = np.empty(0, dtype=np.int64)
    if m == 0:
        none = np.empty(0, dtype=np.int64)
        first = _together(driver.ask(partition.first_clocks, (plan, Purpose.CLOCK, 1, none)))
        at = np.lexsort((first.rows, first.by))[:1]
        driver.add(first.values[at])
        own = rows = first.rows[at]
    steps = 2 * schedule.rounds + 2
    for round_ in range(schedule.rounds):
        request.progress.update(2 * round_, steps, "rounds")
        total = driver.catch_up(own)
        own = np.empty(0, dtype=np.int64)
        if total <= 0.0:
            break
        request.progress.update(2 * round_ + 1, steps, "rounds")
        wanted = schedule.oversampling * request.n_clusters
        drawn = _together(driver.ask(partition.sample, (plan, round_, total, wanted)))
        driver.add(drawn.values)
        rows, own = np.concatenate([rows, drawn.rows]), drawn.rows
    request.progress.update(steps - 2, steps, "rounds")
    if driver.n_compared < len(driver.centers):
        driver.catch_up(own)
    request.progress.update(steps - 1, steps, "rounds")
    count = len(driver.centers)
    weights = np.sum(driver.ask(partition.members, (plan, count)), axis=0)[m:]
    work.candidates, work.rounds = len(rows), schedule.rounds
    chosen = _reduce(driver, m, weights)
    rows, values = rows[chosen], driver.values[m:][chosen]
    if len(rows) < request.n_clusters:
        found = _complete_by_plusplus(driver, m, rows, values)
    else:
        found = Found(rows, values, len(rows), work)
    request.progress.update(steps, steps, "rounds")
    return found


def _reduce(driver: Driver, m: int, weights: npt.NDArray[np.float64]) -> Rows:
    """Choose among the candidates by weighted k-means++, here."""
    count = len(driver.centers) - m
    if count == 0:
        return np.empty(0, dtype=np.int64)
    points = np.ascontiguousarray(driver.centers[m:])
    points.flags.writeable = False
    problem = Problem(
        points, weights, driver.centers[:m], min(driver.request.n_clusters, count),
        driver.plan.metric, driver.plan.stream, default_threads(), SILENT,
    )  # fmt: skip
    step = lazy.draw(problem, Purpose.REDUCTION)
    driver.work.distances += step.work.distances
    return step.indices


def _complete_by_plusplus(driver: Driver, m: int, rows: Rows, values: npt.NDArray[Any]) -> Found:
    """Go on with k-means++ over all rows: the candidates were too few, or not distinct."""
    driver.values, driver.centers = driver.values[:m], driver.centers[:m]
    driver.n_compared = 0
    driver.add(values)
    missing = driver.request.n_clusters - len(rows)
    # Its steps are no steps of ours: the progress and the rounds stay those of k-means||.
    request, asked = driver.request, driver.work.rounds
    driver.request = replace(request, progress=SILENT)
    found = kmeans_plusplus(driver, Purpose.COMPLETION, missing, before=rows)
    driver.request, driver.work.rounds = request, asked
    return replace(
        found,
        indices=np.concatenate([rows, found.indices]),
        values=np.concatenate([values, found.values]),
        distinct=found.distinct + len(rows),
    )


def kmeans_plusplus(
    driver: Driver,
    purpose: Purpose = Purpose.PROPOSAL,
    wanted: int | None = None,
    before: Rows | None = None,
) -> Found:
    """Draw seeds by k-means++."""
    request, work = driver.request, driver.work
    k = request.n_clusters if wanted is None else wanted
    before = np.empty(0, dtype=np.int64) if before is None else before
    m = len(driver.centers)
    found = np.empty(0, dtype=np.int64)
    if m == 0:
        first = driver.draw(driver.plan.stream.uniforms(purpose, 1, 0, 1))
        driver.add(first.values)
        found = first.rows
    source = driver.plan.stream.source(purpose, 0)
    size = _batch_size(driver, k)
    while len(found) < k:
        request.progress.update(len(found), k, "seeds")
        if driver.catch_up(np.empty(0, dtype=np.int64)) <= 0.0:
            break
        uniforms = source(2 * size).reshape(2, size)
        proposed = driver.draw(uniforms[0])
        work.rounds += 1
        accepted = _settle(driver, proposed, uniforms[1], k - len(found))
        found = np.concatenate([found, proposed.rows[accepted]])
        driver.add(proposed.values[accepted])
    work.acceptances += len(found)
    if len(found) < k and not driver.plan.prepared:
        found = np.concatenate([found, _draw_by_small_masses(driver, k - len(found))])
    values, distinct = driver.values[m:], len(found)
    if distinct < k and not driver.plan.prepared:
        found, values = _fill(driver, found, values, k, before)
    request.progress.update(k, k, "seeds")
    return Found(found, values, distinct, work)


def _batch_size(driver: Driver, k: int) -> int:
    row = driver.values.shape[1] * driver.values.itemsize + 16
    return int(np.clip(_PROPOSALS * k, _LEAST, max(_LEAST, min(_MOST, _BATCH_BYTES // row))))


def _settle(
    driver: Driver, proposed: Picked, uniforms: npt.NDArray[np.float64], wanted: int
) -> Rows:
    """Accept or reject proposals in order, each against those accepted before it."""
    points = driver.plan.points(proposed.values)
    kind = driver.plan.metric.kind
    limits = uniforms * proposed.by
    open_ = proposed.by > 0.0
    accepted: list[int] = []
    b = -1
    while len(accepted) < wanted and open_[b + 1 :].any():
        b += 1 + int(np.argmax(open_[b + 1 :]))
        accepted.append(b)
        later = b + 1 + np.flatnonzero(open_[b + 1 :])
        distances = squared_distances(points[later], points[b], kind)
        driver.work.distances += len(later)
        open_[later[distances < limits[later]]] = False
    settled = len(points) if len(accepted) < wanted else b + 1
    driver.work.proposals += settled
    return np.array(accepted, dtype=np.int64)


def _draw_by_small_masses(driver: Driver, missing: int) -> Rows:
    """Draw among the rows that differ from all centres by too little for squares to tell."""
    plan, centers = driver.plan, driver.plan.exact(driver.values)
    rows = _together(driver.ask(partition.open_rows, (plan, centers)))
    places = draw_by_small_masses(
        plan.exact(rows.values), rows.by, centers, plan.metric, missing, plan.stream
    )
    driver.work.distances += len(rows.rows) * (len(centers) + len(places))
    driver.add(rows.values[places])
    return rows.rows[places]


def _fill(
    driver: Driver, found: Rows, values: npt.NDArray[Any], k: int, before: Rows
) -> tuple[Rows, npt.NDArray[Any]]:
    """Complete with rows drawn by weight, none twice: all rows coincide with centres."""
    missing = k - len(found)
    without = np.concatenate([before, found])
    question = (driver.plan, Purpose.FILL, missing, without)
    first = _together(driver.ask(partition.first_clocks, question))
    at = np.lexsort((first.rows, first.by))[:missing]
    return (
        np.concatenate([found, first.rows[at]]),
        np.concatenate([values, first.values[at].astype(values.dtype)]),
    )
