"""Arrays for kernels: workspaces that begin where a cache line does, made once a thread.

NumPy aligns to 16 bytes, so that nearly every vector of 64 bytes lies in two cache lines. Where
kernels go through columns of 64 values again and again, that costs a fifth of their speed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

_LINE = 64

T = TypeVar("T")


def aligned(shape: int | tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
    """Return an array that is not initialised.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds.runtime.aligned import aligned
    >>> found = aligned((3, 64), np.float32)
    >>> found.shape, found.__array_interface__["data"][0] % 64
    ((3, 64), 0)
    """
    shape = (shape,) if isinstance(shape, int) else shape
    size = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.empty(size + _LINE, dtype=np.uint8)
    start = -raw.__array_interface__["data"][0] % _LINE
    found: npt.NDArray[Any] = raw[start : start + size].view(dtype).reshape(shape)
    return found


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view that cannot be written to.

    To the compiler that is another type of array. So rows and centres are read-only wherever they
    are from; otherwise kernels would be compiled twice, and the second time in the middle of a job
    that counted on finding them on disk.
    """
    view = array.view()
    view.flags.writeable = False
    return view


class Reused(Generic[T]):
    """Workspaces that tasks use one after the other: as many are made as there are threads.

    Examples
    --------
    >>> from kseeds.runtime.aligned import Reused
    >>> spaces = Reused(list)
    >>> with spaces.one() as space:
    ...     space.append(1)
    >>> with spaces.one() as space:
    ...     space
    [1]
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._idle: list[T] = []

    @contextmanager
    def one(self) -> Iterator[T]:
        """Lend one that nobody else uses meanwhile."""
        try:
            space = self._idle.pop()  # atomic, like append
        except IndexError:
            space = self._make()
        yield space
        self._idle.append(space)

    @property
    def idle(self) -> list[T]:
        """All that were made, once nobody uses one any more."""
        return self._idle
