"""Which dtypes are accepted, and the precision in which each is computed."""

from __future__ import annotations

import decimal
import numbers
from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.errors import kind_of, shown
from kseeds.inputs.finite import cast
from kseeds.inputs.places import place_of

DENSE_BYTES = 4 << 30
"""Sparse data is converted to dense arrays up to this size."""

_FLOAT64 = np.dtype(np.float64)
_NUMBERS = (numbers.Real, np.bool_, decimal.Decimal)


def float_dtype(*dtypes: np.dtype[Any]) -> np.dtype[Any]:
    """Return the precision in which data of these dtypes is computed.

    Floats keep theirs; whatever float32 represents exactly (float16, booleans, integers of at
    most 16 bits) becomes float32, everything else float64. Integers beyond 2⁵³, and floats
    longer than float64, are rounded to the nearest float64.
    """
    small = all(dtype.itemsize <= (4 if dtype.kind == "f" else 2) for dtype in dtypes)
    return np.dtype(np.float32 if small else np.float64)


def numeric(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Return ``array`` as booleans, integers or floats of at most 64 bits; reject other dtypes."""
    kind = array.dtype.kind
    if kind == "f" and array.dtype.itemsize > _FLOAT64.itemsize:
        return cast(array, _FLOAT64, name, "float64", "rescale it first")
    if kind in "biuf":
        return array
    if kind == "c":
        raise TypeError(
            f"{name} has complex dtype {array.dtype}; pass real numbers, for example the real "
            "and imaginary parts as two columns."
        )
    if kind == "O":
        found = first_not_a_number(array)
        if found is None:
            return from_objects(array, name)
        if array.ndim:
            raise TypeError(
                f"{name} has {shown(array[found])} at {place_of(found)}, which is not a number; "
                "fill, encode or drop it first."
            )
        raise not_an_array(array.item(), name)
    if array.dtype.names is not None:
        raise TypeError(
            f"{name} is a structured array with the fields {', '.join(array.dtype.names)}; make "
            "them columns with numpy.lib.recfunctions.structured_to_unstructured first."
        )
    raise TypeError(
        f"{name} has dtype {array.dtype}, which is not numeric; convert it to float32 or "
        "float64 first."
    )


def first_not_a_number(array: npt.NDArray[np.object_]) -> tuple[int, ...] | None:
    """Return the index of the first object that is not a real number, None if all are."""
    odd = {kind for kind in set(map(type, array.flat)) if not issubclass(kind, _NUMBERS)}
    if not odd:
        return None
    at = next(i for i, value in enumerate(array.flat) if type(value) in odd)
    return tuple(int(i) for i in np.unravel_index(at, array.shape))


def from_objects(array: npt.NDArray[np.object_], name: str) -> npt.NDArray[np.float64]:
    """Return an array of Python numbers as float64."""
    try:
        return array.astype(np.float64)
    except (OverflowError, ValueError):
        raise ValueError(f"{name} has a number too large for float64; rescale it first.") from None


def not_an_array(data: Any, name: str) -> TypeError:
    """Return the error for an object that is not an array of numbers."""
    return TypeError(
        f"{name} is {kind_of(data)}, which is not an array; pass a list or an array of numbers."
    )


def check_dense(shape: tuple[int, ...], kind: str, name: str) -> None:
    """Reject sparse data that would be too large as a dense array."""
    needed = int(np.prod([int(length) for length in shape], dtype=object)) * _FLOAT64.itemsize
    if needed > DENSE_BYTES:
        raise ValueError(
            f"{name} is a sparse {kind} of shape {shape} that would need {needed >> 30} GiB "
            "dense; reduce its columns first, for example with a truncated SVD."
        )
