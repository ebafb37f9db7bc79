"""Seeding of Spark DataFrames, where their partitions are.

Needs ``pip install 'kseeds[spark]'``, a Java runtime, and kseeds itself on every executor.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kseeds.distributed.centers import check_centers
from kseeds.distributed.preflight import missing
from kseeds.distributed.seeding import check_metric_name, check_schedule, seed
from kseeds.results import ClusterSeeding

try:
    from kseeds.distributed import spark_backend as _engine
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

__all__ = ["assign", "kmeans_parallel", "kmeans_plusplus"]


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
    sample_weight : str, optional
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
    chosen = features_of(_checked(frame), features)
    weights = weights_of(frame, sample_weight)
    return seed(
        lambda: _engine.running(frame, chosen, weights, cache), n_clusters,
        metric=metric, initial_centers=initial_centers, random_state=random_state,
        progress=progress, columns=chosen.width, dtype=chosen.dtype,
    )  # fmt: skip


def kmeans_parallel(
    frame: Any,
    n_clusters: int,
    *,
    features: str | list[str] = "features",
    oversampling: float = 2.0,
    rounds: int = 5,
    sample_weight: str | None = None,
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
    sample_weight, metric, initial_centers, random_state, cache, progress
        As for `kmeans_plusplus`.

    Returns
    -------
    ClusterSeeding
        Unpacks as ``centers, indices``; ``work`` counts rounds and bytes.
    """
    schedule = check_schedule(oversampling, rounds)
    chosen = features_of(_checked(frame), features)
    weights = weights_of(frame, sample_weight)
    return seed(
        lambda: _engine.running(frame, chosen, weights, cache), n_clusters,
        metric=metric, initial_centers=initial_centers, random_state=random_state,
        progress=progress, schedule=schedule, columns=chosen.width, dtype=chosen.dtype,
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
        The centres, at least one; checked here, not when the frame is computed.
    features : str or list of str, default "features"
        A column of arrays or of ``pyspark.ml`` vectors, or a list of numeric columns.
    metric : {"euclidean", "manhattan", "chebyshev", "angular", "haversine"}
        As for `kseeds.assign`.
    label, distance : str
        The names of the new columns, which the frame must not have yet.

    Returns
    -------
    pyspark.sql.DataFrame
        ``frame`` with two more columns: the number of the nearest centre, the earliest of
        several, and its distance.
    """
    from pyspark.sql import functions
    from pyspark.sql.pandas.functions import pandas_udf

    name = check_metric_name(metric)
    chosen = features_of(_checked(frame), features)
    check_new_names(frame, label, distance)
    # A list of columns becomes an array of doubles, whatever they were.
    precision = chosen.dtype if chosen.as_array else np.dtype(np.float64)
    known = check_centers(centers, "centers", name, chosen.width, precision)
    _engine.check_executors(frame)
    absent = str(missing(_engine.ONE, _engine.ALL, "%s"))

    def nearest(rows: Any) -> Any:
        import pandas

        try:
            from kseeds.distributed.assign_block import assign_block
        except ImportError as error:
            raise RuntimeError(absent % error) from None
        if len(rows) == 0:
            return pandas.DataFrame({"label": [], "distance": []})
        if rows.isna().any():
            raise ValueError("X has a null for a row; drop or fill such rows first.")
        if len({len(row) for row in rows}) > 1:
            raise ValueError(
                "X has rows of different lengths; give every row the same number of columns."
            )
        labels, distances = assign_block(np.stack(rows.to_numpy()), known, name)
        return pandas.DataFrame({"label": labels, "distance": distances})

    nearest.__annotations__ = {}  # Spark would read a meaning into them
    add: Any = pandas_udf(nearest, "label int, distance double")  # type: ignore[call-overload,unused-ignore]
    array = (
        chosen.columns[0]
        if chosen.as_array
        else functions.array(*chosen.columns).cast("array<double>")
    )
    both = "__kseeds"
    while both in frame.columns:
        both += "_"
    # One column after the other, as the frame may have several of one name.
    return (
        frame.withColumn(both, add(array))
        .withColumn(label, column_of(both).getField("label"))
        .withColumn(distance, column_of(both).getField("distance"))
        .drop(both)
    )


def _checked(frame: Any) -> Any:
    module = type(frame).__module__
    if module.partition(".")[0] != "pyspark":
        raise TypeError(
            f"frame is a {type(frame).__name__}; pass a Spark DataFrame, or use "
            "kseeds.kmeans_plusplus for data in memory."
        )
    if ".connect." in module:
        raise TypeError(
            "frame belongs to Spark Connect, which gives no access to partitions; use a classic "
            "Spark session, or write the frame to Parquet and use kseeds.dask."
        )
    return frame
