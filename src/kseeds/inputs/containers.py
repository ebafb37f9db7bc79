"""Conversion of lists, pandas, polars, Arrow and sparse data to a plain ndarray.

Optional libraries are recognised by the module of the type and are never imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MappingView, Sequence, Set
from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.errors import kind_of
from kseeds.inputs.dtypes import check_dense, float_dtype, not_an_array, numeric
from kseeds.inputs.frames import from_arrow, from_pandas, from_polars

__all__ = ["float_dtype", "to_array"]

_LIBRARIES = ("scipy", "pandas", "pyarrow", "polars", "dask", "dask_expr", "pyspark")
_SPARK_TYPES = ("DataFrame", "Series", "Index", "Column", "RDD")


def to_array(data: Any, name: str) -> npt.NDArray[Any]:
    """Return ``data`` as an ndarray with a numeric dtype, without copying where possible."""
    if isinstance(data, np.ndarray):
        if _has_masked(data):
            raise TypeError(
                f"{name} is a masked array with masked entries; fill or drop them first."
            )
        return numeric(np.asarray(data), name)
    library = _library_of(type(data))
    _refuse_distributed(type(data), name)
    if library == "scipy" and hasattr(data, "toarray"):
        check_dense(data.shape, "matrix", name)
        return numeric(data.toarray(), name)
    if library == "pandas":
        return numeric(from_pandas(data, name), name)
    if library == "pyarrow":
        return numeric(from_arrow(data, name), name)
    if library == "polars":
        return numeric(from_polars(data, name), name)
    if data is None or isinstance(
        data, (str, bytes, bytearray, Iterator, Mapping, MappingView, Set)
    ):
        raise not_an_array(data, name)
    for kind in _kinds_inside(data, name):
        _check_inside(kind, name)
    return numeric(_as_array(data, name), name)


def _as_array(data: Any, name: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(data)
    except MemoryError:
        raise
    except Exception as error:
        if "inhomogeneous" in str(error):
            raise ValueError(
                f"{name} has rows of different lengths; give every row the same number of columns."
            ) from None
        reason = " ".join(str(error).split()).rstrip(".")
        raise TypeError(
            f"{name} is {kind_of(data)} that cannot be made a NumPy array ({reason}); make it "
            "one first."
        ) from error


def _library_of(kind: type) -> str | None:
    """Return the library of ``_LIBRARIES`` that defines a type or one of its bases, or None."""
    homes = (base.__module__.partition(".")[0] for base in kind.__mro__)
    return next((home for home in homes if home in _LIBRARIES), None)


def _has_masked(data: Any) -> bool:
    """Return whether any entry of an array is masked; a mask without masked entries is accepted."""
    mask = np.ma.getmask(data)  # False for an array that is not masked
    return bool(mask.any()) if mask.dtype == np.bool_ else False  # records are rejected later


def _kinds_inside(data: Any, name: str) -> set[type]:
    """Return the types of all elements of a list, including those of nested lists.

    Masked entries raise here, because only the values show whether there are any.
    """
    if not isinstance(data, Sequence) or isinstance(data, (str, bytes, range, memoryview)):
        return set()
    kinds = set(map(type, data))
    nested = tuple(kind for kind in kinds if issubclass(kind, Sequence))
    masked = tuple(kind for kind in kinds if issubclass(kind, np.ma.MaskedArray))
    for value in data if nested or masked else ():
        if type(value) in nested:
            kinds |= _kinds_inside(value, name)
        elif type(value) in masked and _has_masked(value):  # true of numpy.ma.masked, too
            raise TypeError(f"{name} holds masked entries; fill or drop them first.")
    return kinds


def _check_inside(kind: type, name: str) -> None:
    """Reject elements that NumPy would convert silently, or could not stack to rows."""
    if _library_of(kind) == "scipy" and hasattr(kind, "toarray"):
        raise TypeError(f"{name} holds sparse matrices; stack them with scipy.sparse.vstack first.")
    _refuse_distributed(kind, name)


def _refuse_distributed(kind: type, name: str) -> None:
    """Reject data that is not in memory: whether to load it is up to the user."""
    library = _library_of(kind)
    if library in ("dask", "dask_expr"):
        title, module, load = "Dask", "kseeds.dask", ".compute()"
    elif library == "pyspark" and kind.__name__ in _SPARK_TYPES:
        title, module, load = "Spark", "kseeds.spark", ".toPandas()"
    else:
        return
    remedy = f"use the functions of {module}, or call {load} first" if name == "X" else (
        f"call {load} first"
    )  # fmt: skip
    raise TypeError(f"{name} is a {title} {kind.__name__}; {remedy}.")
