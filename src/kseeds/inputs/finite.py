"""Values that are not finite, or would not be after a conversion: found, counted, placed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.inputs.places import column_labels, place_of
from kseeds.runtime.memmap import contiguous

_ROWS = 4096
"""Rows looked at a time; only ever on the way to an error."""


def not_finite(values: npt.NDArray[Any], name: str, labels: list[Any] | None = None) -> ValueError:
    """Return the error for rows with NaN or infinite values, of which there is at least one.

    Parameters
    ----------
    values : ndarray, shape (n, d)
        The rows.
    name : str
        The argument they came in.
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
    """Return "nan at row 3" for a single row, and for more how many and where the first is."""
    return f"{what} at {first}" if rows == 1 else f"{what} in {rows} rows, first at {first}"


def cast(
    values: npt.NDArray[Any],
    dtype: np.dtype[Any],
    name: str,
    holder: str,
    remedy: str,
    source: Any = None,
) -> npt.NDArray[Any]:
    """Return ``values`` in C order and of ``dtype``; refuse finite ones that would overflow.

    Parameters
    ----------
    values : ndarray
        Numbers.
    dtype : dtype
        A float.
    name : str
        The argument they came in.
    holder : str
        How to call ``dtype`` in the message.
    remedy : str
        What to do about a value that it does not hold.
    source : object
        What the user passed, which may have names for its columns.
    """
    with np.errstate(over="ignore"):
        converted = contiguous(values, dtype).reshape(values.shape)  # NumPy gives a number an axis
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
