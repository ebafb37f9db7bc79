"""Seeding of Spark DataFrames, where their partitions are.

Needs ``pip install 'kseeds[spark]'``, a Java runtime, and kseeds itself on every executor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kseeds.engines.seeding import check_metric_name, check_schedule, seed
from kseeds.result import ClusterSeeding

try:
    from kseeds.engines import spark as _engine
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("pyspark", "pyarrow"):
        raise
    raise ModuleNotFoundError(
        "kseeds.spark needs PySpark and Arrow; install them with: pip install 'kseeds[spark]'",
        name=error.name,
    ) from None

__all__ = ["assign", "kmeans_parallel", "kmeans_plusplus"]


def kmeans_plusplus(
    frame: Any,
    n_clusters: int,
    *,
    features: str | list[str] = "features",
    weight: str | None = None,
    metric: str = "euclidean",
    initial_centers: Any = None,
    random_state: Any = None,
    cache: bool = True,
    progress: Any = False,
) -> ClusterSeeding:
    """Draw the starting centres of k-means by k-means++, exactly, in few rounds.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The data, in any partitions. Its order must not change from one reading to the next.
    n_clusters : int
        How many seeds to draw.
    features : str or list of str, default "features"
        A column of arrays or of ``pyspark.ml`` vectors, or a list of numeric columns.
    weight : str, optional
        A column of non-negative weights.
    metric : {"euclidean", "manhattan", "chebyshev", "angular", "haversine"}
        As for `kseeds.kmeans_plusplus`.
    initial_centers : array-like, shape (m, d), optional
        Centres that exist already.
    random_state : int, Generator, RandomState, SeedSequence or None
        Same state and same order of rows, same seeds: however the rows are partitioned.
    cache : bool, default True
        Keep the rows with the executors between rounds, on disk where memory is short. False
        reads them again in every round.
    progress : bool or callable, default False
        True shows a bar on stderr; a function is called with (done, total).

    Returns
    -------
    ClusterSeeding
        Unpacks as ``centers, indices``; ``work`` counts rounds and bytes.

    Examples
    --------
    >>> import kseeds.spark
    >>> frame = spark.range(100)  # doctest: +SKIP
    >>> kseeds.spark.kmeans_plusplus(frame, 5, features=["id"]).centers.shape  # doctest: +SKIP
    (5, 1)
    """
    columns = _checked(frame, features, weight)
    return seed(
        lambda: _engine.running(frame, columns, weight, cache), n_clusters,
        metric=metric, initial_centers=initial_centers, random_state=random_state,
        progress=progress,
    )  # fmt: skip


def kmeans_parallel(
    frame: Any,
    n_clusters: int,
    *,
    features: str | list[str] = "features",
    oversampling: float = 2.0,
    rounds: int = 5,
    weight: str | None = None,
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
    frame : pyspark.sql.DataFrame
        The data, as for `kmeans_plusplus`.
    n_clusters : int
        How many seeds to draw.
    features : str or list of str, default "features"
        A column of arrays or of ``pyspark.ml`` vectors, or a list of numeric columns.
    oversampling : float, default 2.0
        Expected candidates of a round, as a multiple of ``n_clusters``.
    rounds : int, default 5
        Rounds of drawing candidates.
    weight, metric, initial_centers, random_state, cache, progress
        As for `kmeans_plusplus`.

    Returns
    -------
    ClusterSeeding
        Unpacks as ``centers, indices``; ``work`` counts rounds and bytes.
    """
    schedule = check_schedule(oversampling, rounds)
    columns = _checked(frame, features, weight)
    return seed(
        lambda: _engine.running(frame, columns, weight, cache), n_clusters,
        metric=metric, initial_centers=initial_centers, random_state=random_state,
        progress=progress, schedule=schedule,
    )  # fmt: skip


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
        The centres, at least one.
    features : str or list of str, default "features"
        A column of arrays or of ``pyspark.ml`` vectors, or a list of numeric columns.
    metric : {"euclidean", "manhattan", "chebyshev", "angular", "haversine"}
        As for `kseeds.assign`.
    label, distance : str
        The names of the new columns.

    Returns
    -------
    pyspark.sql.DataFrame
        ``frame`` with two more columns: the number of the nearest centre, the earliest of
        several, and its distance.
    """
    from pyspark.sql import functions
    from pyspark.sql.pandas.functions import pandas_udf

    name = check_metric_name(metric)
    columns = _checked(frame, features, None)
    known = np.asarray(centers, dtype=np.float64)

    def nearest(rows: Any) -> Any:
        import pandas

        from kseeds.assignment import assign as assign_rows

        if len(rows) == 0:
            return pandas.DataFrame({label: [], distance: []})
        found = assign_rows(np.stack(rows.to_numpy()), known, metric=name, n_threads=1)
        return pandas.DataFrame({label: found.labels, distance: found.distances})

    nearest.__annotations__ = {}  # Spark would read a meaning into them
    add: Any = pandas_udf(nearest, f"{label} int, {distance} double")  # type: ignore[call-overload,unused-ignore]
    array = (
        columns
        if not isinstance(columns, list)
        else functions.array(*columns).cast("array<double>")
    )
    added = frame.withColumn("__kseeds", add(array))
    return added.select(*frame.columns, f"__kseeds.{label}", f"__kseeds.{distance}")


def _checked(frame: Any, features: Any, weight: Any) -> Any:
    if type(frame).__module__.partition(".")[0] != "pyspark":
        raise TypeError(
            f"frame is a {type(frame).__name__}; pass a Spark DataFrame, or use "
            "kseeds.kmeans_plusplus for data in memory."
        )
    if weight is not None and weight not in frame.columns:
        raise ValueError(
            f"weight={weight!r} is not in the frame, which has {', '.join(frame.columns)}; name "
            "one of its columns."
        )
    return _engine.features_of(frame, features)
