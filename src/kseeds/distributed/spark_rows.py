"""Rows of Spark on the executors: converted to arrays, or rejected with their position."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kseeds.distributed.assign_block import assign_block
from kseeds.distributed.partition import Part, survey, unusable
from kseeds.inputs.finite import counted
from kseeds.inputs.frames import from_arrow
from kseeds.inputs.places import place_of

Lengths: TypeAlias = npt.NDArray[np.int64]
"""The lengths of rows that are arrays; -1 for a null row."""
Block: TypeAlias = tuple[npt.NDArray[Any] | Lengths, npt.NDArray[np.float64] | None]
"""The values of some rows and their weights; the (1-D) lengths instead, if lengths differ."""


def block_of(batch: pa.RecordBatch, as_array: bool, weighted: bool) -> Block:
    """Return the block of an Arrow batch; nulls become NaN, as for data in memory."""
    columns = list(batch.columns)
    weights = columns.pop().to_numpy(zero_copy_only=False) if weighted else None
    if not as_array:
        return np.stack([from_arrow(column, "X") for column in columns], axis=1), weights
    rows = columns[0]
    lengths = np.diff(rows.offsets.to_numpy()).astype(np.int64)
    lengths[rows.is_null().to_numpy(zero_copy_only=False)] = -1
    if len(lengths) == 0 or length_error(lengths, "") is not None:
        return lengths, weights
    return from_arrow(rows.flatten(), "X").reshape(len(lengths), lengths[0]), weights


def part_of(number: int, blocks: list[Block], names: list[str], as_array: bool) -> Part:
    """Concatenate the blocks of a partition to one part, which may be empty."""
    filled = [block for block in blocks if len(block[0])]
    if not filled:
        return Part(number, np.empty((0, 1)))
    if len({rows.shape[1:] for rows, _ in filled}) > 1 or filled[0][0].ndim == 1:
        lengths = [
            rows if rows.ndim == 1 else np.full(len(rows), rows.shape[1]) for rows, _ in filled
        ]
        error = length_error(np.concatenate(lengths), names[0])
        return Part(number, np.empty((0, 1)), error=error)
    weights = None
    if filled[0][1] is not None:
        weights = np.concatenate([part for _, part in filled])
    values = np.concatenate([part for part, _ in filled])
    return Part.of(number, values, weights, labels_of(names, as_array, values.shape[1]))


def length_error(lengths: Lengths, column: str) -> str | None:
    """Return the error for null rows and for rows of different lengths; None if all are equal."""
    nulls = np.flatnonzero(lengths < 0)
    if len(nulls):
        place = place_of((int(nulls[0]), 0), [column])
        return f"X has {counted('null', len(nulls), place)}; drop or fill such rows first."
    others = np.flatnonzero(lengths != lengths[0])
    if len(others):
        found = counted("others", len(others), place_of((int(others[0]),)))
        return (
            f"X has rows of different lengths ({lengths[0]} columns at row 0, {found}); give every "
            "row the same number of columns."
        )
    return None


def labels_of(names: list[str], as_array: bool, width: int) -> list[str]:
    """Return the names of the coordinates for messages: columns, or elements of the array."""
    return [f"{names[0]}[{j}]" for j in range(width)] if as_array else names


def nearest_of(
    number: int,
    rows: Any,
    centers: npt.NDArray[Any],
    metric: str,
    names: list[str],
    as_array: bool,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[Any]]:
    """Return labels and distances of a pandas series of arrays, one batch of a partition.

    Row numbers in messages are those of the batch, whose position in the partition is unknown.
    """
    if len(rows) == 0:
        return np.empty(0, dtype=np.int32), np.empty(0)
    try:
        block = np.array([-1 if row is None else len(row) for row in rows], dtype=np.int64)
        if length_error(block, names[0]) is None:
            block = np.stack(rows.to_numpy())
            if block.dtype.kind == "O":  # a row has nothing but nulls
                block = block.astype(np.float64)
        part = part_of(number, [(block, None)], names, as_array)
        _, surveyed = survey(part, None, metric)
        if surveyed.error is not None:
            raise ValueError(surveyed.error)
        return assign_block(part.values, centers, metric)
    except (TypeError, ValueError) as error:
        raise type(error)(f"a batch of {unusable(number, str(error))}") from None
