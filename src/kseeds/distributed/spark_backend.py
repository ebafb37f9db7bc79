"""The engine on Apache Spark: one element a partition, states cached beside the rows.

Rows leave the JVM as Arrow batches, once. What follows are pure functions of RDD elements: a
lost executor's share is made again by Spark from where it came.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import RDD, StorageLevel
from pyspark.serializers import CPickleSerializer
from pyspark.sql import Column, DataFrame

from kseeds.distributed.driver import Task
from kseeds.distributed.partition import Part
from kseeds.distributed.preflight import check_seen, looker, missing
from kseeds.distributed.spark_columns import Features

ONE = "a Spark executor"
ALL = "every executor, or ship an environment that has it with spark.archives"
_LEVEL = StorageLevel.MEMORY_AND_DISK
_ABSENT = re.compile(
    r"No module named '(?:kseeds|numpy|numba|llvmlite|threadpoolctl|pyarrow)\b[^']*'"
)


class SparkEngine:
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
) -> Iterator[SparkEngine]:
    """Give an engine over the rows of a frame; let go of what it keeps afterwards."""
    check_executors(frame)
    chosen = [column.alias(f"x{j}") for j, column in enumerate(features.columns)]
    if weights is not None:
        chosen.append(weights.alias("w"))
    as_array, weighted = features.as_array, weights is not None

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            block = pickle.dumps(block_of(batch, as_array, weighted), protocol=5)
            yield pa.RecordBatch.from_arrays([pa.array([block], pa.binary())], ["block"])

    packed = frame.select(*chosen).mapInArrow(pack, "block binary")
    parts = _one_by_one(packed.rdd.mapPartitionsWithIndex(_join))
    if cache:
        parts = parts.persist(_LEVEL)
    engine = SparkEngine(parts)
    try:
        yield engine
    finally:
        engine.close()
        if cache:
            parts.unpersist()


def _one_by_one(elements: RDD[Any]) -> RDD[Any]:
    """Return the RDD with elements pickled one by one.

    Two such RDDs are zipped as they are. Spark would first send both through Python once more
    to pickle them in batches of the same size, which takes longer than the work.
    """
    return elements._reserialize(CPickleSerializer())


def block_of(batch: pa.RecordBatch, as_array: bool, weighted: bool) -> tuple[Any, Any, str | None]:
    """Return the values and weights of an Arrow batch, or what is wrong with them."""
    columns = list(batch.columns)
    weights = columns.pop().to_numpy(zero_copy_only=False) if weighted else None
    for column in columns:
        if column.null_count:
            at = column.is_null().index(True).as_py()
            return None, None, f"X has a null at row {at}; drop or fill such rows first."
    if not as_array:
        arrays = [column.to_numpy(zero_copy_only=False) for column in columns]
        return np.stack(arrays, axis=1), weights, None
    lengths = np.diff(columns[0].offsets.to_numpy())
    if len(lengths) and (lengths != lengths[0]).any():
        return None, None, "X has rows of different lengths; give every row the same length."
    flat = columns[0].flatten()
    if flat.null_count:
        return None, None, "X has a null inside a row; drop or fill such rows first."
    width = int(lengths[0]) if len(lengths) else 1
    return flat.to_numpy(zero_copy_only=False).reshape(-1, width), weights, None


def _join(number: int, rows: Iterable[Any]) -> Iterator[Part]:
    """Make one part of the blocks of a partition; an empty one of none."""
    blocks = [pickle.loads(row.block) for row in rows]
    error = next((found for _, _, found in blocks if found is not None), None)
    widths = {values.shape[1] for values, _, found in blocks if found is None}
    if error is None and len(widths) > 1:
        error = "X has rows of different lengths; give every row the same length."
    if error is not None or not blocks:
        yield Part(number, np.empty((0, 1)), None, error)
        return
    weights = None
    if blocks[0][1] is not None:
        weights = np.concatenate([part for _, part, _ in blocks])
    yield Part.of(number, np.concatenate([values for values, _, _ in blocks]), weights)
