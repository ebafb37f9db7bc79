"""The results: of seedings, assignments and k-means, in memory or not, and the counted `Work`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray


@dataclass
class Work:
    """What a seeding cost, in counts that do not depend on the machine.

    Attributes
    ----------
    distances : int
        All distance computations.
    seed_distances : int
        Those of them that are between two seeds (γ in the paper).
    queue_examined : list of int
        Items of the priority queue examined in each round.
    tree_nodes : int
        Tree nodes visited, in trees over centres and in trees over points.
    rounds : int
        k-means++ and greedy k-means++: one per seed; with ``algorithm="rounds"``, Dask or Spark,
        one per batch of proposals. k-means||: the ``rounds`` that were asked for. `kmeans`: its
        iterations.
    candidates : int
        Candidates that k-means|| or greedy k-means++ drew.
    proposals, acceptances : int
        Rows that lazy k-means++ proposed, and how many of them became seeds.
    refreshes : int
        Partial and full refreshes of lazy k-means++: many bounds made exact at once.
    rows : int
        Rows of the data.
    rows_skipped : int
        Rows that `kmeans` did not have to look at, all iterations together.
    communications, bytes_out, bytes_back : int
        Dask and Spark: tasks sent to all partitions, the bytes of their messages (each is sent
        once to every worker), and the bytes of all replies.
    """

    distances: int = 0
    seed_distances: int = 0
    queue_examined: list[int] = field(default_factory=list)
    tree_nodes: int = 0
    rounds: int = 0
    candidates: int = 0
    proposals: int = 0
    acceptances: int = 0
    refreshes: int = 0
    rows: int = 0
    rows_skipped: int = 0
    communications: int = 0
    bytes_out: int = 0
    bytes_back: int = 0

    @property
    def passes(self) -> float:
        """Distance computations divided by rows: one centre against every row is one pass."""
        return self.distances / max(self.rows, 1)


Finished: TypeAlias = tuple[npt.NDArray[np.int32], FloatArray, float]
"""Labels, distances and potential."""


class Origin(NamedTuple):
    """What seeds were drawn from: by which metric, and a fingerprint of the rows."""

    metric: Any
    fingerprint: npt.NDArray[np.uint32]


def _as_array(
    centers: FloatArray, dtype: npt.DTypeLike | None, copy: bool | None
) -> npt.NDArray[Any]:
    """Return centres as `numpy.asarray` with these arguments does in NumPy 2, also in NumPy 1."""
    if hasattr(centers, "toarray"):  # sparse
        if copy is False:
            raise ValueError("copy=False is not possible: the centers are sparse; leave it out.")
        centers = centers.toarray()
    wanted = centers.dtype if dtype is None else np.dtype(dtype)
    if copy is False and wanted != centers.dtype:
        raise ValueError(
            f"copy={copy} is not possible for dtype={wanted}: the centers are {centers.dtype}; "
            "leave out copy, or ask for their dtype."
        )
    return centers.astype(wanted, copy=bool(copy))


@dataclass(frozen=True, repr=False)
class DistributedSeeding:
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

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        """Return the centres: NumPy, and whoever wants an array of centres, takes a seeding."""
        return _as_array(self.centers, dtype, copy)

    def __iter__(self) -> Iterator[Any]:
        yield self.centers
        yield self.indices

    def __repr__(self) -> str:
        k, d = self.centers.shape
        return (
            f"<DistributedSeeding: {k} seeds of {d} columns ({self.centers.dtype}) by "
            f"{self.algorithm}, {self.work.communications} communications in {self.seconds:.3g} s>"
        )


class Seeding:
    """Seeds of k-means; unpacks as ``centers, indices``, like scikit-learn's ``kmeans_plusplus``.

    ``labels``, ``distances`` and ``potential`` are computed together, when one of them is first
    used. That compares every row with every seed it has not been compared with, as
    `kseeds.assign` does: fast for few seeds, but for thousands it may take many times as long as
    the seeding. If X has changed since the seeding, RuntimeError is raised. Pickles and copies
    contain the three only if they were computed before.

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
        self, metric: Any, fingerprint: Callable[[], npt.NDArray[np.uint32]]
    ) -> npt.NDArray[np.int32] | None:
        """Return the labels if they are known, and are those of the rows of a fingerprint.

        Known are labels that were used before, and those of greedy k-means++.
        """
        is_known = self._finished is not None or (self._is_complete and self._finish is not None)
        if not is_known or self._origin is None or self._origin.metric != metric:
            return None
        same = np.array_equal(self._origin.fingerprint, fingerprint())
        return self.labels if same else None

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
            self._finished = finish()
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

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        """Return the centres: NumPy, and whoever wants an array of centres, takes a seeding."""
        return _as_array(self.centers, dtype, copy)

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

    def __copy__(self) -> Seeding:
        twin = Seeding.__new__(Seeding)
        twin.__dict__.update(self.__dict__)
        return twin


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
class Clustering:
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

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        """Return the centres: NumPy, and whoever wants an array of centres, takes a clustering."""
        return _as_array(self.centers, dtype, copy)

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
class DistributedClustering:
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

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        """Return the centres: NumPy, and whoever wants an array of centres, takes a clustering."""
        return _as_array(self.centers, dtype, copy)

    def __repr__(self) -> str:
        k, d = self.centers.shape
        end = "converged" if self.converged else "not converged"
        return (
            f"<{type(self).__name__}: {k} centres of {d} columns ({self.centers.dtype}), "
            f"inertia={self.inertia:.6g} after {self.n_iter} iterations ({end}), "
            f"{self.work.communications} communications in {self.seconds:.3g} s>"
        )
