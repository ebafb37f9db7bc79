"""k-means++, k-means||, k-means and `assign` for Dask arrays and dataframes.

Needs ``pip install 'kseeds[dask]'``. Runs on the scheduler that Dask is set to use: threads,
processes, or the cluster of a ``distributed.Client``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kseeds.distributed.assign_block import assign_block
from kseeds.distributed.centers import check_centers
from kseeds.distributed.clustering import cluster
from kseeds.distributed.dask_rows import rows_of
from kseeds.distributed.partition import Plan, unusable
from kseeds.distributed.seeding import check_metric_name, check_schedule, seed
from kseeds.inputs import with_hints
from kseeds.results import DistributedClustering, DistributedSeeding

try:
    from kseeds.distributed import dask_backend as _backend
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "dask":
        raise
    raise ModuleNotFoundError(
        "kseeds.dask needs Dask; install it with: pip install 'kseeds[dask]'", name="dask"
    ) from None

__all__ = [
    "DaskAssignment",
    "DaskClustering",
    "assign",
    "kmeans",
    "kmeans_parallel",
    "kmeans_plusplus",
]


class DaskAssignment(NamedTuple):
    """The nearest centre of every row, as Dask arrays that are not computed yet.

    Attributes
    ----------
    labels : dask.array.Array of int32
        The index of the nearest centre; ties go to the lowest index.
    distances : dask.array.Array
        Its distance.
    """

    labels: Any
    distances: Any

    def __repr__(self) -> str:
        rows, chunks = self.labels.shape[0], self.labels.numblocks[0]
        count = "rows" if np.isnan(rows) else f"{rows} rows"
        return (
            f"<DaskAssignment: {count} in {chunks} chunks ({self.distances.dtype} distances), "
            "not computed yet>"
        )


@dataclass(frozen=True, repr=False)
class DaskClustering(DistributedClustering):
    """The result of k-means over chunks; unpacks as ``centers, labels``.

    Attributes
    ----------
    centers, inertia, n_iter, converged, seeding, work, seconds
        See `kseeds.results.DistributedClustering`.
    labels : dask.array.Array of int32
        The index of the nearest centre of every row, ties to the lowest; chunked like X, and
        computed already, in the memory of the workers.
    distances : dask.array.Array
        Its distance.
    """

    labels: Any
    distances: Any

    def __iter__(self) -> Iterator[Any]:
        yield self.centers
        yield self.labels


@with_hints
def kmeans_plusplus(
    X: Any,
    n_clusters: int,
    *,
    sample_weight: Any = None,
    metric: str = "euclidean",
    initial_centers: Any = None,
    random_state: Any = None,
    cache: bool = True,
    progress: Any = False,
) -> DistributedSeeding:
    """Draw the starting centres of k-means by k-means++, exactly, in few rounds of communication.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame
        One row per point, in any chunks along the rows; chunk sizes may be unknown.
    n_clusters : int
        How many seeds to draw.
    sample_weight : dask.array.Array, dask.dataframe.Series or str, optional
        Non-negative weights of the rows; a string names a column of X, which is then not used
        as a coordinate.
    metric : str, default "euclidean"
        The name of a metric, as for `kseeds.kmeans_plusplus`.
    initial_centers : array-like, shape (m, d), optional
        Centres that exist already; only new rows are returned.
    random_state : int, Generator, RandomState, SeedSequence or None
        The same state and the same order of rows give the same seeds, whatever the chunks.
    cache : bool, default True
        Keep the rows in the memory of the workers between rounds. False reads them again in
        every round, for data that is larger than that memory.
    progress : bool or callable, default False
        True shows a bar on stderr; a function is called with (done, total).

    Returns
    -------
    DistributedSeeding
        Unpacks as ``centers, indices``; ``work`` counts rounds and bytes.

    Examples
    --------
    >>> import dask.array as da
    >>> import kseeds.dask
    >>> X = da.arange(100, chunks=30).reshape(-1, 1)
    >>> centers, indices = kseeds.dask.kmeans_plusplus(X, 5, random_state=0)
    >>> centers.shape
    (5, 1)
    """
    rows = rows_of(X, "kmeans_plusplus", sample_weight)
    return seed(
        lambda: _backend.running(rows.blocks, rows.weights, cache), n_clusters,
        metric=metric, initial_centers=initial_centers, random_state=random_state,
        progress=progress, columns=rows.columns, dtype=rows.dtype,
    )  # fmt: skip


@with_hints
def kmeans_parallel(
    X: Any,
    n_clusters: int,
    *,
    oversampling: float = 2.0,
    rounds: int = 5,
    reduction: str = "k-means++",
    sample_weight: Any = None,
    metric: str = "euclidean",
    initial_centers: Any = None,
    random_state: Any = None,
    cache: bool = True,
    progress: Any = False,
) -> DistributedSeeding:
    """Draw the starting centres of k-means by k-means||.

    The same seeds as `kseeds.kmeans_parallel` with the same random state, if sums of w·α² are
    exact.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame
        One row per point, as for `kmeans_plusplus`.
    n_clusters : int
        How many seeds to draw.
    oversampling : float, default 2.0
        Expected number of candidates per round, as a multiple of ``n_clusters``.
    rounds : int, default 5
        Number of rounds in which candidates are drawn.
    reduction : {"k-means++", "greedy"}
        How the candidates are reduced to k, as for `kseeds.kmeans_parallel`.
    sample_weight, metric, initial_centers, random_state, cache, progress
        As for `kmeans_plusplus`.

    Returns
    -------
    DistributedSeeding
        Unpacks as ``centers, indices``; ``work`` counts rounds and bytes.

    Examples
    --------
    >>> import dask.array as da
    >>> import kseeds.dask
    >>> X = da.arange(100, chunks=30).reshape(-1, 1)
    >>> kseeds.dask.kmeans_parallel(X, 5, random_state=0).centers.shape
    (5, 1)
    """
    schedule = check_schedule(oversampling, rounds, reduction)
    rows = rows_of(X, "kmeans_parallel", sample_weight)
    return seed(
        lambda: _backend.running(rows.blocks, rows.weights, cache), n_clusters,
        metric=metric, initial_centers=initial_centers, random_state=random_state,
        progress=progress, schedule=schedule, columns=rows.columns, dtype=rows.dtype,
    )  # fmt: skip


@with_hints
def kmeans(
    X: Any,
    n_clusters: int,
    *,
    init: Any = "k-means++",
    n_init: int = 1,
    sample_weight: Any = None,
    metric: str = "euclidean",
    max_iter: int = 300,
    tol: float = 1e-4,
    random_state: Any = None,
    cache: bool = True,
    progress: Any = False,
) -> DaskClustering:
    """Cluster rows by k-means: seeds, then Lloyd's iteration, with one pass an iteration.

    Labels stay with the rows; the driver has centres and sums. From the same centres, the result is
    that of `kseeds.kmeans` to the last bit, whatever the chunks (that of sparse blocks, and the
    inertia, up to rounding).

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame
        One row per point, as for `kmeans_plusplus`.
    n_clusters : int
        How many clusters to find.
    init : {"k-means++", "greedy", "k-means||", "random"}, array-like or seeding
        Where to start: seeds drawn by that law, on the rows that the workers keep; or distinct rows
        drawn by weight; or centres, one row per cluster; or a seeding.
    n_init : int, default 1
        How often to start, each time from other seeds; the result of the lowest inertia is
        returned. Centres and seedings that are given are started from once.
    sample_weight : dask.array.Array, dask.dataframe.Series or str, optional
        As for `kmeans_plusplus`. Rows of weight 0 get labels, and change nothing else.
    metric : {"euclidean", "cosine"}
        "cosine" is spherical k-means: rows count as unit vectors, and so do centres.
    max_iter : int, default 300
        How often the centres may be moved.
    tol : float, default 1e-4
        Stop when the squared movements of the centres sum up to at most this multiple of the mean
        variance of the columns. With 0, when no row changes its cluster.
    random_state : int, Generator, RandomState, SeedSequence or None
        The same state and the same order of rows give the same result, whatever the chunks.
    cache : bool, default True
        Keep the rows in the memory of the workers between passes. False reads them again in every
        pass, for data that is larger than that memory.
    progress : bool or callable, default False
        True shows a bar on stderr; a function is called with (done, total) iterations, where total
        is ``max_iter`` until it ends, and then as many as there were.

    Returns
    -------
    DaskClustering
        Unpacks as ``centers, labels``; also has distances, inertia, n_iter, converged, seeding
        and work. Labels and distances are Dask arrays.

    Warns
    -----
    FewerDistinctPointsWarning
        If there are fewer distinct points than seeds to draw; some clusters are then empty.

    Examples
    --------
    >>> import dask.array as da
    >>> import kseeds.dask
    >>> X = da.from_array([[0.0], [0.2], [7.0], [7.4]], chunks=(3, 1))
    >>> found = kseeds.dask.kmeans(X, 2, init=[[0.0], [9.0]])
    >>> found.centers.round(6).tolist(), found.labels.compute().tolist()
    ([[0.1], [7.2]], [0, 0, 1, 1])
    """
    rows = rows_of(X, "kmeans", sample_weight)

    def labelled(backend: _backend.DaskBackend, plan: Plan, n: int) -> list[Any]:
        # The number of rows of each chunk is known now, even if it was not before.
        lengths = np.diff([*plan.starts, n]).tolist()
        return _arrays(backend.states, lengths, plan.dtype)

    found, (labels, distances) = cluster(
        lambda: _backend.running(rows.blocks, rows.weights, cache), n_clusters,
        init=init, n_init=n_init, metric=metric, max_iter=max_iter, tol=tol,
        random_state=random_state, progress=progress, columns=rows.columns, dtype=rows.dtype,
        take=labelled,
    )  # fmt: skip
    return DaskClustering(**vars(found), labels=labels, distances=distances)


@with_hints
def assign(X: Any, centers: Any, *, metric: str = "euclidean") -> DaskAssignment:
    """Find the exact nearest centre of every row.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame
        The rows.
    centers : array-like, shape (m, d)
        The centres, at least one. They are checked by this call, not when the result is computed.
    metric : str, default "euclidean"
        The name of a metric, as for `kseeds.assign`.

    Returns
    -------
    DaskAssignment
        Unpacks as ``labels, distances``, chunked like X; compute them together.

    Examples
    --------
    >>> import dask, dask.array as da
    >>> import kseeds.dask
    >>> labels, distances = kseeds.dask.assign(da.arange(6, chunks=4)[:, None], [[0.0], [5.0]])
    >>> dask.compute(labels)[0].tolist()
    [0, 0, 0, 1, 1, 1]
    """
    from dask.delayed import delayed

    name = check_metric_name(metric)
    rows = rows_of(X, "assign")
    known = check_centers(centers, "centers", name, rows.columns, rows.dtype)
    _backend.check_workers()
    shared = delayed(known, pure=False, traverse=False)
    work = delayed(_assign_block, pure=False, nout=2)
    pairs = [
        work(number, block, shared, name, rows.dtype) for number, block in enumerate(rows.blocks)
    ]
    return DaskAssignment(*_arrays(pairs, rows.lengths, rows.dtype))


def _arrays(pairs: Sequence[Any], lengths: Sequence[float], dtype: np.dtype[Any]) -> list[Any]:
    """Return labels and distances as Dask arrays, given a delayed pair of them for each chunk."""
    import dask.array

    return [
        dask.array.concatenate(
            [
                dask.array.from_delayed(pair[place], (length,), dtype=kind)
                for pair, length in zip(pairs, lengths, strict=True)
            ],
            allow_unknown_chunksizes=True,
        )
        for place, kind in enumerate((np.dtype(np.int32), dtype))
    ]


def _assign_block(
    number: int, block: Any, centers: Any, metric: str, dtype: np.dtype[Any]
) -> tuple[Any, Any]:
    if block.shape[0] == 0:
        return np.empty(0, dtype=np.int32), np.empty(0, dtype=dtype)
    try:
        labels, distances = assign_block(block, centers, metric)
    except (TypeError, ValueError) as error:
        raise type(error)(unusable(number, str(error))) from None
    return labels, distances.astype(dtype, copy=False)
