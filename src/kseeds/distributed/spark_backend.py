"""The Spark backend: RDDs of one element per partition; states are cached beside the rows.

Rows leave the JVM once, as Arrow batches. All else are pure functions of RDD elements, so Spark
can recompute what a lost executor held.
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

from kseeds.distributed.backend import Task
from kseeds.distributed.partition import Part
from kseeds.distributed.preflight import check_version, import_probe, missing
from kseeds.distributed.spark_columns import Features
from kseeds.distributed.spark_rows import block_of, part_of

ONE = "a Spark executor"
ALL = "every executor, or ship an environment that has it with spark.archives"
SQL_ERRORS_ARE_SHORT = int(pyspark.__version__.partition(".")[0]) >= 4
"""Whether an error raised in SQL shows its message only; before, it came with a Java traceback."""
_LEVEL = StorageLevel.MEMORY_AND_DISK
_MISSING = re.compile(
    r"No module named '(?:kseeds|numpy|numba|llvmlite|threadpoolctl|pyarrow)\b[^']*'"
)


class SparkBackend:
    """Runs tasks on the executors.

    Parameters
    ----------
    parts : RDD
        One `Part` per partition.
    """

    def __init__(self, parts: RDD[Part]) -> None:
        self._parts = parts
        self._kept: RDD[Any] | None = None  # states and replies
        self._messages: list[Any] = []

    def run(self, task: Task, message: Any, keep: bool) -> list[Any]:
        """Run a task on every partition; return the replies in the order of the partitions."""
        shared = self._parts.context.broadcast(message)
        self._messages.append(shared)  # needed again if a partition is recomputed
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

    def forget(self) -> None:
        """Free the cached states and the broadcast messages; the rows remain."""
        if self._kept is not None:
            self._kept.unpersist()
        for message in self._messages:
            message.destroy()
        self._messages, self._kept = [], None


def _collect(elements: RDD[Any]) -> list[Any]:
    """Return all elements; raise a short error if an executor lacks kseeds."""
    try:
        return elements.collect()
    except Exception as error:
        # The preflight ran on other executors. The cause is in the last line of a Java traceback.
        found = _MISSING.search(str(error))
        if found is None:
            raise
    raise missing(ONE, ALL, found.group(0))


def check_executors(frame: DataFrame) -> None:
    """Reject executors that lack kseeds, or have another version of it."""
    context = frame.sparkSession.sparkContext
    slots = max(1, context.defaultParallelism)
    probe = import_probe(__name__)
    for found in set(context.parallelize(range(slots), slots).map(lambda _: probe()).collect()):
        check_version(ONE, ALL, found)


@contextmanager
def running(
    frame: DataFrame, features: Features, weights: Column | None, cache: bool
) -> Iterator[SparkBackend]:
    """Yield a backend over the rows of a frame; free what it keeps afterwards."""
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
        backend.forget()
        if cache:
            parts.unpersist()


def _one_by_one(elements: RDD[Any]) -> RDD[Any]:
    """Return the RDD with elements pickled one by one.

    Such RDDs can be zipped directly. Otherwise Spark would first send both through Python once
    more, to pickle them in batches of the same size, which takes longer than the task.
    """
    return elements._reserialize(CPickleSerializer())
