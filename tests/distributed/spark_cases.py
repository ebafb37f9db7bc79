"""What is refused on Spark before any job: a frame of odd columns, options, and messages."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from tests.distributed.common import whole_numbers

EVERYWHERE = [
    ({}, "features='features' is not in the frame, which has a, b, s, "),
    ({"features": ["a", "z"]}, "features=['a', 'z'] has 'z', which is not in the frame"),
    ({"features": ["a", "s"]}, "features has column 's' of type string, "),
    ({"features": ["a", "nested"]}, "features has column 'nested' of type struct<"),
    ({"features": ["nested.id"]}, "features=['nested.id'] has 'nested.id', which is not in"),
    ({"features": "nested"}, "features='nested' is a column of struct<"),
    ({"features": "deep"}, "features='deep' is a column of array<array<"),
    ({"features": "words"}, "features='words' is a column of array<string>"),
    ({"features": "map"}, "features='map' is a column of map<"),
    ({"features": ["twice"]}, "features=['twice'] has 'twice', which is the name of 2 columns"),
    ({"features": []}, "features=[] names no column"),
    ({"features": None}, "features=None is not the name of a column"),
    ({"features": [1]}, "features=[1] is not the name of a column"),
]
SEEDING = [
    ({"sample_weight": "v"}, "sample_weight='v' is not in the frame, which has a, b, s"),
    ({"sample_weight": "s"}, "sample_weight='s' is a column of string"),
    ({"sample_weight": "twice"}, "sample_weight='twice' is the name of 2 columns"),
    ({"sample_weight": [1.0]}, "sample_weight=[1.0] is not the name of a column"),
    ({"initial_centers": [[1.0, 2.0]]}, "initial_centers has 2 columns but the data has 1"),
    ({"features": ["b"], "initial_centers": [[1e300]]}, "initial_centers has 1e+300 at row 0"),
]
ASSIGNING = [
    ({"centers": [[1.0, 2.0]]}, "centers has 2 columns but the data has 1"),
    ({"centers": [["x"]]}, "centers has dtype"),
    ({"centers": [[np.inf]]}, "centers has inf at row 0, column 0"),
    ({"centers": [1.0]}, "centers has 1 dimensions, not 2"),
    ({"centers": np.empty((0, 1))}, "centers is empty"),
    ({"features": "floats", "centers": [[1e300]]}, "centers has 1e+300 at row 0, column 0"),
    ({"label": "a"}, "label='a' is already a column of the frame"),
    ({"label": "label"}, "label='label' is already a column of the frame"),
    ({"label": "l", "distance": "s"}, "distance='s' is already a column of the frame"),
    ({"label": "same", "distance": "same"}, "label='same' and distance='same' are one name"),
    ({"label": 3}, "label=3 is not the name of a column"),
]
_FILL = "; drop or fill such rows first."
_ALIKE = "; give every row the same number of columns."
BAD_ROWS = [
    (["a", "b"], f"X has nan in 2 rows, first at row 2, column 'a'{_FILL}"),
    (["b", "c"], f"X has inf at row 1, column 'c'{_FILL}"),
    (["c", "a"], "X has nan or infinite values in 3 rows, first inf at row 1, column 'c'" + _FILL),
    (["i", "b"], f"X has nan in 2 rows, first at row 0, column 'i'{_FILL}"),
    ("holes", f"X has nan in 3 rows, first at row 0, column 'holes[1]'{_FILL}"),
    ("null", f"X has null in 2 rows, first at row 1, column 'null'{_FILL}"),
    ("vector", f"X has nan or infinite values in 3 rows, first nan at row 1, column "
     f"'vector[1]'{_FILL}"),
    ("ragged", "X has rows of different lengths (2 columns at row 0, others in 2 rows, first at "
     f"row 2){_ALIKE}"),
    ("empty", "X is empty (shape (4, 0)); pass at least one row and one column."),
]  # fmt: skip
"""Features of `bad_rows`, and what is wrong with them."""

_HIDING = """
import sys

class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "kseeds":
            raise ModuleNotFoundError("No module named 'kseeds'", name="kseeds")

sys.meta_path.insert(0, Hide())
"""


def session(master):
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    return (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        # A short life does not repay the second compiler of Java, nor its parallel collector.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.executorEnv.NUMBA_CACHE_DIR", os.environ["NUMBA_CACHE_DIR"])
        .config("spark.python.daemon.module", "spark_daemon")
        .config("spark.executorEnv.PYTHONPATH", str(Path(__file__).parent))
        .getOrCreate()
    )


def instead_of_what_runs(master):
    """Yield another session; what uses it comes last, as Spark runs once a process."""
    from pyspark.sql import SparkSession

    SparkSession.getActiveSession().stop()
    running = session(master)
    yield running
    running.stop()


def frame_of(spark, partitions):
    X, weights = whole_numbers()
    rows = [(*map(float, x), float(w)) for x, w in zip(X, weights, strict=True)]
    context = spark.sparkContext
    return context.parallelize(rows, partitions).toDF(["a", "b", "c", "w"])


def odd_frame(spark):
    from pyspark.sql import functions

    frame = spark.range(3).select(
        functions.col("id").cast("double").alias("a"),
        functions.col("id").cast("float").alias("b"),
        functions.col("id").cast("string").alias("s"),
        functions.struct("id").alias("nested"),
        functions.array("id").alias("longs"),
        functions.array(functions.array("id")).alias("deep"),
        functions.array(functions.col("id").cast("string")).alias("words"),
        functions.map_from_arrays(functions.array("id"), functions.array("id")).alias("map"),
        functions.col("id").alias("twice"),
        functions.col("id").alias("twice"),
        functions.col("id").alias("Label"),
        functions.array(functions.col("id").cast("float")).alias("floats"),
    )
    return frame


def bad_rows(spark):
    """Return four rows in one partition, each column with something else wrong."""
    from pyspark.ml.functions import array_to_vector

    nan, inf = float("nan"), float("inf")
    rows = [
        (1.0, 1.0, 1.0, None, [1, None], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [], [0.0, 0.0]),
        (2.0, 1.0, inf, 2, [3, 4], None, [1.0, nan], [1.0, 2.0], [], [0.0, 0.0]),
        (None, 1.0, 1.0, None, [None, 4], [1.0, 2.0], [1.0, inf], [1.0], [], [0.0, 0.0]),
        (nan, 1.0, 1.0, 4, [None, None], None, [nan, nan], [1.0, 2.0, 3.0], [], [0.0, 0.0]),
    ]
    kinds = (
        "a double, b double, c double, i int, holes array<int>, null array<double>, "
        "v array<double>, ragged array<double>, empty array<double>, good array<double>"
    )
    frame = spark.createDataFrame(rows, kinds).coalesce(1)
    return frame.withColumn("vector", array_to_vector("v"))


def python_without_kseeds(folder):
    """Make a Python that cannot import kseeds; return its path."""
    (folder / "sitecustomize.py").write_text(_HIDING)
    python = folder / "python"
    path = f"{folder}:$PYTHONPATH"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{path}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    return str(python)
