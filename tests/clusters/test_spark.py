"""Spark: kinds of columns, partitions, a cluster of two workers, dying tasks, bad data."""

from __future__ import annotations

import os
import shutil
import sys

import numpy as np
import pytest

import kseeds
from tests.clusters import common
from tests.clusters.common import K, dying_at_catch_up, whole_numbers

pyspark = pytest.importorskip("pyspark")
if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
    pytest.skip("Spark needs a Java runtime", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore")  # Spark's own, about pandas and sockets


def session(master):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    return (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.executorEnv.NUMBA_CACHE_DIR", os.environ["NUMBA_CACHE_DIR"])
        .getOrCreate()
    )


@pytest.fixture(scope="module")
def spark():
    running = session("local[*]")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def expected():
    X, weights = whole_numbers()
    return (
        kseeds.kmeans_plusplus(
            X, K, sample_weight=weights, random_state=5, algorithm="rounds"
        ).indices.tolist(),
        kseeds.kmeans_parallel(X, K, sample_weight=weights, random_state=5).indices.tolist(),
    )


def frame_of(spark, partitions):
    X, weights = whole_numbers()
    rows = [(*map(float, x), float(w)) for x, w in zip(X, weights, strict=True)]
    context = spark.sparkContext
    return context.parallelize(rows, partitions).toDF(["a", "b", "c", "w"])


def seeds_of(frame, **options):
    import kseeds.spark

    return tuple(
        function(frame, K, weight="w", random_state=5, **options).indices.tolist()
        for function in (kseeds.spark.kmeans_plusplus, kseeds.spark.kmeans_parallel)
    )


@pytest.mark.parametrize(("partitions", "cache"), [(1, True), (3, False), (17, True)])
def test_partitions_change_nothing(spark, expected, partitions, cache):
    frame = frame_of(spark, partitions)
    assert seeds_of(frame, features=["a", "b", "c"], cache=cache) == expected


def test_arrays_vectors_and_empty_partitions(spark, expected):
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import functions

    import kseeds.spark

    frame = frame_of(spark, 2)
    assembler = VectorAssembler(inputCols=["a", "b", "c"], outputCol="features")
    vectors = assembler.transform(frame.filter("a > 1e6").union(frame))
    assert vectors.rdd.getNumPartitions() == 4
    arrays = frame.select(functions.array("a", "b", "c").alias("features"), "w")
    X, _ = whole_numbers()
    for kind in (vectors, arrays):
        found = kseeds.spark.kmeans_plusplus(kind, K, weight="w", random_state=5)
        assert found.indices.tolist() == expected[0]
        np.testing.assert_array_equal(found.centers, X[found.indices])
        labelled = kseeds.spark.assign(kind, found.centers).collect()
        known = kseeds.assign(X, found.centers)
        assert [row.label for row in labelled] == known.labels.tolist()
        np.testing.assert_allclose([row.distance for row in labelled], known.distances)


def test_parquet_directory(spark, expected, tmp_path):

    path = str(tmp_path / "rows")
    frame_of(spark, 2).coalesce(1).write.parquet(path)
    read = spark.read.parquet(path)
    assert seeds_of(read, features=["a", "b", "c"]) == expected


def test_clear_errors(spark):
    from pyspark.sql import functions

    import kseeds.spark

    frame = frame_of(spark, 3)
    seed = kseeds.spark.kmeans_plusplus
    with pytest.raises(TypeError, match="frame is a list; pass a Spark DataFrame"):
        seed([1], 3)
    with pytest.raises(ValueError, match="features='features' is not in the frame"):
        seed(frame, 3)
    with pytest.raises(ValueError, match="weight='v' is not in the frame"):
        seed(frame, 3, features=["a"], weight="v")
    with pytest.raises(TypeError, match="column 'a' of type string"):
        seed(frame.withColumn("a", functions.col("a").cast("string")), 3, features=["a", "b"])
    with pytest.raises(ValueError, match="n_clusters=4000 is more than the 3000 rows"):
        seed(frame, 4000, features=["a"])
    broken = frame.withColumn(
        "a", functions.when(functions.col("b") > 100, None).otherwise(functions.col("a"))
    )
    with pytest.raises(ValueError, match=r"partition \d cannot be used: X has a null at row"):
        seed(broken, 3, features=["a", "b"])
    ragged = frame.select(
        functions.when(functions.col("a") > 0, functions.array("a")).otherwise(
            functions.array("a", "b")
        )
    )
    with pytest.raises(ValueError, match="rows of different lengths"):
        seed(ragged.toDF("features"), 3)


def test_seeds_start_mllib(spark):
    from pyspark.mllib.clustering import KMeans, KMeansModel

    import kseeds.spark

    X, _ = whole_numbers()
    centers, _ = kseeds.spark.kmeans_parallel(
        frame_of(spark, 2), 5, features=["a", "b", "c"], random_state=0
    )
    model = KMeans.train(
        spark.sparkContext.parallelize(X.tolist(), 2), 5, maxIterations=3,
        initialModel=KMeansModel(list(centers)),
    )  # fmt: skip
    assert len(model.clusterCenters) == 5


def test_two_workers_and_a_task_that_dies(spark, expected, monkeypatch, tmp_path):
    """On a cluster of two executors; the process of a task is lost in the middle of a round."""
    from pyspark import cloudpickle

    import kseeds.spark
    from kseeds.engines.spark import SparkEngine

    # The executors cannot import the tests.
    cloudpickle.register_pickle_by_value(common)
    spark.stop()
    cluster = session("local-cluster[2,1,1024]")
    run, marker = SparkEngine.run, str(tmp_path / "died")

    monkeypatch.setattr(SparkEngine, "run", dying_at_catch_up(run, marker))
    try:
        found = kseeds.spark.kmeans_parallel(
            frame_of(cluster, 4), K, features=["a", "b", "c"], weight="w", random_state=5
        )
        assert found.indices.tolist() == expected[1]
        assert os.path.exists(marker)
    finally:
        cluster.stop()
