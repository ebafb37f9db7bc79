"""The order in which coordinates are summed, in plain NumPy; all kernels follow it.

Lane l of 16 sums the coordinates l, l + 16, l + 32, …; then lanes q, q + 4, q + 8 and q + 12 are
added in that order, for q = 0 to 3; then these four sums one after the other; then the last
``d mod 16`` coordinates one by one. This order fills vector registers without reassociation when
a row is read along its coordinates, and needs only two more sums when 64 rows are read at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.runtime.block_sizes import LANES

_FEW = 32
"""Rows up to which calls of NumPy take longer than what they do."""


def lane_sum(terms: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the sums of the rows of ``terms``, in the order defined above."""
    n, d = terms.shape
    full = d - d % LANES
    if full == 0:
        total: npt.NDArray[Any] = np.zeros(n, dtype=terms.dtype)
        for j in range(d):
            total += terms[:, j]
        return total
    if n <= _FEW and full == d < 8 * LANES:
        # Fewer calls of NumPy, which adds fewer than eight numbers one after the other.
        lanes = np.add.reduce(terms.reshape(n, -1, LANES), axis=1)
        sums = np.add.reduce(lanes.reshape(n, 4, LANES // 4), axis=1)
    else:
        lanes = terms[:, :LANES] + terms.dtype.type(0.0)
        for j in range(LANES, full, LANES):
            lanes += terms[:, j : j + LANES]
        sums = lanes[:, :4] + lanes[:, 4:8] + lanes[:, 8:12] + lanes[:, 12:]
    total = sums[:, 0] + sums[:, 1] + sums[:, 2] + sums[:, 3]
    for j in range(full, d):
        total += terms[:, j]
    return total
