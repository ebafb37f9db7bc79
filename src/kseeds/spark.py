"""k-means++, k-means||, k-means and `assign` for Spark DataFrames.

Needs ``pip install 'kseeds[spark]'``, a Java runtime, and kseeds itself on every executor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kseeds.distributed.centers import check_centers
from kseeds.distributed.clustering import cluster
from kseeds.distributed.preflight import missing
from kseeds.distributed.seeding import check_metric_name, check_schedule, seed
from kseeds.inputs import with_hints
from kseeds.results import DistributedClustering, DistributedSeeding

try:
    from kseeds.distributed import spark_backend as _backend
    from kseeds.distributed.spark_columns import (
        check_new_names,
        column_of,
        features_of,
        weights_of,
    )
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("pyspark", "pyarrow"):
        raise
    raise ModuleNotFoundError(
        "kseeds.spark needs PySpark and Arrow; install them with: pip install 'kseeds[spark]'",
        name=error.name,
    ) from None

__all__ = ["SparkClustering", "assign", "kmeans", "kmeans_parallel", "kmeans_plusplus"]


@dataclass(frozen=True, repr=False)
class SparkClustering(DistributedClustering):
    """The result of k-means over a frame; unpacks as ``centers, frame``.

    Attributes
    ----------
    centers, inertia, n_iter, converged, seeding, work, seconds
        See `kseeds.results.DistributedClustering`.
    frame : pyspark.sql.DataFrame
        The data with two more columns, label and distance, as `assign` adds them; they are
        computed when they are used.
    """

    frame: Any

    def __iter__(self) -> Iterator[Any]:
        yield self.centers
        yield self.frame


@with_hints
def kmeans_plusplus(
    frame: Any,
    n_clusters: int,
    *,
    features: str | list[str] = "features",
    sample_weight: str | None = None,
    metric: str = "euclidean",
    initial_centers: Any = None,
    random_state: Any = None,
    cache: bool = True,
    progress: Any = False,
) -> DistributedSeeding:
    """Draw the starting centres of k-means by k-means++, exactly, in few rounds of communication.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The data, in any partitions. The order of its rows must be the same whenever it is read.
    n_clusters : int
        How many seeds to draw.
    features : str or list of str, default "features"
        A column of arrays or of ``pyspark.ml`` vectors, or a list of numeric columns.
    sample_weight : str, optional
        A column of non-negative weights.
    metric : str, default "euclidean"
        The name of a metric, as for `kseeds.kmeans_plusplus`.
    initial_centers : array-like, shape (m, d), optional
        Centres that exist already; only new rows are returned.
    random_state : int, Generator, RandomState, SeedSequence or None
        The same state and the same order of rows give the same seeds, whatever the partitions.
    cache : bool, default True
        Keep the rows on the executors between rounds, on disk if memory is short. False reads
        them again in every round.
    progress : bool or callable, default False
        True shows a bar on stderr; a function is called with (done, total).

    Returns
    -------
    DistributedSeeding
        Unpacks as ``centers, indices``; ``work`` counts rounds and bytes.

    Examples
    --------
    >>> import kseeds.spark
    >>> frame = spark.range(100)  # doctest: +SKIP
    >>> kseeds.spark.kmeans_plusplus(frame, 5, features=["id"]).centers.shape  # doctest: +SKIP
    (5, 1)
    """
    chosen = features_of(_checked(frame, "kmeans_plusplus"), features)
    weights = weights_of(frame, sample_weight)
    return seed(
        lambda: _backend.running(frame, chosen, weights, cache), n_clusters,
        metric=metric, initial_centers=initial_centers, random_state=random_state,
        progress=progress, columns=chosen.width, dtype=chosen.dtype,
    )  # fmt: skip


@with_hints
def kmeans_parallel(
    frame: Any,
    n_clusters: int,
    *,
    features: str | list[str] = "features",
    oversampling: float = 2.0,
    rounds: int = 5,
    reduction: str = "k-means++",
    sample_weight: str | None = None,
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
    frame : pyspark.sql.DataFrame
        The data, as for `kmeans_plusplus`.
    n_clusters : int
        How many seeds to draw.
    features : str or list of str, default "features"
        A column of arrays or of ``pyspark.ml`` vectors, or a list of numeric columns.
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
    """
    schedule = check_schedule(oversampling, rounds, reduction)
    chosen = features_of(_checked(frame, "kmeans_parallel"), features)
    weights = weights_of(frame, sample_weight)
    return seed(
        lambda: _backend.running(frame, chosen, weights, cache), n_clusters,
        metric=metric, initial_centers=initial_centers, random_state=random_state,
        progress=progress, schedule=schedule, columns=chosen.width, dtype=chosen.dtype,
    )  # fmt: skip


@with_hints
def kmeans(
    frame: Any,
    n_clusters: int,
    *,
    features: str | list[str] = "features",
    init: Any = "k-means++",
    n_init: int = 1,
    sample_weight: str | None = None,
    metric: str = "euclidean",
    max_iter: int = 300,
    tol: float = 1e-4,
    random_state: Any = None,
    cache: bool = True,
    progress: Any = False,
    label: str = "label",
    distance: str = "distance",
) -> SparkClustering:
    """Cluster rows by k-means: seeds, then Lloyd's iteration, with one pass an iteration.

    Labels stay with the rows; the driver has centres and sums. From the same centres, the result is
    that of `kseeds.kmeans` to the last bit, whatever the partitions (the inertia up to rounding).

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The data, as for `kmeans_plusplus`.
    n_clusters : int
        How many clusters to find.
    features : str or list of str, default "features"
        A column of arrays or of ``pyspark.ml`` vectors, or a list of numeric columns.
    init : {"k-means++", "greedy", "k-means||", "random"}, array-like or seeding
        Where to start: seeds drawn by that law, on the rows that the executors keep; or distinct
        rows drawn by weight; or centres, one row per cluster; or a seeding.
    n_init : int, default 1
        How often to start, each time from other seeds; the result of the lowest inertia is
        returned. Centres and seedings that are given are started from once.
    sample_weight : str, optional
        A column of non-negative weights. Rows of weight 0 get labels, and change nothing else.
    metric : {"euclidean", "cosine"}
        "cosine" is spherical k-means: rows count as unit vectors, and so do centres.
    max_iter : int, default 300
        How often the centres may be moved.
    tol : float, default 1e-4
        Stop when the squared movements of the centres sum up to at most this multiple of the mean
        variance of the columns. With 0, when no row changes its cluster.
    random_state : int, Generator, RandomState, SeedSequence or None
        The same state and the same order of rows give the same result, whatever the partitions.
    cache : bool, default True
        Keep the rows on the executors between passes, on disk if memory is short. False reads them
        again in every pass.
    progress : bool or callable, default False
        True shows a bar on stderr; a function is called with (done, total) iterations, where total
        is ``max_iter`` until it ends, and then as many as there were.
    label, distance : str
        The names of the new columns, which the frame must not have yet.

    Returns
    -------
    SparkClustering
        Unpacks as ``centers, frame``, the frame with labels and distances; also has inertia,
        n_iter, converged, seeding and work.

    Warns
    -----
    FewerDistinctPointsWarning
        If there are fewer distinct points than seeds to draw; some clusters are then empty.

    Examples
    --------
    >>> import kseeds.spark
    >>> frame = spark.range(100)  # doctest: +SKIP
    >>> kseeds.spark.kmeans(frame, 5, features=["id"]).centers.shape  # doctest: +SKIP
    (5, 1)
    """
    chosen = features_of(_checked(frame, "kmeans"), features)
    weights = weights_of(frame, sample_weight)
    check_new_names(frame, label, distance)
    found, _ = cluster(
        lambda: _backend.running(frame, chosen, weights, cache), n_clusters,
        init=init, n_init=n_init, metric=metric, max_iter=max_iter, tol=tol,
        random_state=random_state, progress=progress, columns=chosen.width, dtype=chosen.dtype,
    )  # fmt: skip
    added = assign(
        frame, found.centers, features=features, metric=metric, label=label, distance=distance
    )
    return SparkClustering(**vars(found), frame=added)


@with_hints
def assign(
    frame: Any,
    centers: Any,
    *,
    features: str | list[str] = "features",
    metric: str = "euclidean",
    label: str = "label",
    distance: str = "distance",
) -> Any:
    """Add the exact nearest centre of every row to a frame.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The data.
    centers : array-like, shape (m, d)
        The centres, at least one. They are checked by this call, not when the frame is computed.
    features : str or list of str, default "features"
        A column of arrays or of ``pyspark.ml`` vectors, or a list of numeric columns.
    metric : str, default "euclidean"
        The name of a metric, as for `kseeds.assign`.
    label, distance : str
        The names of the new columns, which the frame must not have yet.

    Returns
    -------
    pyspark.sql.DataFrame
        ``frame`` with two more columns: the index of the nearest centre (ties go to the lowest
        index) and its distance. Bad rows (NaN, null, other lengths) are found when these columns
        are computed; Spark then raises an error of its own, whose message names the partition,
        the column and the rows of the batch.
    """
    from pyspark.sql import functions
    from pyspark.sql.pandas.functions import pandas_udf

    name = check_metric_name(metric)
    chosen = features_of(_checked(frame, "assign"), features)
    check_new_names(frame, label, distance)
    # A list of columns becomes an array of doubles, whatever their types.
    precision = chosen.dtype if chosen.as_array else np.dtype(np.float64)
    known = check_centers(centers, "centers", name, chosen.width, precision)
    _backend.check_executors(frame)
    absent = str(missing(_backend.ONE, _backend.ALL, "%s"))
    names, as_array, in_sql = chosen.names, chosen.as_array, _backend.SQL_ERRORS_ARE_SHORT

    def nearest(rows: Any) -> Any:
        import pandas
        from pyspark import TaskContext

        found: dict[str, Any] = {"label": -1, "distance": np.nan, "error": None}
        try:
            from kseeds.distributed.spark_rows import nearest_of

            task: Any = TaskContext.get()
            found["label"], found["distance"] = nearest_of(
                task.partitionId(), rows, known, name, names, as_array
            )
        except ImportError as error:
            found["error"] = absent % error
        except (TypeError, ValueError) as error:
            found["error"] = str(error)
        if found["error"] is not None and not in_sql:
            raise ValueError(found["error"])
        return pandas.DataFrame(found, index=range(len(rows)))

    nearest.__annotations__ = {}  # Spark would interpret them
    kinds = "label int, distance double, error string"
    add: Any = pandas_udf(nearest, kinds)  # type: ignore[call-overload,unused-ignore]
    array = (
        chosen.columns[0]
        if chosen.as_array
        else functions.array(*chosen.columns).cast("array<double>")
    )
    both = "__kseeds"
    while both in frame.columns:
        both += "_"

    def value_or_error(field: str) -> Any:
        """Return a field, or raise the error in SQL, which shows the message only."""
        value, error = (column_of(both).getField(one) for one in (field, "error"))
        if not in_sql:
            return value
        return functions.when(error.isNotNull(), functions.raise_error(error)).otherwise(value)

    # withColumn instead of select, as the frame may have several columns of one name.
    return (
        frame.withColumn(both, add(array))
        .withColumn(label, value_or_error("label"))
        .withColumn(distance, value_or_error("distance"))
        .drop(both)
    )


def _checked(frame: Any, function: str) -> Any:
    module = type(frame).__module__
    if module.partition(".")[0] != "pyspark":
        raise TypeError(
            f"frame is a {type(frame).__name__}; pass a Spark DataFrame, or use "
            f"kseeds.{function} for data in memory."
        )
    if ".connect." in module:
        raise TypeError(
            "frame belongs to Spark Connect, which gives no access to partitions; use a classic "
            "Spark session, or write the frame to Parquet and use kseeds.dask."
        )
    return frame
