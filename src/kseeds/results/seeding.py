"""The results of seedings, in memory or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray
from kseeds.results.arrays import ArrayOfCenters
from kseeds.results.work import Work

Finished: TypeAlias = tuple[npt.NDArray[np.int32], FloatArray, float]
"""Labels, distances and potential."""


def _read_only(finished: Finished) -> Finished:
    """Return results that nobody can change: `kseeds.kmeans` goes on from labels."""
    for array in finished[:2]:
        array.flags.writeable = False
    return finished


class Origin(NamedTuple):
    """What seeds were drawn from: by which metric, a fingerprint of the rows, and which of them."""

    metric: Any
    fingerprint: npt.NDArray[np.uint32]
    indices: npt.NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class DistributedSeeding(ArrayOfCenters):
    """Seeds of data in partitions (Dask, Spark); unpacks as ``centers, indices``.

    Where an array is wanted, it is that of its centres.

    Attributes
    ----------
    centers : ndarray, shape (k, d)
        The seeds, in the order in which they were drawn; copies of rows of the data.
    indices : ndarray of int64, shape (k,)
        Their row numbers, counted across all partitions; no row appears twice.
    algorithm : str
        "k-means++" or "k-means||"; of a start of `kmeans` also "greedy k-means++" or "random rows".
    work : Work
        What it cost, counted; includes communications and bytes.
    seconds : float
        The time it took.
    """

    centers: FloatArray
    indices: npt.NDArray[np.int64]
    algorithm: str
    work: Work
    seconds: float

    def __iter__(self) -> Iterator[Any]:
        yield self.centers
        yield self.indices

    def __repr__(self) -> str:
        k, d = self.centers.shape
        return (
            f"<DistributedSeeding: {k} seeds of {d} columns ({self.centers.dtype}) by "
            f"{self.algorithm}, {self.work.communications} communications in {self.seconds:.3g} s>"
        )


class Seeding(ArrayOfCenters):
    """Seeds of k-means; unpacks as ``centers, indices``, like scikit-learn's ``kmeans_plusplus``.

    ``labels``, ``distances`` and ``potential`` are computed together, when one of them is first
    used. That compares every row with every seed it has not been compared with, as
    `kseeds.assign` does: fast for few seeds, but for thousands it may take many times as long as
    the seeding. If X has changed since the seeding, RuntimeError is raised. Pickles and copies
    contain the three only if they were computed before. The arrays are read-only; copy them to
    change them.

    Where an array is wanted, a seeding is that of its centres: ``numpy.asarray(seeding)``, or
    ``KMeans(init=kseeds.kmeans_plusplus)`` of scikit-learn.

    Attributes
    ----------
    centers : ndarray, shape (k, d)
        The seeds, in the order in which they were drawn; copies of rows of X.
    indices : ndarray of int64, shape (k,)
        Their rows in X; no row appears twice.
    algorithm : str
        The algorithm that drew them.
    work : Work
        What it cost, counted.
    seconds : float
        The time the seeding took, without that of the labels.
    """

    def __init__(
        self,
        centers: FloatArray,
        indices: npt.NDArray[np.int64],
        algorithm: str,
        work: Work,
        seconds: float,
        finish: Callable[[], Finished] | None,
        origin: Origin | None = None,
        is_complete: bool = False,
    ) -> None:
        self.centers = centers
        self.indices = indices
        self.algorithm = algorithm
        self.work = work
        self.seconds = seconds
        self._finish = finish
        self._finished: Finished | None = None
        self._origin, self._is_complete = origin, is_complete

    def known_labels(
        self,
        metric: Any,
        fingerprint: Callable[[], npt.NDArray[np.uint32]],
        are_centers: Callable[[npt.NDArray[np.int64]], bool],
    ) -> npt.NDArray[np.int32] | None:
        """Return the labels if they are known, and are those of the rows of a fingerprint.

        Known are labels that were used before, and those of greedy k-means++. ``are_centers`` tells
        whether the rows that were drawn are the centres: those of a seeding can be changed.
        """
        origin = self._origin
        is_known = self._finished is not None or (self._is_complete and self._finish is not None)
        if not is_known or origin is None or origin.metric != metric:
            return None
        same = np.array_equal(origin.fingerprint, fingerprint()) and are_centers(origin.indices)
        return self.labels.copy() if same else None  # kernels are compiled for writable ones

    def _final(self) -> Finished:
        # No lock, since a forked child could inherit it locked. Threads that arrive together each
        # compute the same result, from a state that none of them changes.
        finish = self._finish
        if self._finished is None:
            if finish is None:
                raise RuntimeError(
                    "the labels, distances and potential of this seeding were not computed before "
                    "it was pickled or copied; ask for them before, or use "
                    "kseeds.assign(X, seeding.centers)."
                )
            self._finished = _read_only(finish())
            self._finish = None  # releases the data
        return self._finished

    @property
    def labels(self) -> npt.NDArray[np.int32]:
        """The nearest seed of every row, ties to the lowest index; computed on first use.

        With ``initial_centers`` of m rows, labels below m are initial centres and label
        m + j is seed j.
        """
        return self._final()[0]

    @property
    def distances(self) -> FloatArray:
        """The distance of every row to its nearest seed; computed on first use."""
        return self._final()[1]

    @property
    def potential(self) -> float:
        """The sum of weight times squared distance over all rows; computed on first use.

        scikit-learn calls it inertia.
        """
        return self._final()[2]

    def __iter__(self) -> Iterator[Any]:
        yield self.centers
        yield self.indices

    def __repr__(self) -> str:
        k, d = self.centers.shape
        known = f", potential={self._finished[2]:.6g}" if self._finished is not None else ""
        return (
            f"<Seeding: {k} seeds of {d} columns by {self.algorithm!r}, "
            f"{self.work.distances:,} distances in {self.seconds:.3g} s{known}>"
        )

    def __getstate__(self) -> dict[str, Any]:
        # The data is not pickled, and labels that nobody used are not computed for the pickle.
        return {**self.__dict__, "_finish": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._finished is not None:
            self._finished = _read_only(self._finished)

    def __copy__(self) -> Seeding:
        twin = Seeding.__new__(Seeding)
        twin.__dict__.update(self.__dict__)
        return twin
