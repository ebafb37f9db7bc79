"""Seeding of Dask arrays and dataframes, where their chunks are.

Needs ``pip install 'kseeds[dask]'``. Runs on the scheduler that Dask is set to use: threads,
processes, or the cluster of a ``distributed.Client``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kseeds.engines.seeding import check_metric_name, check_schedule, seed
from kseeds.inputs.tables import float_dtype
from kseeds.result import ClusterSeeding

try:
    from kseeds.engines import dask as _engine
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "dask":
        raise
    raise ModuleNotFoundError(
        "kseeds.dask needs Dask; install it with: pip install 'kseeds[dask]'", name="dask"
    ) from None

__all__ = ["DaskAssignment", "assign", "kmeans_parallel", "kmeans_plusplus"]


class DaskAssignment(NamedTuple):
    """The nearest centre of every row, as Dask arrays that are yet to be computed.

    Attributes
    ----------
    labels : dask.array.Array of int32
        The nearest centre, the earliest of several.
    distances : dask.array.Array
        Its distance.
    """

    labels: Any
    distances: Any


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
) -> ClusterSeeding:
    """Draw the starting centres of k-means by k-means++, exactly, in few rounds.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame
        One row a point, in any chunks along the rows, whose sizes may be unknown.
    n_clusters : int
        How many seeds to draw.
    sample_weight : dask.array.Array, dask.dataframe.Series or str, optional
        Non-negative weights of the rows; a string names a column of X, which is then no
        coordinate.
    metric : {"euclidean", "manhattan", "chebyshev", "angular", "haversine"}
        As for `kseeds.kmeans_plusplus`.
    initial_centers : array-like, shape (m, d), optional
        Centres that exist already.
    random_state : int, Generator, RandomState, SeedSequence or None
        Same state and same order of rows, same seeds: however the rows are chunked.
    cache : bool, default True
        Keep the rows in the memory of the cluster between rounds. False reads them again in
        every round: for data that is larger than that memory.
    progress : bool or callable, default False
        True shows a bar on stderr; a function is called with (done, total).

    Returns
    -------
    ClusterSeeding
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
    blocks, weights = _blocks_of(X, sample_weight)
    return seed(
        lambda: _engine.running(blocks, weights, cache), n_clusters,
        metric=metric, initial_centers=initial_centers, random_state=random_state,
        progress=progress,
    )  # fmt: skip


def kmeans_parallel(
    X: Any,
    n_clusters: int,
    *,
    oversampling: float = 2.0,
    rounds: int = 5,
    sample_weight: Any = None,
    metric: str = "euclidean",
    initial_centers: Any = None,
    random_state: Any = None,
    cache: bool = True,
    progress: Any = False,
) -> ClusterSeeding:
    """Draw the starting centres of k-means by k-means||.

    The same seeds as `kseeds.kmeans_parallel` with the same random state, where the
    arithmetic is exact.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame
        One row a point, as for `kmeans_plusplus`.
    n_clusters : int
        How many seeds to draw.
    oversampling : float, default 2.0
        Expected candidates of a round, as a multiple of ``n_clusters``.
    rounds : int, default 5
        Rounds of drawing candidates.
    sample_weight, metric, initial_centers, random_state, cache, progress
        As for `kmeans_plusplus`.

    Returns
    -------
    ClusterSeeding
        Unpacks as ``centers, indices``; ``work`` counts rounds and bytes.

    Examples
    --------
    >>> import dask.array as da
    >>> import kseeds.dask
    >>> X = da.arange(100, chunks=30).reshape(-1, 1)
    >>> kseeds.dask.kmeans_parallel(X, 5, random_state=0).centers.shape
    (5, 1)
    """
    schedule = check_schedule(oversampling, rounds)
    blocks, weights = _blocks_of(X, sample_weight)
    return seed(
        lambda: _engine.running(blocks, weights, cache), n_clusters,
        metric=metric, initial_centers=initial_centers, random_state=random_state,
        progress=progress, schedule=schedule,
    )  # fmt: skip


def assign(X: Any, centers: Any, *, metric: str = "euclidean") -> DaskAssignment:
    """Find the exact nearest centre of every row.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame
        The rows.
    centers : array-like, shape (m, d)
        The centres, at least one.
    metric : {"euclidean", "manhattan", "chebyshev", "angular", "haversine"}
        As for `kseeds.assign`.

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
    import dask.array
    from dask.delayed import delayed

    name = check_metric_name(metric)
    centers = np.asarray(centers)
    blocks, _ = _blocks_of(X, None)
    shared = delayed(centers, pure=False, traverse=False)
    pairs = [delayed(_assign_block, pure=False, nout=2)(b, shared, name) for b in blocks]
    lengths = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(pairs)
    dtypes = (X.dtype,) if hasattr(X, "chunks") else tuple(X.dtypes)
    kinds = (np.dtype(np.int32), float_dtype(*(np.dtype(dtype) for dtype in dtypes)))
    labels, distances = (
        dask.array.concatenate(
            [
                dask.array.from_delayed(pair[place], (length,), dtype=kind)
                for pair, length in zip(pairs, lengths, strict=True)
            ],
            allow_unknown_chunksizes=True,
        )
        for place, kind in enumerate(kinds)
    )
    return DaskAssignment(labels, distances)


def _assign_block(block: Any, centers: Any, metric: str) -> tuple[Any, Any]:
    from kseeds.assignment import assign as assign_rows

    if len(block) == 0:
        return np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float64)
    found = assign_rows(block, centers, metric=metric, n_threads=1)
    return found.labels, found.distances


def _blocks_of(X: Any, sample_weight: Any) -> tuple[list[Any], list[Any]]:
    """Return the chunks of rows, and of their weights, as delayed objects."""
    kind = type(X).__module__.partition(".")[0]
    if kind not in ("dask", "dask_expr") or getattr(X, "ndim", 0) != 2:
        raise TypeError(
            f"X is a {type(X).__name__}; pass a Dask array of two dimensions or a Dask dataframe, "
            "or use kseeds.kmeans_plusplus for data in memory."
        )
    if isinstance(sample_weight, str):
        if not hasattr(X, "columns") or sample_weight not in X.columns:
            raise ValueError(
                f"sample_weight={sample_weight!r} is no column of X; pass the name of a column of "
                "a dataframe, or the weights themselves."
            )
        # Taken apart chunk by chunk: Dask may read a single column in other chunks.
        blocks = list(X.to_delayed())
        return blocks, [sample_weight] * len(blocks)
    if hasattr(X, "chunks"):
        X = X.rechunk({1: -1})
        blocks = list(X.to_delayed().ravel())
    else:
        blocks = list(X.to_delayed())
    if sample_weight is None:
        return blocks, [None] * len(blocks)
    return blocks, _weight_blocks(X, sample_weight, len(blocks))


def _weight_blocks(X: Any, sample_weight: Any, count: int) -> list[Any]:
    if not hasattr(sample_weight, "to_delayed"):
        raise TypeError(
            f"sample_weight is a {type(sample_weight).__name__}; pass a Dask array or series, or "
            "the name of a column."
        )
    known = hasattr(X, "chunks") and hasattr(sample_weight, "chunks")
    if known and not np.isnan([*X.chunks[0], *sample_weight.chunks[0]]).any():
        rows, weights = sum(X.chunks[0]), sum(sample_weight.chunks[0])
        if sample_weight.ndim != 1 or rows != weights:
            raise ValueError(
                f"sample_weight has shape {sample_weight.shape}; pass one weight for each of the "
                f"{rows} rows."
            )
        sample_weight = sample_weight.rechunk((X.chunks[0],))
    blocks = list(np.ravel(np.asarray(sample_weight.to_delayed(), dtype=object)))
    if len(blocks) != count:
        raise ValueError(
            f"sample_weight has {len(blocks)} chunks but X has {count}; chunk both alike."
        )
    return blocks
