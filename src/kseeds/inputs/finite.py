"""Errors for values that are not finite, or would overflow in a conversion."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.inputs.places import column_labels, place_of
from kseeds.runtime.memmap import contiguous

_ROWS = 4096
"""Rows checked at a time."""


def not_finite(values: npt.NDArray[Any], name: str, labels: list[Any] | None = None) -> ValueError:
    """Return the error for data that has a NaN or an infinite value.

    Parameters
    ----------
    values : ndarray, shape (n, d)
        The rows.
    name : str
        The argument that holds them.
    labels : list, optional
        The names of their columns.
    """
    first: tuple[int, int] | None = None
    rows, kinds = 0, set()
    for lo in range(0, len(values), _ROWS):
        block = values[lo : lo + _ROWS]
        bad = ~np.isfinite(block)
        if not bad.any():
            continue
        rows += int(bad.any(axis=1).sum())
        kinds |= {str(value) for value in np.unique(block[bad])}
        if first is None:
            row, column = (int(at[0]) for at in np.nonzero(bad))
            first = lo + row, column
    assert first is not None
    place = place_of(first, labels)
    if len(kinds) > 1 and rows > 1:
        found = f"nan or infinite values in {rows} rows, first {values[first]} at {place}"
    else:
        found = counted(str(values[first]), rows, place)
    return ValueError(f"{name} has {found}; drop or fill such rows first.")


def counted(what: str, rows: int, first: str) -> str:
    """Return "nan at row 3", or for several rows "nan in 5 rows, first at row 3"."""
    return f"{what} at {first}" if rows == 1 else f"{what} in {rows} rows, first at {first}"


def cast(
    values: npt.NDArray[Any],
    dtype: np.dtype[Any],
    name: str,
    holder: str,
    remedy: str,
    source: Any = None,
) -> npt.NDArray[Any]:
    """Return ``values`` in C order as ``dtype``; reject finite values that would overflow.

    Parameters
    ----------
    values : ndarray
        Numbers.
    dtype : dtype
        A float dtype.
    name : str
        The argument that holds them.
    holder : str
        The name of ``dtype`` in the message.
    remedy : str
        What the message recommends.
    source : object
        What the user passed; its column names appear in the message.
    """
    with np.errstate(over="ignore"):
        converted = contiguous(values, dtype).reshape(values.shape)  # a scalar gets an axis
    if values.dtype.kind != "f" or values.dtype.itemsize <= dtype.itemsize:
        return converted
    for lo in range(0, len(values) if values.ndim else 0, _ROWS):
        lost = np.isinf(converted[lo : lo + _ROWS]) & np.isfinite(values[lo : lo + _ROWS])
        if lost.any():
            first = (lo, *(0,) * (values.ndim - 1))
            index = tuple(int(at[0]) + by for at, by in zip(np.nonzero(lost), first, strict=True))
            raise ValueError(
                f"{name} has {values[index]!s} at {place_of(index, column_labels(source))}, "
                f"which is more than {holder} holds; {remedy}."
            )
    return converted
