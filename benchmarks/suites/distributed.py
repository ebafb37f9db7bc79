"""Seeding on Dask beside dask-ml, on Spark beside MLlib, and the bytes that travel."""

from __future__ import annotations

import os
import sys
import warnings
from functools import partial
from typing import Any

import numpy as np

import kseeds
from benchmarks.charts import Table
from benchmarks.data import Rows, clustered, label, load
from benchmarks.internals import partitioned
from benchmarks.suites.base import Cell, Cells, Lines, Result, Run, Section, Suite
from benchmarks.timing import Task, interleaved

PARTITIONS = 8
COUNTED = ("communications", "bytes_out", "bytes_back")


def dask_cells(run: Run) -> Cells:
    """Compare with dask-ml on a local cluster of two workers."""
    import dask.array as da
    from dask.distributed import Client, LocalCluster
    from dask_ml.cluster.k_means import init_scalable

    import kseeds.dask

    warnings.simplefilter("ignore")
    X, about = load(*(run.sets or ("sensor",)), run.folder, run.rows)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        chunked = da.from_array(X, chunks=(-(-len(X) // PARTITIONS), X.shape[1])).persist()

        def theirs(k: int) -> Any:
            random = da.random.RandomState(0)
            return init_scalable(chunked, k, random_state=random, oversampling_factor=2)

        for k in run.counts([64], [64, 256]):
            tasks = _ours(kseeds.dask, k, chunked)
            tasks["dask-ml k-means||"] = lambda _, k=k: theirs(k)
            yield Cell({**about, "k": k}, partial(_measure, X, tasks))


def spark_cells(run: Run) -> Cells:
    """Compare with MLlib in one JVM with two cores.

    MLlib's seeding is timed as a fit of one iteration, less such a fit from random rows.
    """
    os.environ["PYSPARK_PYTHON"] = sys.executable
    import pandas as pd
    from pyspark.ml.clustering import KMeans
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import SparkSession

    import kseeds.spark

    warnings.simplefilter("ignore")
    X, about = load(*(run.sets or ("sensor",)), run.folder, run.rows)
    builder = SparkSession.builder.master("local[2]")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "6g",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    names = [f"x{j}" for j in range(X.shape[1])]
    frame = spark.createDataFrame(pd.DataFrame(X.astype(float), columns=names))
    frame = frame.repartition(PARTITIONS // 2).cache()
    vectors = VectorAssembler(inputCols=names, outputCol="features").transform(frame)
    vectors = vectors.select("features").cache()
    vectors.count()

    def fit(k: int, mode: str) -> Any:
        return KMeans(k=k, initMode=mode, initSteps=5, maxIter=1, seed=1).fit(vectors)

    def measure(k: int) -> Result:
        tasks = _ours(kseeds.spark, k, frame, features=names)
        for mode in ("k-means||", "random"):
            tasks[mode] = lambda _, mode=mode: fit(k, mode)
        result = _measure(X, tasks)
        fits = [result["best"].pop(mode) for mode in ("k-means||", "random")]
        result["best"]["MLlib k-means||"] = fits[0] - fits[1]
        return result

    try:
        for k in run.counts([64], [64, 256]):
            yield Cell({**about, "k": k}, partial(measure, k))
    finally:
        spark.stop()


def _ours(engine: Any, k: int, rows: Any, **options: Any) -> dict[str, Task]:
    names = ("kmeans_plusplus", "kmeans_parallel")
    return {
        f"kseeds {name}": lambda _, name=name: getattr(engine, name)(
            rows, k, random_state=0, **options
        )
        for name in names
    }


def _measure(X: Rows, tasks: dict[str, Task]) -> Result:
    found = interleaved(tasks)
    result: dict[str, Any] = {"best": found.best, "costs": {}, "counted": {}}
    for name, answers in found.answers.items():
        centers = getattr(answers[-1], "centers", answers[-1])
        if hasattr(answers[-1], "work"):
            result["counted"][name] = [getattr(answers[-1].work, what) for what in COUNTED]
        if hasattr(centers, "__array__"):  # MLlib does not expose its seeds
            centers = np.asarray(centers, dtype=X.dtype)
            result["costs"][name] = kseeds.assign(X, centers).potential
    return result


def traffic_cells(run: Run) -> Cells:
    """Count what travels as n grows; the formulas of the documentation."""
    k = run.ks[0] if run.ks else 256
    for n in [run.rows] if run.rows else run.either([10_000], [10_000, 100_000, 1_000_000]):
        yield Cell({"n": n, "d": 16, "k": k, "partitions": PARTITIONS}, partial(_count, n, k))


def _count(n: int, k: int) -> Result:
    found = partitioned(clustered(n, 16, 500), k, PARTITIONS)
    counted = {law: [getattr(f.work, what) for what in COUNTED] for law, f in found.items()}
    return {"counted": counted}


def sections(lines: Lines) -> list[Section]:
    """Show times and costs where there are some, and what travelled."""
    rows = []
    for line in lines:
        data = label(line) if "data" in line else f"synthetic, {line['n']} × {line['d']}"
        for name in line.get("best", line["counted"]):
            seconds = line["best"][name] if "best" in line else None
            cost = line.get("costs", {}).get(name)
            counted = line["counted"].get(name, [""] * len(COUNTED))
            rows.append([
                data, str(line["k"]), name, "" if seconds is None else f"{seconds:.2g}",
                "" if cost is None else f"{cost:.3g}", *map(str, counted),
            ])  # fmt: skip
    header = ["data", "K", "method", "s", "seed cost", "communications", "bytes out", "bytes back"]
    return [Section("In partitions", tables=[Table(header, rows)])]


DASK = Suite("Dask, two workers, beside dask-ml", dask_cells, sections)
SPARK = Suite("Spark, two cores, beside MLlib", spark_cells, sections)
TRAFFIC = Suite("bytes and communications in partitions, counted", traffic_cells, sections)
