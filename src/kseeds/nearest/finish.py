"""From squared distances of prepared points to labels, distances and potential for users."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from kseeds.distances import underflow
from kseeds.distances.metrics import FloatArray, Metric
from kseeds.distances.sparse_rows import Points, stacked
from kseeds.inputs.points import Prepared
from kseeds.inputs.weights import Weights
from kseeds.nearest.choice import Job
from kseeds.nearest.state import Nearest
from kseeds.nearest.update import NearestUpdater
from kseeds.results import Finished
from kseeds.runtime.threads import Workers


def finish(
    prepared: Prepared,
    weights: Weights,
    nearest: Nearest | None,
    centers: Points,
    exact: Points,
    workers: Workers,
) -> Finished:
    """Return the labels, distances and potential of all rows, in the user's units.

    Parameters
    ----------
    prepared : Prepared
        The rows.
    weights : Weights
        Their weights, which count in the potential only.
    nearest : Nearest or None
        What is known of the first few centres; left as it is.
    centers : ndarray
        All centres, prepared like the rows.
    exact : ndarray
        The centres in the form of ``prepared.exact``; see `exact_centers`.
    workers : Workers
        Threads to use.
    """
    state = nearest_of_all(prepared.points, prepared.metric, nearest, centers, workers)
    return in_user_units(state, exact, prepared, weights, workers)


def nearest_of_all(
    points: Points,
    metric: Metric,
    nearest: Nearest | None,
    centers: Points,
    workers: Workers,
) -> Nearest:
    """Return the nearest of all centres for every row, as far as squared distances tell.

    ``nearest`` is what is known of the first few, and is left as it is.
    """
    state = Nearest.empty(points) if nearest is None else nearest.copy()
    first = state.oldest
    updater = NearestUpdater(Job(points, metric, workers, len(centers) - first))
    updater.update(state, centers[first:], first)
    return state


def in_user_units(
    nearest: Nearest,
    exact_centers: Points,
    prepared: Prepared,
    weights: Weights,
    workers: Workers,
) -> Finished:
    """Return labels, distances and potential; changes the labels of ``nearest`` where need be.

    ``exact_centers`` are the centres in the form of ``prepared.exact``.
    """
    metric, squared, labels = prepared.metric, nearest.squared, nearest.labels
    scale, scaled = metric.scale, weights.scaled

    def task(start: int, stop: int) -> float:
        wide = squared[start:stop].astype(np.float64)
        # Not a product of BLAS, whose order of summing depends on its threads.
        return float((wide if scaled is None else wide * scaled[start:stop]).sum())

    distances, small, found = exact_distances(
        nearest, exact_centers, prepared.exact, metric, workers
    )
    mass = sum(workers.over_blocks(task, len(squared)))
    if mass >= underflow.least_mass(squared, weights.scaled, metric):
        return labels, distances, underflow.product(mass, weights.scale, scale, scale)
    shift = math.frexp(scale)[1] - 1  # a power of two
    lengths = underflow.Lengths.of(np.sqrt(squared.astype(np.float64)), shift)
    lengths.mantissas[small], lengths.exponents[small] = found
    masses, exponent = underflow.scaled_masses(lengths, weights.exact)
    unit = 1.0 if weights.given is not None else weights.scale
    return labels, distances, underflow.product(float(masses.sum()), unit, exponent=exponent)


def exact_distances(
    nearest: Nearest, exact_centers: Points, exact: Points, metric: Metric, workers: Workers
) -> tuple[FloatArray, npt.NDArray[np.int64], underflow.Lengths]:
    """Return the distances of all rows in the user's units.

    Where squares underflow, the labels of ``nearest`` are corrected; returns those rows and their
    distances, too, which may be too small for their precision. ``exact`` are the rows in the form
    of ``Prepared.exact``, and so are the centres.
    """
    squared = nearest.squared
    distances = np.empty_like(squared)

    def task(start: int, stop: int) -> npt.NDArray[np.int64]:
        np.sqrt(squared[start:stop], out=distances[start:stop])
        with np.errstate(over="ignore"):  # a distance may be more than its precision holds
            distances[start:stop] *= distances.dtype.type(metric.scale)
        return start + underflow.small_squares(squared[start:stop])

    small = np.concatenate(workers.over_blocks(task, len(squared)))
    small, found = underflow.relabel_underflowed(
        exact, exact_centers, metric, small, nearest.labels
    )
    if len(small):
        with np.errstate(over="ignore", under="ignore"):
            distances[small] = found.values()
    return distances, small, found


def exact_centers(
    prepared: Prepared, others: Points, indices: npt.NDArray[np.int64] | None = None
) -> Points:
    """Return centres in the form of ``prepared.exact``: the ``others``, prepared, and some rows."""
    first = others if prepared.metric.is_embedded else prepared.others
    return first if indices is None else stacked([first, prepared.exact[indices]])
