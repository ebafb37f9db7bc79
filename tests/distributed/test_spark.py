"""Spark: kinds of columns, partitions, a cluster of two workers, dying tasks, bad data."""

from __future__ import annotations

import os
import shutil
import signal

import numpy as np
import pytest

import kseeds
from tests.distributed import common, spark_kmeans
from tests.distributed.common import K, dying_at_update, one_sentence, whole_numbers
from tests.distributed.spark_cases import (
    ASSIGNING,
    BAD_ROWS,
    EVERYWHERE,
    SEEDING,
    bad_rows,
    frame_of,
    instead_of_what_runs,
    odd_frame,
    python_without_kseeds,
    session,
)
from tests.harness.profiles import sizes

pyspark = pytest.importorskip("pyspark")
if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
    pytest.skip("Spark needs a Java runtime", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore")  # Spark's own, about pandas and sockets


@pytest.fixture(scope="module")
def spark():
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(common)  # the executors cannot import the tests
    running = session("local[*]")  # a task that fails is not tried again, with a new Python
    yield running
    running.stop()


@pytest.fixture(scope="module")
def expected():
    X, weights = whole_numbers()
    same = {"sample_weight": weights, "random_state": 5}
    return (
        kseeds.kmeans_plusplus(X, K, algorithm="rounds", **same).indices.tolist(),
        kseeds.kmeans_parallel(X, K, **same).indices.tolist(),
    )


def seeds_of(frame, **options):
    import kseeds.spark

    return tuple(
        function(frame, K, sample_weight="w", random_state=5, **options).indices.tolist()
        for function in (kseeds.spark.kmeans_plusplus, kseeds.spark.kmeans_parallel)
    )


@sizes("cuts", [(3, False)], [(1, True), (3, False), (7, True)])
def test_partitions_change_no_seed(spark, expected, cuts):
    """One partition that is cached is in a test of files, and more are in others."""
    for partitions, cache in cuts:
        frame = frame_of(spark, partitions)
        assert seeds_of(frame, features=["a", "b", "c"], cache=cache) == expected


def test_the_reduction_may_be_greedy(spark):
    import kseeds.spark

    X, weights = whole_numbers()
    same = {"random_state": 5, "reduction": "greedy"}
    wanted = kseeds.kmeans_parallel(X, K, sample_weight=weights, **same)
    found = kseeds.spark.kmeans_parallel(
        frame_of(spark, 3), K, features=["a", "b", "c"], sample_weight="w", **same
    )
    assert found.indices.tolist() == wanted.indices.tolist()


def test_arrays_vectors_and_empty_partitions_change_no_seed(spark, expected):
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


def test_a_parquet_directory_gives_the_seeds_of_rows(spark, expected, tmp_path):

    path = str(tmp_path / "rows")
    frame_of(spark, 2).coalesce(1).write.parquet(path)
    read = spark.read.parquet(path)
    assert seeds_of(read, features=["a", "b", "c"]) == expected


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
        ([1], "frame is a list; pass a Spark DataFrame, or use kseeds.kmeans for data"),
        (connect, "frame belongs to Spark Connect, "),
    ]:
        with pytest.raises(TypeError) as caught:
            kseeds.spark.kmeans(frame, 3)
        assert one_sentence(caught).startswith(message)


def test_odd_names_and_decimals_are_read(spark):
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
    pattern = (
        r"^3 partitions cannot be used, first partition 0: X has nan in \d+ rows, first at row "
        r"\d+, column 'a'; drop or fill such rows first\.$"
    )
    with pytest.raises(ValueError, match=pattern):
        seed(broken, 3, features=["a", "b"])


@pytest.mark.parametrize(("features", "message"), BAD_ROWS)
def test_bad_rows_are_refused_in_one_sentence(spark, features, message):
    import kseeds.spark

    with pytest.raises(ValueError, match="cannot be used") as caught:
        kseeds.spark.kmeans_plusplus(bad_rows(spark), 1, features=features)
    assert one_sentence(caught) == f"partition 0 cannot be used: {message}"


@pytest.mark.parametrize(
    ("features", "message"),
    [*BAD_ROWS[::4], *(pytest.param(*each, marks=pytest.mark.long) for each in BAD_ROWS)],
)
def test_bad_rows_are_refused_when_labels_are_computed(spark, features, message, monkeypatch):
    """In the same words, which the test above has of all bad rows."""
    import kseeds.spark

    frame, width = bad_rows(spark), 1 if message.startswith("X is empty") else 2
    ours = f"a batch of partition 0 cannot be used: {message}"

    def said(*columns):
        labelled = kseeds.spark.assign(frame, np.zeros((1, width)), features=features)
        with pytest.raises(Exception, match="cannot be used") as caught:  # a class of Spark's
            labelled.select(*columns).collect()
        return str(caught.value)

    for column in ("label", "distance"):
        assert said(column) == f"[USER_RAISED_EXCEPTION] {ours} SQLSTATE: P0001"
    monkeypatch.setattr("kseeds.distributed.spark_backend.SQL_ERRORS_ARE_SHORT", False)
    lines = said("*").splitlines()  # as before Spark 4
    assert lines[-1] == f"ValueError: {ours}"
    assert len(lines) < 10


def test_rows_of_another_width_than_the_centers_are_refused(spark):
    import kseeds.spark

    labelled = kseeds.spark.assign(bad_rows(spark), np.zeros((1, 3)), features="good")
    with pytest.raises(Exception, match=r"0 cannot be used: centers has 3 columns but") as caught:
        labelled.collect()
    assert "\n" not in str(caught.value)


def test_rows_travel_to_python_once(spark):
    import kseeds.spark

    labelled = kseeds.spark.assign(spark.range(9), [[0.0]], features=["id"])
    plan = labelled._jdf.queryExecution().executedPlan().toString()
    assert plan.count("EvalPython") == 1


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
    from kseeds.distributed import spark_backend as backend

    def fail(_):
        raise KeyboardInterrupt

    kept = spark.sparkContext._jsc.getPersistentRDDs
    frame = frame_of(spark, 2)
    before = len(kept())
    run = backend.SparkBackend.run

    def interrupted(self, task, message, keep):
        if keep:
            monkeypatch.setattr(backend, "_collect", fail)
        return run(self, task, message, keep)

    monkeypatch.setattr(backend.SparkBackend, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kseeds.spark.kmeans_plusplus(frame, K, features=["a", "b"])
    assert len(kept()) == before


@pytest.fixture(scope="module")
def blind_python(tmp_path_factory):
    """A Python that cannot import kseeds: one for all tests, as Spark starts anew for another."""
    return python_without_kseeds(tmp_path_factory.mktemp("blind"))


@pytest.fixture
def without_kseeds(spark, blind_python, monkeypatch):
    monkeypatch.setattr(spark.sparkContext, "pythonExec", blind_python)


@pytest.mark.parametrize("call", ["kmeans_plusplus", "kmeans_parallel", "assign"])
@pytest.mark.parametrize("preflight", [True, False])
def test_executors_without_kseeds_are_named(spark, without_kseeds, call, preflight, monkeypatch):
    """By the preflight; or, where that ran on other executors, by the job itself."""
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
    if call == "assign" and not preflight:  # Spark raises, later
        assert text.startswith(f"[USER_RAISED_EXCEPTION] {start}")
        assert "\n" not in text
    else:
        assert type(caught.value) is RuntimeError
        assert one_sentence(caught).startswith(start)


def test_executors_of_another_version_are_named(spark, monkeypatch):
    import kseeds.spark

    monkeypatch.setattr("kseeds.distributed.preflight.__version__", "9.9.9")
    with pytest.raises(RuntimeError, match=r"but 9\.9\.9 here; install the same") as caught:
        kseeds.spark.kmeans_plusplus(spark.range(10), 3, features=["id"])
    one_sentence(caught)


@pytest.mark.parametrize("check", spark_kmeans.CHECKS)
def test_kmeans(spark, check, monkeypatch):
    check(spark, monkeypatch)


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
def retrying(spark):
    """A task that fails is tried once more."""
    yield from instead_of_what_runs("local[*,2]")


@pytest.fixture(scope="module")
def cluster(spark):
    """Two executors of their own."""
    yield from instead_of_what_runs("local-cluster[2,1,1024]")


@pytest.mark.long
@pytest.mark.parametrize("where", ["retrying", "cluster"])
def test_a_task_that_dies_changes_no_seed(where, request, expected, monkeypatch, tmp_path):
    """The process of a task is lost in the middle of a round."""
    import kseeds.spark
    from kseeds.distributed.spark_backend import SparkBackend

    running = request.getfixturevalue(where)
    run, marker = SparkBackend.run, str(tmp_path / "died")
    monkeypatch.setattr(SparkBackend, "run", dying_at_update(run, marker))
    found = kseeds.spark.kmeans_parallel(
        frame_of(running, 4), K, features=["a", "b", "c"], sample_weight="w", random_state=5
    )
    assert found.indices.tolist() == expected[1]
    assert os.path.exists(marker)
    monkeypatch.setattr(SparkBackend, "run", run)
    spark_kmeans.dying(running, monkeypatch, str(tmp_path / "died again"))


@pytest.mark.long
def test_an_executor_lost_between_rounds_changes_no_seed(cluster, expected, monkeypatch):
    """With it go the rows and the states that it kept."""
    import kseeds.spark
    from kseeds.distributed.spark_backend import SparkBackend

    run, killed = SparkBackend.run, []

    def run_and_kill(self, task, message, keep):
        replies = run(self, task, message, keep)
        if task.__name__ == "update" and not killed:
            places = cluster.sparkContext.parallelize(range(4), 4)
            killed.append(places.map(lambda _: common.executor_of_this_task()).first())
            os.kill(killed[0], signal.SIGKILL)
        return replies

    monkeypatch.setattr(SparkBackend, "run", run_and_kill)
    found = kseeds.spark.kmeans_plusplus(
        frame_of(cluster, 4), K, features=["a", "b", "c"], sample_weight="w", random_state=5
    )
    assert found.indices.tolist() == expected[0]
    assert len(killed) == 1
