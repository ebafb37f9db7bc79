"""Columns of Spark frames, checked by the schema before any job is started."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame, functions
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DecimalType,
    FloatType,
    IntegerType,
    LongType,
    NumericType,
    ShortType,
)

from kseeds.inputs.containers import float_dtype

_DTYPES: dict[type[DataType], Any] = {
    ByteType: np.int8,
    ShortType: np.int16,
    IntegerType: np.int32,
    LongType: np.int64,
    FloatType: np.float32,
}
"""The NumPy types of Spark's numbers; all others become doubles."""


@dataclass(frozen=True)
class Features:
    """The columns of the coordinates.

    Attributes
    ----------
    names : list of str
        The user's names of the columns, for messages.
    columns : list of Column
        One numeric column per coordinate, or a single column of arrays.
    as_array : bool
        Whether it is a column of arrays.
    width : int or None
        The number of coordinates, if known.
    dtype : dtype
        The precision in which the rows are computed.
    """

    names: list[str]
    columns: list[Column]
    as_array: bool
    width: int | None
    dtype: np.dtype[Any]


def features_of(frame: DataFrame, features: Any) -> Features:
    """Return the columns that ``features`` names: one of arrays, or numeric ones."""
    names = [features] if isinstance(features, str) else features
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise TypeError(
            f"features={features!r} is not the name of a column; name a column of arrays or "
            "vectors, or a list of numeric columns."
        )
    if len(names) == 0:
        raise ValueError(f"features={features!r} names no column; name at least one.")
    types = {field.name: field.dataType for field in frame.schema.fields}
    for name in names:
        argument = f"features={features!r}"
        if not isinstance(features, str):
            argument += f" has {name!r}, which"
        check_name(frame, argument, name, "name a column of arrays or vectors, or numeric columns")
    if not isinstance(features, str):
        for name in names:
            if not isinstance(types[name], NumericType):
                raise TypeError(
                    f"features has column {name!r} of type {types[name].simpleString()}, which is "
                    "not numeric; encode or drop that column first."
                )
        return _numbers(names, [types[name] for name in names])
    kind = types[features]
    if isinstance(kind, ArrayType) and isinstance(kind.elementType, NumericType):
        array = column_of(features)
        if isinstance(kind.elementType, DecimalType):
            array = array.cast("array<double>")
        return Features([features], [array], True, None, _precision(kind.elementType))
    if type(kind).__name__ == "VectorUDT":
        from pyspark.ml.functions import vector_to_array

        array = vector_to_array(column_of(features))
        return Features([features], [array], True, None, np.dtype(np.float64))
    if isinstance(kind, NumericType):
        return _numbers([features], [kind])
    raise TypeError(
        f"features={features!r} is a column of {kind.simpleString()}; name a column of arrays or "
        "vectors of numbers, or a list of numeric columns."
    )


def _numbers(names: Any, kinds: list[DataType]) -> Features:
    columns = [
        column_of(name).cast("double") if isinstance(kind, DecimalType) else column_of(name)
        for name, kind in zip(names, kinds, strict=True)
    ]
    return Features(list(names), columns, False, len(columns), _precision(*kinds))


def _precision(*kinds: DataType) -> np.dtype[Any]:
    return float_dtype(np.result_type(*(_DTYPES.get(type(kind), np.float64) for kind in kinds)))


def weights_of(frame: DataFrame, sample_weight: Any) -> Column | None:
    """Return the column of weights as doubles."""
    if sample_weight is None:
        return None
    if not isinstance(sample_weight, str):
        raise TypeError(
            f"sample_weight={sample_weight!r} is not the name of a column; add the weights to the "
            "frame and name their column."
        )
    check_name(frame, f"sample_weight={sample_weight!r}", sample_weight, "name a numeric column")
    kind = next(field.dataType for field in frame.schema.fields if field.name == sample_weight)
    if not isinstance(kind, NumericType):
        raise TypeError(
            f"sample_weight={sample_weight!r} is a column of {kind.simpleString()}; name a numeric "
            "column."
        )
    return column_of(sample_weight).cast("double")


def check_name(frame: DataFrame, argument: str, name: str, remedy: str) -> None:
    """Reject a name that is not that of exactly one column."""
    if name not in frame.columns:
        raise ValueError(
            f"{argument} is not in the frame, which has {', '.join(frame.columns)}; {remedy}."
        )
    fold = _fold(frame)
    count = [fold(other) for other in frame.columns].count(fold(name))
    if count > 1:
        raise ValueError(
            f"{argument} is the name of {count} columns of the frame; rename all but one of them."
        )


def check_new_names(frame: DataFrame, label: Any, distance: Any) -> None:
    """Reject names of new columns that the frame has already."""
    fold = _fold(frame)
    taken = {fold(name) for name in frame.columns}
    for argument, name in (("label", label), ("distance", distance)):
        if not isinstance(name, str):
            raise TypeError(f"{argument}={name!r} is not the name of a column; pass a string.")
        if fold(name) in taken:
            raise ValueError(
                f"{argument}={name!r} is already a column of the frame; pass another name with "
                f"{argument}=, or drop that column first."
            )
    if fold(label) == fold(distance):
        raise ValueError(
            f"label={label!r} and distance={distance!r} are one name; pass two different names."
        )


def _fold(frame: DataFrame) -> Callable[[str], str]:
    """Return the function that folds case, if Spark is not set to be case-sensitive."""
    sensitive = str(frame.sparkSession.conf.get("spark.sql.caseSensitive")).lower() == "true"
    return (lambda name: name) if sensitive else str.lower


def column_of(name: str) -> Column:
    """Return a column by its name, which may contain dots and backticks."""
    quoted = name.replace("`", "``")
    return functions.col(f"`{quoted}`")
