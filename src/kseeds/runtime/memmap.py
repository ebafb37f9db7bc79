"""Arrays that are as large as the data: in memory, or in a file where the data is in one."""

from __future__ import annotations

import mmap
import tempfile
from typing import Any

import numpy as np
import numpy.typing as npt

_ROWS_BYTES = 1 << 24


def is_mapped(array: npt.NDArray[Any]) -> bool:
    """Tell whether an array is, or looks into, a memory map."""
    base: Any = array
    while base is not None:
        if isinstance(base, (np.memmap, mmap.mmap)):
            return True
        base = getattr(base, "base", None)
    return False


def empty_stored_like(
    source: npt.NDArray[Any], shape: tuple[int, ...], dtype: Any
) -> npt.NDArray[Any]:
    """Return an uninitialised array, in a temporary file if ``source`` is a memory map."""
    if not is_mapped(source) or 0 in shape:
        return np.empty(shape, dtype=dtype)
    with tempfile.TemporaryFile() as file:  # the map outlives the file's name and handle
        return np.memmap(file, dtype=dtype, mode="w+", shape=shape)


def contiguous(values: npt.NDArray[Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return ``values`` in C order and of a dtype, copied by blocks, and only if need be."""
    if not is_mapped(values) or (values.flags.c_contiguous and values.dtype == dtype):
        return np.ascontiguousarray(values, dtype=dtype)
    copy = empty_stored_like(values, values.shape, dtype)
    rows = max(1, _ROWS_BYTES // max(1, values[:1].nbytes))
    for lo in range(0, len(values), rows):
        copy[lo : lo + rows] = values[lo : lo + rows]
    return copy
