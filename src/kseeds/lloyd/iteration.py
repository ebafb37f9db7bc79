"""Lloyd's iteration, whatever the algorithm that assigns the rows.

As scikit-learn has it: rows are assigned and centres moved, until no row changes its cluster, or
the centres move by so little that ``tol`` is reached; then rows are assigned once more, so that
labels are always those of the centres that are returned.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray, Metric, prepare
from kseeds.distances.sparse_reference import differences
from kseeds.distances.sparse_rows import Points, is_sparse
from kseeds.lloyd import sparse_means
from kseeds.lloyd.base import Assigner, Sums
from kseeds.lloyd.columns import Columns
from kseeds.lloyd.farthest import farthest_rows
from kseeds.lloyd.sums import ExactSums
from kseeds.runtime.progress import SILENT, Progress

Float64Array = npt.NDArray[np.float64]


class Limits(NamedTuple):
    """When to stop: so many iterations, or centres that move by at most ``tol`` together.

    ``tol`` is compared with the sum of the squared movements.
    """

    max_iter: int
    tol: float


class Fit(NamedTuple):
    """Where the iteration ended, in the units of the prepared points."""

    centers: Points
    n_iter: int
    converged: bool


class Assigning(Protocol):
    """What the iteration needs of an `Assigner`; rows may be anywhere.

    An assigner may also have a method ``skip_ahead(centers, sums, tol, at_most)``, which does
    ``at_most`` iterations or fewer, all of which are followed by another one: none finds a cluster
    empty, no row that changes, or centres that move by at most ``tol``. It returns the centres, and
    how many iterations were done. Rows may have been assigned to these centres already.
    """

    def assign(self, centers: Points, sums: Sums) -> int:
        """Find the nearest centre of every row; return how many rows have another now."""


class Moving(Protocol):
    """Moves centres to the means of their clusters."""

    @property
    def inertia(self) -> float | None:
        """That of the last means and their rows, to a few digits, if it is known.

        For the eyes of the user; nothing depends on it.
        """

    def after(self, centers: Any, assigner: Any) -> Any:
        """Return the means of the clusters to which rows were assigned by ``centers``."""


class Means:
    """The centres that the sums of clusters give.

    Parameters
    ----------
    sums : ExactSums
        The sums.
    weights : ndarray of float64 or None
        The weights of the rows.
    spherical : bool
        Whether centres are divided by their norms, as for the metric "cosine".
    columns : Columns, optional
        What the columns are like, for an inertia to be shown; of rows that weigh the same.
    """

    def __init__(
        self,
        sums: ExactSums,
        weights: Float64Array | None,
        spherical: bool,
        columns: Columns | None = None,
    ) -> None:
        self._sums, self._weights, self._spherical = sums, weights, spherical
        self._columns = columns if weights is None else None
        self.inertia: float | None = None
        """See `Moving`."""

    def after(self, centers: FloatArray, assigner: Assigner) -> FloatArray:
        """Return the means of the clusters to which rows were assigned by ``centers``.

        An empty cluster takes the row that is farthest from its centre, another one the next
        farthest, and so on: scikit-learn's rule, but rows of weight 0 are not taken. Labels stay as
        they are. A cluster that nothing can be found for keeps its centre.
        """
        totals, masses = self._sums.totals()
        empty = np.flatnonzero(masses == 0.0)
        if len(empty):
            nearest = assigner.nearest(centers)
            rows = farthest_rows(nearest.squared, self._weights, len(empty))
            old, new = nearest.labels[rows], empty[: len(rows)].astype(np.int32)
            self._sums.move(rows, old, new)
            totals, masses = self._sums.totals()
            self._sums.move(rows, new, old)  # exactly undoes it
        if self._columns is not None:
            self.inertia = rest_of_variance(totals, masses, self._columns)
        return means_of(totals, masses, centers, self._spherical)


def means_of(
    totals: Float64Array, masses: Float64Array, centers: FloatArray, spherical: bool
) -> FloatArray:
    """Return the means of clusters, given their sums and weights.

    Clusters of no weight keep their ``centers``. With ``spherical``, means are divided by their
    norms.
    """
    moved = centers.copy()
    filled = masses > 0.0
    means = totals[filled] / masses[filled, None]
    if spherical:
        norms = np.sqrt(np.einsum("ij,ij->i", means, means))
        filled[filled] = norms > 0.0  # rows that cancel out have no direction
        means = means[norms > 0.0] / norms[norms > 0.0, None]
    moved[filled] = means
    return moved


def rest_of_variance(totals: Float64Array, masses: Float64Array, columns: Columns) -> float:
    """Return the inertia of rows of equal weights, to a few digits: what their means leave."""
    filled = masses > 0.0
    means = totals[filled] / masses[filled, None]
    apart = np.square(means - columns.means).sum(axis=1)
    variance = float(columns.variances.sum())
    return variance * float(masses.sum()) - float(masses[filled] @ apart)


def squared_shift(before: Points, after: Points) -> float:
    """Return the sum of the squared movements of centres."""
    if is_sparse(before):
        return sparse_means.squared_shift(before, after)
    apart = after.astype(np.float64) - before
    return float(np.einsum("ij,ij->", apart, apart))


def are_equal(before: Points, after: Points) -> bool:
    """Tell whether centres are the same; squares of their movements may underflow."""
    if is_sparse(before):
        return not np.any(differences(after, before)[1])
    return bool((before == after).all())


def iterate(
    assigner: Assigning,
    sums: Sums,
    means: Moving,
    centers: Points,
    limits: Limits,
    is_assigned: bool = False,
    progress: Progress = SILENT,
) -> Fit:
    """Assign rows and move centres until it is time to stop.

    Parameters
    ----------
    assigner : Assigning
        Finds the nearest centre of every row. In the end, those of the centres returned.
    sums : ExactSums, or what the assigner tells of the rows that change clusters
        Sums of the clusters; all rows are in none, unless they are assigned already.
    means : Moving
        Makes centres of them.
    centers : ndarray or SparseRows, shape (k, d)
        Where to start.
    limits : Limits
        When to stop.
    is_assigned : bool
        Whether the assigner has adopted labels that are right for the first centres.
    progress : Progress
        Is told of every iteration.
    """
    is_strict = within = False
    # Whoever looks on is told of every iteration.
    skip_ahead = getattr(assigner, "skip_ahead", None) if progress is SILENT else None
    done, centers = 0, centers.copy()  # kernels are compiled for arrays that may be written to
    while done < limits.max_iter and not (is_strict or within):
        progress.update(done, limits.max_iter, _shown(means))
        is_first = is_assigned and done == 0
        if skip_ahead is not None and not is_first and done + 1 < limits.max_iter:
            centers, more = skip_ahead(centers, sums, limits.tol, limits.max_iter - done - 1)
            done += more
        is_strict = not is_first and assigner.assign(centers, sums) == 0
        moved = means.after(centers, assigner)
        done += 1
        shift = squared_shift(centers, moved)
        within = shift <= limits.tol
        if is_strict and shift == 0.0 and are_equal(centers, moved):
            break
        centers = moved
    else:
        assigner.assign(centers, sums)
    progress.update(done, done, _shown(means))  # there are no more than these
    return Fit(centers, done, is_strict or within)


def prepared_again(metric: Metric, centers: Points) -> Points:
    """Return centres as they are prepared if someone passes them on; themselves if that is equal.

    Unit vectors are divided by their norms once more, which may change their last bits. Labels are
    to be those that `kseeds.assign` gives, whatever the ties.
    """
    if not metric.is_embedded:
        return centers
    points = prepare(metric.given, centers, 1.0)
    return centers if are_equal(centers, points) else points


def _shown(means: Moving) -> str:
    """Return what is counted, and the inertia where it is known."""
    inertia = means.inertia
    return "iterations" if inertia is None else f"iterations, inertia {inertia:.4g}"


def tolerance(columns: Columns, tol: float) -> float:
    """Return what the squared movements of the centres are compared with.

    As in scikit-learn, ``tol`` times the mean variance of the columns.
    """
    return tol * float(columns.variances.mean())
