"""Sizes and places that plain and compiled code must agree on."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

LANES = 16
"""Partial sums of a distance; see `kseeds.simd.lane_order`."""

COLUMNS = 64
"""Rows or centres that are laid out as columns and compared at a time."""

BLOCK = 64
"""Rows under one leaf of a tree of sums."""


def place_of(j: Any, d: int) -> Any:
    """Return where coordinate j of d stands in a column: lane after lane, then the rest.

    The lanes stand in the order in which `kseeds.simd.lane_order` adds them (0, 4, 8, 12, 1,
    5, …), so that sums over columns read memory in order.

    Examples
    --------
    >>> from kseeds.runtime.block_sizes import place_of
    >>> [place_of(j, 33) for j in (0, 16, 4, 20, 31, 32)]
    [0, 1, 2, 3, 31, 32]
    """
    full = d & -LANES
    lane = (j & 3) * 4 + (j >> 2 & 3)
    return lane * (full // LANES) + j // LANES if j < full else j


@functools.lru_cache(maxsize=64)
def column_order(d: int) -> npt.NDArray[np.int64]:
    """Return the coordinate that stands at each place of a column; see `place_of`. Read-only.

    Examples
    --------
    >>> from kseeds.runtime.block_sizes import column_order
    >>> column_order(17)[:6].tolist()
    [0, 4, 8, 12, 1, 5]
    """
    order = np.argsort([place_of(j, d) for j in range(d)])
    order.flags.writeable = False
    return order
