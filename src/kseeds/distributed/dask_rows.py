"""Rows and weights of Dask collections, checked by their metadata before any task runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kseeds.errors import kind_of
from kseeds.inputs.containers import float_dtype, to_array
from kseeds.inputs.points import two_dimensional


@dataclass(frozen=True)
class DaskRows:
    """The chunks of rows and weights, as delayed objects, and their metadata.

    Attributes
    ----------
    blocks, weights : list
        One element per chunk; weights are chunks, names of a column of the block, or None.
    lengths : list
        The number of rows of each chunk; NaN if unknown.
    columns : int or None
        The number of coordinates, if known.
    dtype : dtype
        The precision in which the rows are computed.
    """

    blocks: list[Any]
    weights: list[Any]
    lengths: list[float]
    columns: int | None
    dtype: np.dtype[Any]


def rows_of(X: Any, function: str, sample_weight: Any = None) -> DaskRows:
    """Return the chunks of a Dask array or dataframe, and of the weights of its rows.

    ``function`` is the name of the function that was called, for messages.
    """
    kind = type(X).__module__.partition(".")[0]
    if kind not in ("dask", "dask_expr") or not hasattr(X, "ndim"):
        raise TypeError(
            f"X is {kind_of(X)}; pass a Dask array of two dimensions or a Dask dataframe, or use "
            f"kseeds.{function} for data in memory."
        )
    is_array = hasattr(X, "chunks")
    if X.ndim != 2:
        method = "reshape(-1, 1)" if is_array else "to_frame()"
        remedy = (
            f"use X.{method} for one column of data"
            if X.ndim == 1
            else "pass one row per point and one column per feature"
        )
        raise ValueError(f"X has {X.ndim} dimensions, not 2; {remedy}.")
    column = sample_weight if isinstance(sample_weight, str) else None
    if column is not None:
        _check_column(X, column)
    # Converting an empty collection of the same dtypes shows the resulting dtype, or the error.
    declared = _declared(X, "X")
    if column is not None:
        _numbers(declared[column], "sample_weight")
        declared = declared.drop(columns=column)
    declared = two_dimensional(to_array(declared, "X"), "X", allow_empty=True)
    if is_array and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    blocks = list(np.ravel(np.asarray(X.to_delayed(), dtype=object)))
    if sample_weight is None or column is not None:
        # Each task selects the column itself: Dask may use other chunks to read a single column.
        weights = [column] * len(blocks)
    else:
        weights = _weight_blocks(X, sample_weight, len(blocks))
    lengths = list(X.chunks[0]) if is_array else [math.nan] * len(blocks)
    known = not (is_array and math.isnan(X.shape[1]))
    columns = declared.shape[1] if known else None
    return DaskRows(blocks, weights, lengths, columns, float_dtype(declared.dtype))


def _declared(collection: Any, name: str) -> Any:
    """Return an empty array or frame with the columns and dtypes of a collection."""
    if not hasattr(collection, "chunks"):
        return collection._meta
    columns = [1 if math.isnan(size) else size for size in collection.shape[1:]]
    return _numbers(np.empty((0, *columns), dtype=collection.dtype), name)


def _numbers(declared: Any, name: str) -> Any:
    to_array(declared, name)  # raises for dtypes that are not numeric
    return declared


def _check_column(X: Any, column: str) -> None:
    """Reject a name that is not that of exactly one column, or of the only column."""
    if not hasattr(X, "columns"):
        raise ValueError(
            f"sample_weight={column!r} names a column but X is an array, which has no names; pass "
            "the weights themselves as a Dask array."
        )
    names = list(X.columns)
    if names.count(column) != 1:
        what = "is not a column" if column not in names else "is the name of several columns"
        raise ValueError(
            f"sample_weight={column!r} {what} of X, which has {', '.join(map(str, names))}; name "
            "a single column, or pass the weights themselves."
        )
    if len(names) == 1:
        raise ValueError(
            f"X has no column besides sample_weight={column!r}; pass a dataframe with at least one "
            "column of coordinates beside the weights."
        )


def _weight_blocks(X: Any, sample_weight: Any, count: int) -> list[Any]:
    if not hasattr(sample_weight, "to_delayed"):
        raise TypeError(
            f"sample_weight is a {type(sample_weight).__name__}; pass a Dask array or series, or "
            "the name of a column."
        )
    if sample_weight.ndim != 1:
        raise ValueError(
            f"sample_weight has {sample_weight.ndim} dimensions, not 1; pass one weight for each "
            "row, for example a single column."
        )
    _numbers(_declared(sample_weight, "sample_weight"), "sample_weight")
    known = hasattr(X, "chunks") and hasattr(sample_weight, "chunks")
    if known and not np.isnan([*X.chunks[0], *sample_weight.chunks[0]]).any():
        rows, weights = sum(X.chunks[0]), sum(sample_weight.chunks[0])
        if rows != weights:
            raise ValueError(
                f"sample_weight has shape {sample_weight.shape}; pass one weight for each of the "
                f"{rows} rows."
            )
        sample_weight = sample_weight.rechunk((X.chunks[0],))
    blocks = list(np.ravel(np.asarray(sample_weight.to_delayed(), dtype=object)))
    if len(blocks) != count:
        raise ValueError(
            f"sample_weight has {len(blocks)} chunks but X has {count}; give both the same chunks."
        )
    return blocks
