"""What a seeding returns: the seeds, what they mean for every row, and what they cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray


@dataclass
class Work:
    """What a seeding cost, in numbers that do not depend on the machine.

    Attributes
    ----------
    distances : int
        Distance computations in all.
    seed_distances : int
        Of them, between two seeds (the γ of the paper).
    queue_examined : list of int
        Items of the priority queue looked at in each round.
    tree_nodes : int
        Nodes of trees visited: of those over centres and of those over the points.
    rounds : int
        Rounds: one a seed for k-means++, or one a batch of proposals where it is drawn by
        ``algorithm="rounds"`` or on a cluster; as asked for k-means||.
    candidates : int
        Candidates that k-means|| drew.
    proposals, acceptances : int
        Rows that lazy k-means++ proposed, and how many of them became seeds.
    refreshes : int
        Times that lazy k-means++ brought many bounds up to date at once.
    rows : int
        Rows of the data.
    communications, bytes_out, bytes_back : int
        On a cluster: how often all partitions were asked something, the size of all
        questions (each is sent once to every worker), and of all answers.
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
    communications: int = 0
    bytes_out: int = 0
    bytes_back: int = 0

    @property
    def passes(self) -> float:
        """Distance computations in passes: one centre against every row is one pass."""
        return self.distances / max(self.rows, 1)


Finished: TypeAlias = tuple[npt.NDArray[np.int32], FloatArray, float]
"""Labels, distances and potential."""


@dataclass(frozen=True, repr=False)
class DistributedSeeding:
    """Seeds of k-means, drawn where the data lives; unpacks as ``centers, indices``.

    Attributes
    ----------
    centers : ndarray, shape (k, d)
        The seeds, in the order in which they were drawn; copies of rows of the data.
    indices : ndarray of int64, shape (k,)
        Their row numbers, counted through all partitions; no row appears twice.
    algorithm : str
        The law that drew them, "k-means++" or "k-means||".
    work : Work
        What it cost, counted; also what travelled.
    seconds : float
        What it cost, on this cluster.
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


class Seeding:
    """Seeds of k-means, and what they mean for every row.

    Unpacks as ``centers, indices = ...``, like the result of scikit-learn's function.

    ``labels``, ``distances`` and ``potential`` are computed when one of them is first asked for.
    That compares every row with every seed it has not been compared with, as `kseeds.assign` does:
    cheap for few seeds, but for thousands it may take many times as long as drawing them. They are
    those of X as it was seeded: if X has changed in the meantime, asking for them raises
    RuntimeError. They travel with a pickle or a copy if they were computed before.

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
        What it cost, on this machine; what labels cost is not in it.
    """

    def __init__(
        self,
        centers: FloatArray,
        indices: npt.NDArray[np.int64],
        algorithm: str,
        work: Work,
        seconds: float,
        finish: Callable[[], Finished] | None,
    ) -> None:
        self.centers = centers
        self.indices = indices
        self.algorithm = algorithm
        self.work = work
        self.seconds = seconds
        self._finish = finish
        self._finished: Finished | None = None

    def _final(self) -> Finished:
        # No lock, which a forked child might find locked for good: threads that ask at the same
        # time each compute the same from a state that none of them changes.
        finish = self._finish
        if self._finished is None:
            if finish is None:
                raise RuntimeError(
                    "the labels, distances and potential of this seeding were not computed before "
                    "it was pickled or copied; ask for them before, or use "
                    "kseeds.assign(X, seeding.centers)."
                )
            self._finished = finish()
            self._finish = None  # lets go of the data
        return self._finished

    @property
    def labels(self) -> npt.NDArray[np.int32]:
        """The nearest seed of every row, ties to the lowest; computed on first use.

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
        # The data does not travel, and nobody asked for what would have to be computed from it.
        return {**self.__dict__, "_finish": None}

    def __copy__(self) -> Seeding:
        twin = Seeding.__new__(Seeding)
        twin.__dict__.update(self.__dict__)
        return twin


@dataclass(frozen=True, repr=False)
class Assignment:
    """Labels and distances of rows; unpacks as ``labels, distances``.

    Attributes
    ----------
    labels : ndarray of int32, shape (n,)
        The nearest centre of every row, the earliest of several.
    distances : ndarray, shape (n,)
        Its distance.
    potential : float
        The sum of weight times squared distance.
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
