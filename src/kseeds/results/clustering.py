"""The results of assignments and of k-means, in memory or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray
from kseeds.results.arrays import ArrayOfCenters
from kseeds.results.seeding import DistributedSeeding, Seeding
from kseeds.results.work import Work


@dataclass(frozen=True, repr=False)
class Assignment:
    """The nearest centre of every row; unpacks as ``labels, distances``.

    Attributes
    ----------
    labels : ndarray of int32, shape (n,)
        The index of the nearest centre of every row; ties go to the lowest index.
    distances : ndarray, shape (n,)
        Its distance.
    potential : float
        The sum of weight times squared distance over all rows (inertia in scikit-learn).
    """

    labels: npt.NDArray[np.int32]
    distances: FloatArray
    potential: float

    def __iter__(self) -> Iterator[Any]:
        yield self.labels
        yield self.distances

    def __repr__(self) -> str:
        return (
            f"<Assignment: {len(self.labels)} rows ({self.distances.dtype} distances), "
            f"potential={self.potential:.6g}>"
        )


@dataclass(frozen=True, repr=False)
class Clustering(ArrayOfCenters):
    """The result of k-means; unpacks as ``centers, labels``.

    Where an array is wanted, it is that of its centres.

    Attributes
    ----------
    centers : ndarray, shape (k, d)
        The centres; unit vectors for ``metric="cosine"``.
    labels : ndarray of int32, shape (n,)
        The nearest centre of every row; ties go to the lowest index.
    distances : ndarray, shape (n,)
        Its distance.
    inertia : float
        The sum of weight times squared distance over all rows.
    n_iter : int
        How often the centres were moved.
    converged : bool
        Whether no row changed its cluster any more, or ``tol`` was reached.
    seeding : Seeding or None
        The seeds that the best run started from; None if ``init`` was an array.
    algorithm : str
        The algorithm that was used.
    work : Work
        What it cost, counted; of all runs, without their seedings.
    seconds : float
        The time it took, seedings included.
    """

    centers: FloatArray
    labels: npt.NDArray[np.int32]
    distances: FloatArray
    inertia: float
    n_iter: int
    converged: bool
    seeding: Seeding | None
    algorithm: str
    work: Work
    seconds: float

    def __iter__(self) -> Iterator[Any]:
        yield self.centers
        yield self.labels

    def __repr__(self) -> str:
        k, d = self.centers.shape
        end = "converged" if self.converged else "not converged"
        return (
            f"<Clustering: {k} centres of {d} columns by {self.algorithm!r}, "
            f"inertia={self.inertia:.6g} after {self.n_iter} iterations ({end}) in "
            f"{self.seconds:.3g} s>"
        )


@dataclass(frozen=True, repr=False)
class DistributedClustering(ArrayOfCenters):
    """The result of k-means over partitions (Dask, Spark), apart from labels and distances.

    Where an array is wanted, it is that of its centres.

    Attributes
    ----------
    centers : ndarray, shape (k, d)
        The centres, in memory; unit vectors for ``metric="cosine"``.
    inertia : float
        The sum of weight times squared distance over all rows.
    n_iter : int
        How often the centres were moved.
    converged : bool
        Whether no row changed its cluster any more, or ``tol`` was reached.
    seeding : DistributedSeeding, Seeding or None
        The seeds that the best run started from; None if ``init`` was an array.
    work : Work
        What it cost, counted, with communications and bytes; of all runs, without their seedings.
    seconds : float
        The time it took, seedings included.
    """

    centers: FloatArray
    inertia: float
    n_iter: int
    converged: bool
    seeding: DistributedSeeding | Seeding | None
    work: Work
    seconds: float

    def __repr__(self) -> str:
        k, d = self.centers.shape
        end = "converged" if self.converged else "not converged"
        return (
            f"<{type(self).__name__}: {k} centres of {d} columns ({self.centers.dtype}), "
            f"inertia={self.inertia:.6g} after {self.n_iter} iterations ({end}), "
            f"{self.work.communications} communications in {self.seconds:.3g} s>"
        )
