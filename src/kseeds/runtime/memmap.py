"""Arrays that are as large as the data: in memory, or in a file where the data is in one."""

from __future__ import annotations

import mmap
import tempfile
from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.runtime.threads import Workers

_ROWS_BYTES = 1 << 24
_SHARED_BYTES, _COPIED_ROWS = 1 << 22, 1 << 14
"""From how many bytes on copying repays threads, and how many rows each takes, unless they
are wide: fewer, and reading columns of another order would jump too often."""


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


def contiguous(
    values: npt.NDArray[Any], dtype: npt.DTypeLike, workers: Workers | None = None
) -> npt.NDArray[Any]:
    """Return ``values`` in C order and of a dtype, copied only if need be, by blocks of rows."""
    is_ready = values.flags.c_contiguous and values.dtype == dtype
    # What a cast may lose is reported to the thread that asked for it.
    is_shared = values.nbytes > _SHARED_BYTES and np.can_cast(values.dtype, dtype)
    if is_ready or values.ndim == 0 or not (is_mapped(values) or is_shared):
        return np.ascontiguousarray(values, dtype=dtype)
    copy = empty_stored_like(values, values.shape, dtype)

    def task(start: int, stop: int) -> None:
        copy[start:stop] = values[start:stop]

    # Of a map, no more is read at a time than needs be in memory.
    most, least = (len(values), 1) if is_mapped(values) else (_COPIED_ROWS, 64)
    rows = max(least, min(most, _ROWS_BYTES // max(1, values[:1].nbytes)))
    (workers if workers and is_shared else Workers(1)).over_blocks(task, len(values), rows)
    return copy
