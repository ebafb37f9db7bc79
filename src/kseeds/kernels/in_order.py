"""Squared distances summed coordinate after coordinate, as those to columns are."""

from __future__ import annotations

from typing import Any

from kseeds.compile import inlined
from kseeds.kernels.pairs import EUCLIDEAN, squared_distance
from kseeds.layout import LANES


@inlined
def squared_distance_in_order(
    points: Any, i: int, centers: Any, s: int, family: int, limit: float
) -> Any:
    """Return the squared distance as the kernels of columns do: coordinate after coordinate.

    Stops early, with what it has, once that has reached ``limit``.
    """
    if family != EUCLIDEAN:
        return squared_distance(points, i, centers, s, family)
    d = points.shape[1]
    total = points.dtype.type(0.0)
    for lo in range(0, d, LANES):
        for j in range(lo, min(lo + LANES, d)):
            difference = points[i, j] - centers[s, j]
            total += difference * difference
        if total >= limit:
            break
    return total


@inlined
def distances_in_order(
    points: Any, rows: Any, centers: Any, whose: Any, count: int, exact: Any
) -> None:
    """Write the squared distances of ``count`` rows to one centre each, ``whose``; Euclidean.

    Four side by side: one sum waits for its last addition, but not for those of the others.
    """
    last = count - 1
    zero = points.dtype.type(0.0)
    for at in range(0, count, 4):
        b, c, d = min(at + 1, last), min(at + 2, last), min(at + 3, last)
        i0, i1, i2, i3 = rows[at], rows[b], rows[c], rows[d]
        k0, k1, k2, k3 = whose[at], whose[b], whose[c], whose[d]
        s0, s1, s2, s3 = zero, zero, zero, zero
        for j in range(points.shape[1]):
            e0, e1 = points[i0, j] - centers[k0, j], points[i1, j] - centers[k1, j]
            e2, e3 = points[i2, j] - centers[k2, j], points[i3, j] - centers[k3, j]
            s0 += e0 * e0
            s1 += e1 * e1
            s2 += e2 * e2
            s3 += e3 * e3
        exact[at], exact[b], exact[c], exact[d] = s0, s1, s2, s3
