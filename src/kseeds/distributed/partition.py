"""The tasks of a partition: pure functions of its rows, its state and a message.

Every task has the form ``task(part, state, message) -> (state, reply)``. States are never
changed in place: a backend may run a task again, on another machine, with the same result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kseeds.distances import metrics, underflow
from kseeds.distances.metrics import Metric
from kseeds.distances.reference import squared_distances
from kseeds.distances.sparse_rows import Points, is_sparse, stacked
from kseeds.inputs.containers import float_dtype, to_array
from kseeds.inputs.places import column_labels
from kseeds.inputs.points import check_values, two_dimensional
from kseeds.inputs.sparse import form_of, is_sparse_data, sparse_rows
from kseeds.inputs.weights import find_bad_weight, weight_scale
from kseeds.methods.parallel.schedule import share_of
from kseeds.nearest.choice import Job
from kseeds.nearest.state import Nearest
from kseeds.nearest.update import NearestUpdater
from kseeds.runtime.threads import Workers
from kseeds.sampling.clocks import first_clocks as clocks_of_rows
from kseeds.sampling.clocks import log_weights
from kseeds.sampling.streams import Purpose, Stream, maxima_of

Rows: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Part:
    """The rows of a partition and their column names, or the error that makes them unusable.

    ``form`` is which of SciPy's forms sparse rows had; empty for dense ones.
    """

    number: int
    values: Points
    weights: npt.NDArray[np.float64] | None = None
    error: str | None = None
    labels: list[Any] | None = None
    form: str = ""

    @classmethod
    def of(
        cls, number: int, block: Any, weights: Any = None, labels: list[Any] | None = None
    ) -> Part:
        """Convert a block of rows to a part; errors are stored, not raised.

        ``weights`` may be the name of a column of the block. ``labels`` are the column names
        of a block that has none itself.
        """
        try:
            if isinstance(weights, str):
                block, weights = block.drop(columns=weights), block[weights]
            form = form_of(block) if is_sparse_data(block) else ""
            values: Points = (
                sparse_rows(block, "X", allow_empty=True)
                if form
                else two_dimensional(to_array(block, "X"), "X", allow_empty=True)
            )
            if weights is not None:
                weights = to_array(weights, "sample_weight").astype(np.float64)
                if weights.shape != (len(values),):
                    raise ValueError(
                        f"sample_weight has shape {weights.shape}; pass one weight for each of "
                        f"the {len(values)} rows."
                    )
            labels = labels or column_labels(block)
            return cls(number, values, weights, labels=labels, form=form)
        except (TypeError, ValueError) as error:
            return cls(number, np.empty((0, 0)), error=str(error))


def unusable(number: int, why: str, count: int = 1) -> str:
    """Return the message for the first of ``count`` partitions that cannot be used."""
    if count == 1:
        return f"partition {number} cannot be used: {why}"
    return f"{count} partitions cannot be used, first partition {number}: {why}"


@dataclass(frozen=True)
class Survey:
    """What the driver must know of a partition before the first round.

    ``weight_sum`` is in units of ``weight_scale(weight_max)``: the plain sum may overflow.
    """

    rows: int
    columns: int
    dtype: np.dtype[Any]
    largest: float
    weight_sum: float
    weight_max: float
    positive: int
    error: str | None
    form: str


@dataclass(frozen=True)
class Plan:
    """What all tasks need: the metric, the random stream, and the first row of each partition."""

    metric: Metric
    factor: float
    dtype: np.dtype[Any]
    weight_scale: float
    stream: Stream
    starts: tuple[int, ...]
    prepared: bool = False
    n_threads: int = 1

    def points(self, values: Points) -> Points:
        """Return values as prepared points, which kernels work on."""
        if self.prepared:
            return values
        if is_sparse(values):
            return metrics.prepare(self.metric.given, values.astype(self.dtype), self.factor)
        converted = np.ascontiguousarray(values, dtype=self.dtype)
        points = metrics.prepare(self.metric.given, converted, self.factor).view()
        points.flags.writeable = False
        return points

    def exact(self, values: Points) -> Points:
        """Return values in the form that `kseeds.distances.underflow` needs: not scaled."""
        if self.metric.is_embedded:
            return self.points(values)
        if is_sparse(values):
            return values.astype(self.dtype)
        return np.ascontiguousarray(values, dtype=self.dtype)

    def rows_of(self, part: Part) -> tuple[int, int]:
        """Return the global row numbers of a part, as (start, stop)."""
        start = self.starts[part.number]
        return start, start + len(part.values)

    def weights_of(self, part: Part) -> npt.NDArray[np.float64] | None:
        """Return the weights of a part, divided by the common scale."""
        return None if part.weights is None else part.weights / self.weight_scale


@dataclass(frozen=True)
class Picked:
    """Rows that are sent to the driver: row numbers, values, and the score each was picked by.

    A score is a clock, a squared distance, a probability or a weight, depending on the task.
    """

    rows: Rows
    values: Points
    scores: npt.NDArray[np.float64]

    def at(self, places: Rows) -> Picked:
        """Return some of them."""
        return Picked(self.rows[places], self.values[places], self.scores[places])


def joined(picked: list[Picked]) -> Picked:
    """Return the rows of several partitions together."""
    filled = [part for part in picked if len(part.rows)] or picked[:1]
    return Picked(
        np.concatenate([part.rows for part in filled]),
        stacked([part.values for part in filled]),
        np.concatenate([part.scores for part in filled]),
    )


def survey(part: Part, state: None, message: str | None) -> tuple[None, Survey]:
    """Check every value; the message is the name of the metric, or None for no check."""
    error, largest, columns = part.error, 0.0, part.values.shape[1]
    dtype = float_dtype(part.values.dtype)
    weights = part.weights
    if error is None and message is not None:
        try:
            if len(part.values):
                values = part.values
                if not is_sparse(values):
                    values = np.asarray(values, dtype=dtype)
                largest = check_values(values, message, "X", part.labels)
            if weights is not None:
                find_bad_weight(weights)
        except ValueError as found:
            error = str(found)
    n = len(part.values)
    total, most, positive = float(n), 1.0, n
    if weights is not None and error is None:
        most, positive = float(weights.max(initial=0.0)), int(np.count_nonzero(weights))
        total = float((weights / weight_scale(most)).sum()) if positive else 0.0
    return None, Survey(n, columns, dtype, largest, total, most, positive, error, part.form)


def first_clocks(
    part: Part, state: Any, message: tuple[Plan, Purpose, int, Rows]
) -> tuple[Any, Picked]:
    """Return the rows whose exponential clocks fire first, except those in ``without``.

    Their scores are the logarithms of the clocks E/w.
    """
    plan, purpose, count, without = message
    start, stop = plan.rows_of(part)
    logs = None if part.weights is None else log_weights(part.weights, plan.weight_scale)
    rows, clocks = clocks_of_rows(plan.stream, purpose, start, stop, logs, count, without)
    return state, Picked(rows, part.values[rows - start], clocks)


def update(
    part: Part, state: Nearest | None, message: tuple[Plan, Points, int, Rows]
) -> tuple[Nearest, tuple[float, float, int]]:
    """Compare the rows with new centres, which are numbered from ``first``.

    Returns Σ w·α², the largest α², and the number of distances computed. ``own`` has the
    row numbers of the centres, if they are rows; each of those rows is labelled with itself.
    """
    plan, centers, first, own = message
    if len(part.values) == 0:
        return Nearest.empty(np.empty((0, 1), dtype=plan.dtype)), (0.0, 0.0, 0)
    points = plan.points(part.values)
    if state is None or first == 0:
        state = Nearest.empty(points)
    start, stop = plan.rows_of(part)
    nearest = Nearest(state.squared.copy(), state.labels.copy(), first)
    mine = np.flatnonzero((own >= start) & (own < stop))
    nearest.squared[own[mine] - start] = 0.0
    nearest.labels[own[mine] - start] = first + mine
    computed = 0
    if len(centers):
        with Workers(plan.n_threads) as workers:
            updater = NearestUpdater(Job(points, plan.metric, workers, len(centers)))
            computed = updater.update(nearest, centers, first).distances
    total = float(_mass(plan, part, nearest).sum())
    return nearest, (total, float(nearest.squared.max()), int(computed))


def _mass(plan: Plan, part: Part, state: Nearest | None) -> npt.NDArray[np.float64]:
    """Return w·α² of the rows; w before the first centre."""
    weights = plan.weights_of(part)
    if state is None:
        return np.ones(len(part.values)) if weights is None else weights
    mass: npt.NDArray[np.float64] = state.squared.astype(np.float64)
    return mass if weights is None else mass * weights


def sample(
    part: Part, state: Nearest, message: tuple[Plan, int, float, float]
) -> tuple[Nearest, Picked]:
    """Return the rows that become candidates in a round of k-means||."""
    plan, round_, total, wanted = message
    start, stop = plan.rows_of(part)
    weights = plan.weights_of(part)
    shares = share_of(state.squared, 1.0 if weights is None else weights, wanted, total)
    most = maxima_of(shares)
    drawn = plan.stream.trials(round_, start, stop, most, lambda rows: shares[rows - start]) - start
    return state, Picked(start + drawn, part.values[drawn], shares[drawn])


def draw(
    part: Part, state: Nearest | None, message: tuple[Plan, dict[int, npt.NDArray[np.float64]]]
) -> tuple[Nearest | None, Picked]:
    """Return, for each target, the row at which the running sum of w·α² passes it."""
    plan, targets = message
    start, _ = plan.rows_of(part)
    mine = targets.get(part.number, np.empty(0))
    mass = _mass(plan, part, state) if len(mine) else np.empty(0)
    drawn = np.searchsorted(np.cumsum(mass), mine, side="right")
    if len(mine):  # rounding may lead past the last row of positive mass
        drawn = np.minimum(drawn, np.flatnonzero(mass)[-1])
    squared = np.ones(len(drawn)) if state is None else state.squared[drawn].astype(np.float64)
    return state, Picked(start + drawn, part.values[drawn], squared)


def gains(
    part: Part, state: Nearest, message: tuple[Plan, Points]
) -> tuple[Nearest, npt.NDArray[np.float64]]:
    """Return by how much each candidate for a centre would lower Σ w·α² of the rows."""
    plan, candidates = message
    points, kind = plan.points(part.values), plan.metric.kind
    weights = plan.weights_of(part)
    found = np.zeros(len(candidates))
    for at, center in enumerate(candidates if len(points) else ()):
        closer = np.minimum(squared_distances(points, center, kind), state.squared)
        lowered = np.subtract(state.squared, closer, dtype=np.float64)
        found[at] = (lowered if weights is None else lowered * weights).sum()
    return state, found


def rows_off_centers(
    part: Part, state: Nearest, message: tuple[Plan, Points]
) -> tuple[Nearest, Picked]:
    """Return the rows of positive weight that are not at their centre; scores are weights."""
    plan, centers = message
    start, _ = plan.rows_of(part)
    weights = np.ones(len(part.values)) if part.weights is None else part.weights
    rows = np.empty(0, dtype=np.int64)
    if len(part.values):
        values = plan.exact(part.values)
        rows = underflow.not_coinciding(values, centers, state.labels, plan.metric)
        rows = rows[weights[rows] > 0.0]
    return state, Picked(start + rows, part.values[rows], weights[rows])


def members(
    part: Part, state: Nearest, message: tuple[Plan, int]
) -> tuple[Nearest, npt.NDArray[np.float64]]:
    """Return, for each of ``count`` centres, the total weight of the rows nearest to it."""
    plan, count = message
    weights = plan.weights_of(part)
    return state, np.bincount(state.labels, weights, minlength=count).astype(np.float64)
