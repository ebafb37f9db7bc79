"""From whatever a user holds (list, pandas, polars, Arrow, sparse) to a plain ndarray.

Optional libraries are recognised by the module their types come from and never imported.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import numpy.typing as npt

_DENSE_BYTES = 4 << 30
"""A sparse matrix is made dense up to this size."""


def to_array(data: Any, name: str) -> npt.NDArray[Any]:
    """Return ``data`` as an ndarray with a numeric dtype, without copying where possible."""
    if isinstance(data, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array; fill or drop the masked entries first.")
    if isinstance(data, np.ndarray):
        return _numeric(np.asarray(data), name)
    library = type(data).__module__.partition(".")[0]
    if library == "scipy" and hasattr(data, "toarray"):
        return _numeric(_dense(data, name), name)
    if library == "pandas":
        return _numeric(_from_pandas(data, name), name)
    if library == "pyarrow":
        return _numeric(_from_arrow(data, name), name)
    if library == "polars":
        return _numeric(_from_polars(data, name), name)
    try:
        return _numeric(np.asarray(data), name)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise ValueError(
            f"{name} has rows of different lengths; give every row the same number of columns."
        ) from None


def float_dtype(*dtypes: np.dtype[Any]) -> np.dtype[Any]:
    """Return the precision in which data of these dtypes is computed.

    Floats keep theirs; whatever float32 holds exactly (float16, booleans, integers of at
    most 16 bits) becomes float32, everything else float64.
    """
    small = all(dtype.itemsize <= (4 if dtype.kind == "f" else 2) for dtype in dtypes)
    return np.dtype(np.float32 if small else np.float64)


def _numeric(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind == "c":
        raise TypeError(
            f"{name} has complex dtype {array.dtype}; pass real numbers, for example the real "
            "and imaginary parts as two columns."
        )
    numbers_only = (isinstance(value, (numbers.Real, np.bool_)) for value in array.flat)
    if array.dtype.kind == "O" and all(numbers_only):
        return array.astype(np.float64)
    raise TypeError(
        f"{name} has dtype {array.dtype}, which is not numeric; convert it to float32 or "
        "float64 first."
    )


def _refuse_column(name: str, column: Any, dtype: Any) -> TypeError:
    return TypeError(
        f"{name} has column {column!r} of type {dtype}, which is not numeric; encode or drop "
        "that column first."
    )


def _dense(data: Any, name: str) -> npt.NDArray[Any]:
    needed = int(np.prod(data.shape)) * 8
    if needed > _DENSE_BYTES:
        raise ValueError(
            f"{name} is a sparse matrix of shape {data.shape} that would need {needed >> 30} GiB "
            "dense; reduce its columns first, for example with a truncated SVD."
        )
    dense: npt.NDArray[Any] = data.toarray()
    return dense


def _from_pandas(data: Any, name: str) -> npt.NDArray[Any]:
    columns = [(data.name, data.dtype)] if data.ndim == 1 else list(data.dtypes.items())
    kinds = []
    for column, dtype in columns:
        plain = getattr(dtype, "numpy_dtype", dtype)
        if not isinstance(plain, np.dtype) or plain.kind not in "biuf":
            raise _refuse_column(name, column, dtype)
        kinds.append(plain)
    if kinds and all(isinstance(dtype, np.dtype) for _, dtype in columns):
        return np.asarray(data.to_numpy())
    return np.asarray(data.to_numpy(dtype=float_dtype(*kinds), na_value=np.nan))


def _from_polars(data: Any, name: str) -> npt.NDArray[Any]:
    columns = data.to_frame() if not hasattr(data, "columns") else data
    for column, dtype in columns.schema.items():
        if not (dtype.is_numeric() or str(dtype) == "Boolean"):
            raise _refuse_column(name, column, dtype)
    return np.asarray(data.to_numpy())


def _from_arrow(data: Any, name: str) -> npt.NDArray[Any]:
    if not hasattr(data, "schema"):
        return _arrow_column(data, name, name)
    arrays = [
        _arrow_column(data.column(c), name, column) for c, column in enumerate(data.schema.names)
    ]
    if not arrays:
        return np.empty((data.num_rows, 0))
    dtype = float_dtype(*(array.dtype for array in arrays))
    stacked = np.empty((data.num_rows, len(arrays)), dtype=dtype)
    for c, array in enumerate(arrays):
        stacked[:, c] = array
    return stacked


def _arrow_column(column: Any, name: str, label: Any) -> npt.NDArray[Any]:
    kind = str(column.type)
    if not (kind.startswith(("int", "uint", "float", "halffloat", "double")) or kind == "bool"):
        raise _refuse_column(name, label, kind)
    if hasattr(column, "combine_chunks"):
        column = column.combine_chunks()
    if hasattr(column, "chunks"):
        column = column.chunk(0) if column.num_chunks else column
    if column.null_count:
        column = column.cast("float64")
    return np.asarray(column.to_numpy(zero_copy_only=False))
