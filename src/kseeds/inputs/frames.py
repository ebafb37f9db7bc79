"""Conversion of pandas, polars and Arrow data to a plain ndarray; no library is imported."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.errors import shown
from kseeds.inputs.dtypes import (
    check_dense,
    first_not_a_number,
    float_dtype,
    from_objects,
    not_an_array,
)
from kseeds.inputs.places import column_labels, column_name

_LONG = np.dtype(np.longdouble)


def from_pandas(data: Any, name: str) -> npt.NDArray[Any]:
    """Return the values of a pandas frame, series, index or array; missing values become NaN."""
    if not (hasattr(data, "dtype") or hasattr(data, "dtypes")):
        raise not_an_array(data, name)
    if data.ndim == 1:
        column = _called(getattr(data, "name", None))
        kind = _pandas_kind(data.dtype, name, column)
        return _pandas_column(data, kind, name, column)
    labels = column_labels(data)
    called = [_called(column_name(j, labels), known=True) for j in range(data.shape[1])]
    given = list(data.dtypes)
    kinds = [_pandas_kind(dtype, name, c) for dtype, c in zip(given, called, strict=True)]
    if any(_is_sparse(dtype) for dtype in given):
        check_dense(data.shape, "frame", name)
    common = _common(kinds)
    if all(isinstance(dtype, np.dtype) and dtype.kind != "O" for dtype in given):
        return np.asarray(data.to_numpy(dtype=None if len(set(kinds)) == 1 else common))
    out = np.empty(data.shape, dtype=common)
    for j, kind in enumerate(kinds):
        out[:, j] = _pandas_column(data.iloc[:, j], kind, name, called[j])
    return out


def _pandas_kind(dtype: Any, name: str, column: str) -> np.dtype[Any]:
    """Return the NumPy dtype of a pandas dtype; reject dtypes that are not numeric."""
    plain = dtype.subtype if _is_sparse(dtype) else getattr(dtype, "numpy_dtype", dtype)
    objects = isinstance(dtype, np.dtype) and dtype.kind == "O"  # its elements are checked later
    if not isinstance(plain, np.dtype) or (plain.kind not in "biuf" and not objects):
        raise _refuse_column(name, column, dtype)
    return plain


def is_sparse_frame(data: Any) -> bool:
    """Tell whether data is a pandas frame whose columns are all sparse, with 0 for the rest."""
    if type(data).__module__.partition(".")[0] != "pandas" or getattr(data, "ndim", 0) != 2:
        return False
    dtypes = list(getattr(data, "dtypes", ()))
    return bool(dtypes) and all(
        _is_sparse(dtype) and dtype.subtype.kind in "biuf" and dtype.fill_value == 0
        for dtype in dtypes
    )


def _is_sparse(dtype: Any) -> bool:
    return hasattr(dtype, "subtype") and hasattr(dtype, "fill_value")  # intervals have the first


def _pandas_column(column: Any, kind: np.dtype[Any], name: str, called: str) -> npt.NDArray[Any]:
    if kind.kind == "O":
        objects = column.to_numpy()
        found = first_not_a_number(objects)
        if found is not None:
            raise _refuse_column(
                name, called, f"object that holds {shown(objects[found])} at row {found[0]}"
            )
        return from_objects(objects, name)
    if isinstance(column.dtype, np.dtype):
        return np.asarray(column.to_numpy())
    if _is_sparse(column.dtype):
        return np.asarray(column.to_numpy(dtype=kind))
    return np.asarray(column.to_numpy(dtype=_common([kind]), na_value=np.nan))


def from_polars(data: Any, name: str) -> npt.NDArray[Any]:
    """Return the values of a polars frame or series; missing values become NaN."""
    if hasattr(data, "collect"):
        raise TypeError(f"{name} is a polars {type(data).__name__}; call .collect() first.")
    if not hasattr(data, "to_numpy"):
        raise not_an_array(data, name)
    if not hasattr(data, "columns"):
        return _polars_column(data, name, _called(data.name or None))
    columns = [_polars_column(data[c], name, _called(c)) for c in data.columns]
    return _stacked(columns, data.height)


def _polars_column(column: Any, name: str, called: str) -> npt.NDArray[Any]:
    if not (column.dtype.is_numeric() or str(column.dtype) == "Boolean"):
        raise _refuse_column(name, called, column.dtype)
    # NumPy has no decimals, no 128-bit integers, and no booleans with missing values.
    if str(column.dtype).startswith(("Decimal", "Int128", "UInt128")) or (
        str(column.dtype) == "Boolean" and column.null_count()
    ):
        return np.array([np.nan if x is None else float(x) for x in column.to_list()], dtype=float)
    return np.asarray(column.to_numpy())


def from_arrow(data: Any, name: str) -> npt.NDArray[Any]:
    """Return the values of an Arrow table, batch or array; missing values become NaN."""
    if hasattr(data, "type") and hasattr(data, "to_numpy"):
        return _arrow_column(data, name, _called(None))
    labels = column_labels(data)
    if labels is None:
        raise TypeError(
            f"{name} is {_an_arrow(data)}, which is not a table; read it into a table first."
        )
    columns = [
        _arrow_column(data.column(j), name, _called(column_name(j, labels), known=True))
        for j in range(data.num_columns)
    ]
    return _stacked(columns, data.num_rows)


def _an_arrow(data: Any) -> str:
    return f"a {type(data).__name__} of pyarrow"


def _arrow_column(column: Any, name: str, called: str) -> npt.NDArray[Any]:
    kind = str(column.type)
    if not (kind.startswith(("int", "uint", "float", "halffloat", "double")) or kind == "bool"):
        raise _refuse_column(name, called, kind)
    if hasattr(column, "combine_chunks"):
        column = column.combine_chunks()
    if hasattr(column, "chunks"):
        column = column.chunk(0) if column.num_chunks else column
    if column.null_count:
        # safe=False: integers beyond 2⁵³ are rounded, as they are in columns without nulls.
        column = column.cast("float64", safe=False)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _common(kinds: list[np.dtype[Any]]) -> np.dtype[Any]:
    """Return the precision of several columns; long doubles are kept, and checked later."""
    kinds = [np.dtype(np.float64) if kind.kind == "O" else kind for kind in kinds]
    long = [kind for kind in kinds if kind.kind == "f" and kind.itemsize > 8]
    return _LONG if long else float_dtype(*kinds)


def _stacked(columns: list[npt.NDArray[Any]], n_rows: int) -> npt.NDArray[Any]:
    if not columns:
        return np.empty((n_rows, 0))
    out = np.empty((n_rows, len(columns)), dtype=_common([column.dtype for column in columns]))
    for j, column in enumerate(columns):
        out[:, j] = column
    return out


def _called(label: Any, *, known: bool = False) -> str:
    """Return "column 'a' of " for a message, or "" for a column without a name."""
    if label is None:
        return ""
    return f"column {label if known else shown(label)} of "


def _refuse_column(name: str, called: str, dtype: Any) -> TypeError:
    return TypeError(
        f"{name} has {called}type {dtype}, which is not numeric; encode or drop "
        f"{'that column' if called else 'it'} first."
    )
