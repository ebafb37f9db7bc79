"""The compiled squared distance of two rows, bit for bit that of `kseeds.distances.reference`.

The order of summation is that of `kseeds.simd.lane_order`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kseeds.distances.arcs import arc_of
from kseeds.distances.metrics import SAME_DIRECTION, Family
from kseeds.runtime.compiler import inlined, kernel
from kseeds.simd.rows import lane_sum

sum_of_squares = lane_sum("square")
_sum_of_abs = lane_sum("abs")
_sum_of_squared_sums = lane_sum("square_of_sum")
_max_of_abs = lane_sum("max_abs")
_arc_of = inlined(arc_of)

_MANHATTAN = int(Family.MANHATTAN)
_CHEBYSHEV = int(Family.CHEBYSHEV)
_ARC = int(Family.ARC)
_SNAP32 = (SAME_DIRECTION * 2.0**-23) ** 2
_SNAP64 = (SAME_DIRECTION * 2.0**-52) ** 2


@inlined
def squared_distance(A: Any, i: int, B: Any, j: int, family: Any) -> Any:
    """Return the squared distance of row i of A and row j of B, in their own precision.

    ``family`` is that of the metric, or None for Euclidean. Numba removes the branch that None
    does not take before it compiles, so Euclidean jobs do not wait for the other metrics.
    """
    if family is None:
        return sum_of_squares(A, i, B, j)
    return _other_squared_distance(A, i, B, j, family)


@kernel
def _other_squared_distance(A: Any, i: int, B: Any, j: int, family: int) -> Any:
    """Compute the other families; not inlined, because their code is long."""
    if family == _MANHATTAN:
        total = _sum_of_abs(A, i, B, j)
        return total * total
    if family == _CHEBYSHEV:
        largest = _max_of_abs(A, i, B, j)
        return largest * largest
    if family != _ARC:
        raise ValueError("a family of metrics that no kernel computes")
    chord2 = sum_of_squares(A, i, B, j)
    if chord2 <= (_SNAP32 if A.itemsize == 4 else _SNAP64):
        return A.dtype.type(0.0)
    if chord2 <= 2.0:
        arc = _arc_of(np.float64(chord2))
    else:
        arc = math.pi - _arc_of(np.float64(_sum_of_squared_sums(A, i, B, j)))
    return A.dtype.type(arc * arc)


@kernel
def squared_distances_to_earlier(centers: Any, new: int, family: Any, out: Any) -> None:
    """Write the squared distances of centre ``new`` to the centres before it."""
    for j in range(new):
        out[j] = squared_distance(centers, j, centers, new, family)
