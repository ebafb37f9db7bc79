"""The backend on Apache Spark: one element a partition, states cached beside the rows.

Rows leave the JVM as Arrow batches, once. What follows are pure functions of RDD elements: a
lost executor's share is made again by Spark from where it came.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyspark
from pyspark import RDD, StorageLevel
from pyspark.serializers import CPickleSerializer
from pyspark.sql import Column, DataFrame

from kseeds.distributed.driver import Task
from kseeds.distributed.partition import Part
from kseeds.distributed.preflight import check_seen, looker, missing
from kseeds.distributed.spark_columns import Features
from kseeds.distributed.spark_rows import block_of, part_of

ONE = "a Spark executor"
ALL = "every executor, or ship an environment that has it with spark.archives"
TELLS = int(pyspark.__version__.partition(".")[0]) >= 4
"""Whether an error that is raised in SQL comes as a sentence; before, as a page of Java."""
_LEVEL = StorageLevel.MEMORY_AND_DISK
_ABSENT = re.compile(
    r"No module named '(?:kseeds|numpy|numba|llvmlite|threadpoolctl|pyarrow)\b[^']*'"
)


class SparkBackend:
    """Runs tasks on the executors.

    Parameters
    ----------
    parts : RDD
        One `Part` a partition.
    """

    def __init__(self, parts: RDD[Part]) -> None:
        self._parts = parts
        self._kept: RDD[Any] | None = None  # states and replies
        self._messages: list[Any] = []

    def run(self, task: Task, message: Any, keep: bool) -> list[Any]:
        """Run a task on every partition; return the replies in the order of the partitions."""
        shared = self._parts.context.broadcast(message)
        self._messages.append(shared)  # a lost partition may need it again
        if self._kept is None:
            pairs = self._parts.map(lambda part: task(part, None, shared.value))
        else:
            both = self._parts.zip(self._kept)
            pairs = both.map(lambda pair: task(pair[0], pair[1][0], shared.value))
        if not keep:
            return _collect(pairs.map(lambda pair: pair[1]))
        pairs = _one_by_one(pairs).persist(_LEVEL)
        try:
            replies = _collect(pairs.map(lambda pair: pair[1]))
        except BaseException:
            pairs.unpersist()
            raise
        if self._kept is not None:
            self._kept.unpersist()
        self._kept = pairs
        return replies

    def close(self) -> None:
        """Let go of everything, so that the cluster can."""
        if self._kept is not None:
            self._kept.unpersist()
        for message in self._messages:
            message.destroy()
        self._messages, self._kept = [], None


def _collect(elements: RDD[Any]) -> list[Any]:
    """Return all elements; tell of executors without kseeds in a sentence."""
    try:
        return elements.collect()
    except Exception as error:
        # The preflight met other executors. What is wrong is the last of many lines of Java.
        found = _ABSENT.search(str(error))
        if found is None:
            raise
    raise missing(ONE, ALL, found.group(0))


def check_executors(frame: DataFrame) -> None:
    """Refuse executors that lack kseeds, or have another version of it."""
    context = frame.sparkSession.sparkContext
    slots = max(1, context.defaultParallelism)
    look = looker(__name__)
    for seen in set(context.parallelize(range(slots), slots).map(lambda _: look()).collect()):
        check_seen(ONE, ALL, seen)


@contextmanager
def running(
    frame: DataFrame, features: Features, weights: Column | None, cache: bool
) -> Iterator[SparkBackend]:
    """Give a backend over the rows of a frame; let go of what it keeps afterwards."""
    check_executors(frame)
    chosen = [column.alias(f"x{j}") for j, column in enumerate(features.columns)]
    if weights is not None:
        chosen.append(weights.alias("w"))
    names, as_array, weighted = features.names, features.as_array, weights is not None

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            block = pickle.dumps(block_of(batch, as_array, weighted), protocol=5)
            yield pa.RecordBatch.from_arrays([pa.array([block], pa.binary())], ["block"])

    packed = frame.select(*chosen).mapInArrow(pack, "block binary")

    def join(number: int, rows: Iterable[Any]) -> Iterator[Part]:
        yield part_of(number, [pickle.loads(row.block) for row in rows], names, as_array)

    parts = _one_by_one(packed.rdd.mapPartitionsWithIndex(join))
    if cache:
        parts = parts.persist(_LEVEL)
    backend = SparkBackend(parts)
    try:
        yield backend
    finally:
        backend.close()
        if cache:
            parts.unpersist()


def _one_by_one(elements: RDD[Any]) -> RDD[Any]:
    """Return the RDD with elements pickled one by one.

    Two such RDDs are zipped as they are. Spark would first send both through Python once more
    to pickle them in batches of the same size, which takes longer than the work.
    """
    return elements._reserialize(CPickleSerializer())
