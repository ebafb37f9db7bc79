"""Spark: kinds of columns, partitions, a cluster of two workers, dying tasks, bad data."""

from __future__ import annotations

import os
import shutil
import signal
import sys

import numpy as np
import pytest

import kseeds
from tests.clusters import common
from tests.clusters.common import K, dying_at_catch_up, whole_numbers
from tests.clusters.spark_cases import ASSIGNING, EVERYWHERE, HIDING, SEEDING, odd_frame

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
        function(frame, K, sample_weight="w", random_state=5, **options).indices.tolist()
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
        found = kseeds.spark.kmeans_plusplus(kind, K, sample_weight="w", random_state=5)
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


def one_sentence(caught):
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(".")
    assert caught.value.__cause__ is None
    return text


@pytest.fixture
def no_jobs(spark):
    """Fail the test if Spark was asked to do anything."""
    tracker = spark.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup(None))
    yield
    assert set(tracker.getJobIdsForGroup(None)) == before


def test_columns_are_checked_before_any_job(spark, no_jobs):
    import kseeds.spark

    frame = odd_frame(spark)
    plusplus, parallel = kseeds.spark.kmeans_plusplus, kseeds.spark.kmeans_parallel
    cases = [(plusplus, *case) for case in EVERYWHERE + SEEDING]
    cases += [(parallel, *case) for case in EVERYWHERE[:1] + SEEDING[:1]]
    cases += [(kseeds.spark.assign, *case) for case in EVERYWHERE + ASSIGNING]
    for function, options, message in cases:
        second = [[0.0]] if function is kseeds.spark.assign else 2
        if "features" not in options and not message.startswith("features="):
            options = {"features": ["a"], **options}
        if function is kseeds.spark.assign and not message.startswith("label"):
            options = {"label": "l", **options}
        second = options.pop("centers", second)
        with pytest.raises((TypeError, ValueError)) as caught:
            function(frame, second, **options)
        assert one_sentence(caught).startswith(message), caught.value


def test_other_frames_are_refused(no_jobs):
    import kseeds.spark

    connect = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})()
    for frame, message in [
        ([1], "frame is a list; pass a Spark DataFrame"),
        (connect, "frame belongs to Spark Connect, "),
    ]:
        with pytest.raises(TypeError) as caught:
            kseeds.spark.kmeans_plusplus(frame, 3)
        assert one_sentence(caught).startswith(message)


def test_odd_names_and_decimals(spark):
    """Names with dots, blanks and backticks; decimals; other columns of one name."""
    from pyspark.sql import functions

    import kseeds.spark

    frame = spark.range(40).select(
        functions.col("id").cast("decimal(10,2)").alias("a.b"),
        functions.col("id").cast("short").alias("c `d`"),
        functions.array(functions.col("id").cast("decimal(10,2)")).alias("many"),
        functions.lit(1.0).alias("w.w"),
        functions.lit(0).alias("twice"),
        functions.lit(0).alias("twice"),
    )
    X = np.arange(40.0)[:, None].repeat(2, axis=1)
    expected = kseeds.kmeans_plusplus(X, 5, random_state=0, algorithm="rounds")
    names = ["a.b", "c `d`"]
    found = kseeds.spark.kmeans_plusplus(
        frame, 5, features=names, sample_weight="w.w", random_state=0
    )
    assert found.indices.tolist() == expected.indices.tolist()
    added = kseeds.spark.assign(
        frame, found.centers, features=names, label="the label", distance="d.d"
    )
    assert added.columns == [*frame.columns, "the label", "d.d"]
    rows = added.collect()
    assert [row[-2] for row in rows] == expected.labels.tolist()
    np.testing.assert_array_equal([row[-1] for row in rows], expected.distances)
    single = kseeds.spark.kmeans_plusplus(frame, 5, features="many", random_state=0)
    assert single.centers.shape == (5, 1)


def test_bad_rows_are_named(spark):
    from pyspark.sql import functions

    import kseeds.spark

    frame = frame_of(spark, 3)
    seed = kseeds.spark.kmeans_plusplus
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
    for rows, message in [
        (ragged.toDF("features"), "X has rows of different lengths"),
        (broken.select(functions.array("a", "b").alias("features")), "X has nan in"),
    ]:
        with pytest.raises(Exception, match=message):
            kseeds.spark.assign(rows, [[0.0, 0.0]]).collect()


def test_an_interrupt_leaves_nothing_behind(spark):
    import kseeds.spark

    kept = spark.sparkContext._jsc.getPersistentRDDs
    seen = []

    def interrupt(*step):
        seen.append(step)
        if len(seen) == 4:
            raise KeyboardInterrupt

    frame = frame_of(spark, 2)
    before = len(kept())
    with pytest.raises(KeyboardInterrupt):
        kseeds.spark.kmeans_parallel(frame, K, features=["a", "b"], progress=interrupt)
    assert len(kept()) == before


def test_a_failing_job_leaves_nothing_behind(spark, monkeypatch):
    import kseeds.spark
    from kseeds.distributed import spark_backend as engine

    def fail(_):
        raise KeyboardInterrupt

    kept = spark.sparkContext._jsc.getPersistentRDDs
    frame = frame_of(spark, 2)
    before = len(kept())
    run = engine.SparkEngine.run

    def interrupted(self, task, message, keep):
        if keep:
            monkeypatch.setattr(engine, "_collect", fail)
        return run(self, task, message, keep)

    monkeypatch.setattr(engine.SparkEngine, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kseeds.spark.kmeans_plusplus(frame, K, features=["a", "b"])
    assert len(kept()) == before


@pytest.fixture
def without_kseeds(spark, tmp_path, monkeypatch):
    """Let the Python of the executors be one that cannot import kseeds."""
    (tmp_path / "sitecustomize.py").write_text(HIDING)
    python = tmp_path / "python"
    path = f"{tmp_path}:$PYTHONPATH"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{path}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))


@pytest.mark.parametrize("call", ["kmeans_plusplus", "kmeans_parallel", "assign"])
@pytest.mark.parametrize("preflight", [True, False])
def test_executors_without_kseeds(spark, without_kseeds, call, preflight, monkeypatch):
    """By the preflight; or, where that met other executors, by the job itself."""
    import kseeds.spark

    if not preflight:
        monkeypatch.setattr("kseeds.distributed.spark_backend.check_executors", lambda frame: None)
    frame = spark.range(10)
    second = [[0.0]] if call == "assign" else 3

    def use():
        return getattr(kseeds.spark, call)(frame, second, features=["id"]).collect()

    with pytest.raises(Exception) as caught:  # noqa: PT011
        use()
    text = str(caught.value)
    start = "kseeds cannot be imported on a Spark executor (No module named 'kseeds'); install it"
    if call == "assign" and not preflight:  # Spark raises, later, and adds where
        assert start in text
    else:
        assert type(caught.value) is RuntimeError
        assert one_sentence(caught).startswith(start)


def test_executors_of_another_version(spark, monkeypatch):
    import kseeds.spark

    monkeypatch.setattr(kseeds, "__version__", "9.9.9")
    with pytest.raises(RuntimeError, match=r"but 9\.9\.9 here; install the same") as caught:
        kseeds.spark.kmeans_plusplus(spark.range(10), 3, features=["id"])
    one_sentence(caught)


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


@pytest.fixture(scope="module")
def cluster(spark):
    """Two executors of their own; what uses them comes last, as Spark runs once a process."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(common)  # the executors cannot import the tests
    spark.stop()
    running = session("local-cluster[2,1,1024]")
    yield running
    running.stop()


def test_two_workers_and_a_task_that_dies(cluster, expected, monkeypatch, tmp_path):
    """The process of a task is lost in the middle of a round."""
    import kseeds.spark
    from kseeds.distributed.spark_backend import SparkEngine

    run, marker = SparkEngine.run, str(tmp_path / "died")
    monkeypatch.setattr(SparkEngine, "run", dying_at_catch_up(run, marker))
    found = kseeds.spark.kmeans_parallel(
        frame_of(cluster, 4), K, features=["a", "b", "c"], sample_weight="w", random_state=5
    )
    assert found.indices.tolist() == expected[1]
    assert os.path.exists(marker)


def test_an_executor_that_is_lost_between_rounds(cluster, expected, monkeypatch):
    """With it go the rows and the states that it kept."""
    import kseeds.spark
    from kseeds.distributed.spark_backend import SparkEngine

    run, killed = SparkEngine.run, []

    def run_and_kill(self, task, message, keep):
        replies = run(self, task, message, keep)
        if task.__name__ == "catch_up" and not killed:
            places = cluster.sparkContext.parallelize(range(4), 4)
            killed.append(places.map(lambda _: common.executor_of_this_task()).first())
            os.kill(killed[0], signal.SIGKILL)
        return replies

    monkeypatch.setattr(SparkEngine, "run", run_and_kill)
    found = kseeds.spark.kmeans_plusplus(
        frame_of(cluster, 4), K, features=["a", "b", "c"], sample_weight="w", random_state=5
    )
    assert found.indices.tolist() == expected[0]
    assert len(killed) == 1
