"""From squared distances of prepared points to labels, distances and potential for users."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from kseeds import careful
from kseeds.inputs.points import Prepared
from kseeds.inputs.problem import Problem
from kseeds.inputs.weights import Weights
from kseeds.metrics import Family, FloatArray
from kseeds.nearest import CatchUp
from kseeds.result import Finished, Nearest
from kseeds.threads import Workers


def nearest_of_all(
    problem: Problem, nearest: Nearest | None, centers: FloatArray, workers: Workers
) -> Nearest:
    """Return the nearest of all centres for every row, as far as squared distances tell.

    ``nearest`` is what is known of the first few, and is left as it is.
    """
    state = Nearest.unmet(problem.points) if nearest is None else nearest.copy()
    oldest = state.met if state.met_by_row is None else int(state.met_by_row.min())
    engine = CatchUp(problem.points, problem.metric, workers, len(centers) - oldest)
    engine.meet(state, centers)
    return state


def in_user_units(
    nearest: Nearest,
    exact_centers: FloatArray,
    prepared: Prepared,
    weights: Weights,
    workers: Workers,
) -> Finished:
    """Return labels, distances and potential; changes the labels of ``nearest`` where need be.

    ``exact_centers`` are the centres in the form of ``prepared.exact``.
    """
    metric, squared, labels = prepared.metric, nearest.squared, nearest.labels
    scale, scaled = metric.scale, weights.scaled
    distances = np.empty_like(squared)

    def task(start: int, stop: int) -> tuple[float, npt.NDArray[np.int64]]:
        np.sqrt(squared[start:stop], out=distances[start:stop])
        with np.errstate(over="ignore"):  # a distance may be more than its precision holds
            distances[start:stop] *= distances.dtype.type(scale)
        wide = squared[start:stop].astype(np.float64)
        # Not a product of BLAS, whose order of summing depends on its threads.
        mass = float((wide if scaled is None else wide * scaled[start:stop]).sum())
        return mass, start + careful.small_squares(squared[start:stop])

    done = workers.over_blocks(task, len(squared))
    mass, small = sum(part for part, _ in done), np.concatenate([rows for _, rows in done])
    small, found = careful.settle_small(prepared.exact, exact_centers, metric.kind, small, labels)
    if len(small):
        with np.errstate(over="ignore", under="ignore"):
            distances[small] = found.values()
    if mass >= careful.least_mass(squared, weights.scaled):
        return labels, distances, careful.product(mass, weights.scale, scale, scale)
    shift = math.frexp(scale)[1] - 1  # a power of two
    gaps = careful.Lengths.of(np.sqrt(squared.astype(np.float64)), shift)
    gaps.mantissas[small], gaps.exponents[small] = found
    masses, exponent = careful.scaled_masses(gaps, weights.exact)
    unit = 1.0 if weights.given is not None else weights.scale
    return labels, distances, careful.product(float(masses.sum()), unit, exponent=exponent)


def exact_centers(
    prepared: Prepared, initial: FloatArray, indices: npt.NDArray[np.int64]
) -> FloatArray:
    """Return initial centres, of which ``initial`` are prepared, and rows, for `careful`."""
    is_unscaled = prepared.metric.family is not Family.ARC
    first = prepared.others if is_unscaled else initial
    return np.concatenate([first, prepared.exact[indices]])
