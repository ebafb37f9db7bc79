"""The tasks of a partition in Lloyd's iteration; see `kseeds.distributed.partition`.

The state is the nearest centre of every row: that of the seeding, then that of the last step.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kseeds.distances.metrics import FloatArray
from kseeds.distances.sparse_rows import Points, is_sparse
from kseeds.distances.underflow import Lengths
from kseeds.distributed.cluster_sums import Change, Float64Array, Labels, change_of
from kseeds.distributed.exact_total import ZERO, Total
from kseeds.distributed.partition import Part, Plan, Rows
from kseeds.lloyd.farthest import farthest_rows
from kseeds.lloyd.sums import folded
from kseeds.nearest.choice import Job
from kseeds.nearest.finish import exact_distances
from kseeds.nearest.state import Nearest
from kseeds.nearest.update import NearestUpdater
from kseeds.runtime.threads import Workers, blocks_of

_VALUES = 1 << 16
"""Values summed at a time."""


class Extent(NamedTuple):
    """How large values get, the least positive weight, the number of entries, the first row."""

    largest: Float64Array
    least: float | None
    entries: int
    first: Points


def extent(part: Part, state: Nearest | None, plan: Plan) -> tuple[Nearest | None, Extent | None]:
    """Return what anchors are made of; None for a partition without rows."""
    if len(part.values) == 0:
        return state, None
    points, weights = plan.points(part.values), plan.weights_of(part)
    if is_sparse(points):
        largest = np.abs(points.entries).max(initial=0.0, keepdims=True)
    else:
        largest = np.maximum(points.max(axis=0), -points.min(axis=0))
    least = None
    if weights is not None:
        least = float(weights[weights > 0.0].min(initial=np.inf))
    return state, Extent(largest.astype(np.float64), least, points.size, points[:1])


def spread(
    part: Part, state: Nearest | None, message: tuple[Plan, Float64Array, Points]
) -> tuple[Nearest | None, Change | None]:
    """Return Σ (x - o) of all columns and Σ (x - o)² of all columns about an origin ``o``.

    Of sparse rows those of the entries that are stored, with one sum of the squares of all columns
    in place d; the places after it have how many are stored in the columns of the origin, which is
    sparse, too.
    """
    plan, anchors, origin = message
    if len(part.values) == 0:
        return state, None
    points = plan.points(part.values)
    n, d = points.shape
    if is_sparse(points):
        columns, at = np.unique(points.columns, return_inverse=True)
        _, mine, theirs = np.intersect1d(columns, origin.columns, return_indices=True)
        about = np.zeros(len(columns))
        about[mine] = origin.entries[theirs]
        values = points.entries - about[at.reshape(-1)]
        stored = np.zeros(len(origin.columns))
        stored[theirs] = np.bincount(at.reshape(-1), minlength=len(columns))[mine]
        squares = [one.sum() for one in folded(np.square(values), anchors[:, 1])]
        sums = np.zeros((len(anchors), len(columns) + 1 + len(stored)))
        for fold, rounded in enumerate(folded(values, anchors[:, 0])):
            sums[fold, : len(columns)] = np.bincount(at.reshape(-1), rounded, len(columns))
            sums[fold, len(columns)] = squares[fold]
        sums[0, len(columns) + 1 :] = stored
        places = np.append(columns, d + np.arange(1 + len(stored)))
        return state, Change(places.astype(np.int64), sums)
    sums = np.zeros_like(anchors)
    for start, stop in blocks_of(n, max(1, _VALUES // d)):
        moved = points[start:stop] - origin
        both = np.concatenate([moved, np.square(moved)], axis=1)
        for fold, rounded in enumerate(folded(both, anchors)):
            sums[fold] += rounded.sum(axis=0)
    return state, Change(np.arange(2 * d), sums)


class Step(NamedTuple):
    """What a step of the iteration needs.

    Attributes
    ----------
    plan : Plan
        As for all tasks.
    anchors : ndarray
        Those of the sums.
    centers : ndarray or SparseRows
        The centres, prepared like the rows.
    n_compared : int
        With how many of them the rows were compared before.
    is_first : bool
        Whether rows are in no cluster yet.
    before : ndarray, SparseRows or None
        The centres of the step before, if partitions have forgotten their states.
    """

    plan: Plan
    anchors: Float64Array
    centers: Points
    n_compared: int
    is_first: bool
    before: Points | None = None


class Moved(NamedTuple):
    """How many rows have another centre, what that changes, and how many distances it took."""

    rows: int
    change: Change | None
    distances: int


def assign(part: Part, state: Nearest | None, step: Step) -> tuple[Nearest, Moved]:
    """Assign every row to its nearest centre; return the change of the sums."""
    plan, weights = step.plan, step.plan.weights_of(part)
    if len(part.values) == 0:
        return Nearest.empty(np.empty((0, 1), dtype=plan.dtype)), Moved(0, None, 0)
    points = plan.points(part.values)
    with Workers(plan.n_threads) as workers:
        distances = 0
        if step.before is not None:
            state, distances = _compared(plan, points, None, step.before, 0, workers)
        nearest, more = _compared(plan, points, state, step.centers, step.n_compared, workers)
        if step.is_first or state is None:
            old = np.full(len(points), -1, dtype=np.int32)
        else:
            old = state.labels
        # Kernels are compiled for arrays that may be written to; those of messages may not be.
        anchors, k = step.anchors.copy(), len(step.centers)
        change = change_of(points, weights, anchors, k, old, nearest.labels, workers)
    changed = int(np.count_nonzero(old != nearest.labels))
    return nearest, Moved(changed, change if changed else None, distances + more)


def _compared(
    plan: Plan, points: Points, state: Nearest | None, centers: Points, first: int, workers: Workers
) -> tuple[Nearest, int]:
    """Return the nearest centre of every row; the ``state`` has that of the ``first`` few."""
    nearest = Nearest.empty(points)
    if first and state is not None:
        nearest = Nearest(state.squared.copy(), state.labels.copy(), first)
    else:
        first = 0
    updater = NearestUpdater(Job(points, plan.metric, workers, len(centers) - first))
    counts = updater.update(nearest, centers[first:], first)
    return nearest, int(counts.distances)


class Farthest(NamedTuple):
    """Rows that are far from their centres."""

    rows: Rows
    squared: FloatArray
    labels: Labels
    points: Points
    weights: Float64Array | None


def farthest(
    part: Part, state: Nearest, message: tuple[Plan, int]
) -> tuple[Nearest, Farthest | None]:
    """Return the rows of positive distance and weight that are farthest from their centres."""
    plan, count = message
    weights = plan.weights_of(part)
    rows = farthest_rows(state.squared, weights, count)
    if len(rows) == 0:
        return state, None
    start, _ = plan.rows_of(part)
    points = plan.points(part.values)[rows]
    theirs = None if weights is None else weights[rows]
    return state, Farthest(start + rows, state.squared[rows], state.labels[rows], points, theirs)


class Labelled(NamedTuple):
    """The last state: labels and distances, in the user's units."""

    labels: Labels
    distances: FloatArray


def finish(part: Part, state: Nearest, message: tuple[Plan, Points]) -> tuple[Labelled, Total]:
    """Turn the state into labels and distances; return Σ w·d².

    The message has the centres in the form of `Plan.exact`.
    """
    plan, centers = message
    if len(part.values) == 0:
        none = np.empty(0, dtype=np.int32)
        return Labelled(none, np.empty(0, dtype=plan.dtype)), ZERO
    nearest = state.copy()
    with Workers(plan.n_threads) as workers:
        distances, small, found = exact_distances(
            nearest, centers, plan.exact(part.values), plan.metric, workers
        )
    shift = math.frexp(plan.metric.scale)[1] - 1  # a power of two
    masses, exponents = Lengths.of(nearest.squared.astype(np.float64), 2 * shift)
    masses[small], exponents[small] = np.square(found.mantissas), 2 * found.exponents
    if part.weights is not None:
        of_weights, more = np.frexp(part.weights)
        masses, exponents = masses * of_weights, exponents + more
    total = Total.of(Lengths(masses, exponents))
    return Labelled(nearest.labels, distances), total
