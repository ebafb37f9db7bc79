"""Seeding on Dask and Spark against dask-ml and MLlib: python -m benchmarks.clusters COMMAND.

dask   k-means|| and k-means++ on two workers, against dask-ml's k-means||
spark  the same on local[2], against MLlib's (which is timed as the fit of one iteration with
       its k-means||, less the fit of one iteration from random rows)
bytes  what travels, counted, for growing n
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import kseeds
from benchmarks import data

PARTITIONS = 8


def best(task: Callable[[], object], repeats: int) -> tuple[float, object]:
    """Return the least seconds of several calls, and the last result."""
    least, result = np.inf, None
    for _ in range(repeats):
        start = time.perf_counter()
        result = task()
        least = min(least, time.perf_counter() - start)
    return least, result


def show(name: str, k: int, seconds: float, X: np.ndarray, centers: object, work: str) -> None:
    """Print a line: time, seed cost, what travelled."""
    cost = kseeds.assign(X, np.asarray(centers, dtype=X.dtype)).potential
    print(f"{name:20s} K={k:4d}: {seconds:.3g} s, seed cost {cost:.5g}{work}", flush=True)


def travelled(found: kseeds.ClusterSeeding) -> str:
    """Say what a seeding sent."""
    work = found.work
    return (
        f", {work.communications} communications, {work.bytes_out} bytes out, "
        f"{work.bytes_back} bytes back"
    )


def on_dask(X: np.ndarray, ks: list[int], repeats: int) -> None:
    """Compare with dask-ml on a local cluster of two workers."""
    import dask.array as da
    from dask.distributed import Client, LocalCluster
    from dask_ml.cluster.k_means import init_scalable

    import kseeds.dask

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        chunked = da.from_array(X, chunks=(-(-len(X) // PARTITIONS), X.shape[1])).persist()
        chunked.sum().compute()
        kseeds.dask.kmeans_parallel(chunked, 8)  # loads the kernels in the workers
        for k in ks:
            for name in ("kmeans_parallel", "kmeans_plusplus"):
                function = getattr(kseeds.dask, name)
                seconds, found = best(
                    lambda f=function, k=k: f(chunked, k, random_state=0), repeats
                )
                show(f"kseeds {name}", k, seconds, X, found.centers, travelled(found))
            seconds, centers = best(
                lambda k=k: init_scalable(
                    chunked, k, random_state=da.random.RandomState(0), oversampling_factor=2
                ),
                1,
            )
            show("dask-ml k-means||", k, seconds, X, centers, "")


def on_spark(X: np.ndarray, ks: list[int], repeats: int) -> None:
    """Compare with MLlib in one JVM with two cores."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    import pandas as pd
    from pyspark.ml.clustering import KMeans
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import SparkSession

    import kseeds.spark

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "6g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    names = [f"x{j}" for j in range(X.shape[1])]
    frame = spark.createDataFrame(pd.DataFrame(X.astype(float), columns=names))
    frame = frame.repartition(PARTITIONS // 2).cache()
    vectors = VectorAssembler(inputCols=names, outputCol="features").transform(frame)
    vectors = vectors.select("features").cache()
    vectors.count()
    kseeds.spark.kmeans_parallel(frame, 8, features=names)
    for k in ks:
        for name in ("kmeans_parallel", "kmeans_plusplus"):
            function = getattr(kseeds.spark, name)
            seconds, found = best(
                lambda f=function, k=k: f(frame, k, features=names, random_state=0), repeats
            )
            show(f"kseeds {name}", k, seconds, X, found.centers, travelled(found))
        times = {}
        for mode in ("k-means||", "random"):
            method = KMeans(k=k, initMode=mode, initSteps=5, maxIter=1, seed=1)
            times[mode], _ = best(lambda m=method: m.fit(vectors), repeats)
        seconds = times["k-means||"] - times["random"]
        print(f"MLlib k-means||      K={k:4d}: {seconds:.3g} s", flush=True)
    spark.stop()


def count_bytes(k: int) -> None:
    """Print what travels as n grows; the formulas of docs/clusters.md."""
    from kseeds.distributed import driver as rounds
    from kseeds.distributed.local_backend import LocalEngine
    from kseeds.distributed.partition import Part
    from kseeds.methods.parallel.schedule import Schedule
    from kseeds.sampling.streams import Stream

    for n in (10_000, 100_000, 1_000_000):
        X = data.clustered(n, 16, 500)
        parts = [Part.of(p, block) for p, block in enumerate(np.array_split(X, PARTITIONS))]
        request = rounds.Request(k, "euclidean", None, Stream.from_random_state(0))
        found = {
            "k-means||": rounds.kmeans_parallel(
                rounds.Driver(LocalEngine(parts), request), Schedule(2.0, 5)
            ),
            "k-means++": rounds.kmeans_plusplus(rounds.Driver(LocalEngine(parts), request)),
        }
        for name, seeds in found.items():
            work = seeds.work
            print(
                f"{name} n={n} d=16 K={k}: {work.communications} communications, "
                f"{work.bytes_out} bytes out, {work.bytes_back} bytes back",
                flush=True,
            )


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("command", choices=["dask", "spark", "bytes"])
    parser.add_argument("--data", type=Path, help="folder of .npz files with the key X")
    parser.add_argument("--set", default="sensor")
    parser.add_argument("--k", nargs="*", type=int, default=[64, 256])
    parser.add_argument("--repeats", type=int, default=3)
    words = parser.parse_args()
    warnings.simplefilter("ignore")
    if words.command == "bytes":
        count_bytes(words.k[-1])
        return
    if words.data is None:
        parser.error(f"{words.command} needs --data")
    X = data.load(words.data, words.set)
    (on_dask if words.command == "dask" else on_spark)(X, words.k, words.repeats)


if __name__ == "__main__":
    main()
