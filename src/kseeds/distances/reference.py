"""Squared distances in plain NumPy: the definition that every kernel reproduces bit for bit.

The order in which the coordinates are summed is that of `kseeds.simd.lane_order`.
"""

from __future__ import annotations

import numpy as np

from kseeds.distances import sparse_reference
from kseeds.distances.arcs import arc_of
from kseeds.distances.by_function import squared_by_function
from kseeds.distances.metrics import SAME_DIRECTION, Family, FloatArray, Kind
from kseeds.distances.sparse_rows import Points, SparseRows
from kseeds.simd.lane_order import lane_sum

_ROWS = 2048
"""Rows processed at a time, so that temporaries stay in cache."""


def squared_distances(points: Points, center: Points, kind: Kind) -> FloatArray:
    """Return the squared distance of every row of ``points`` to ``center``.

    ``center`` may also hold one centre per row, unless the metric is a function.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds.distances.reference import squared_distances
    >>> from kseeds.distances.metrics import Family
    >>> squared_distances(np.array([[3.0, 4.0], [0.0, 1.0]]), np.zeros(2), Family.EUCLIDEAN)
    array([25.,  1.])
    """
    if isinstance(points, SparseRows):
        return sparse_reference.squared_distances(points, center, kind)
    if not isinstance(kind, Family):
        return squared_by_function(points, center, kind)
    squared = _SQUARED.get(kind)
    if squared is None:
        raise ValueError(f"family {kind!r} has no distance; add it to kseeds.distances.")
    out = np.empty(len(points), dtype=points.dtype)
    for lo in range(0, len(points), _ROWS):
        hi = lo + _ROWS
        mine = center if center.ndim == 1 else center[lo:hi]
        out[lo:hi] = squared(points[lo:hi], mine)
    return out


def squared_by_columns(columns: FloatArray, centers: FloatArray) -> FloatArray:
    """Return the squared Euclidean distances of rows to each of several centres, a row each.

    ``columns`` are the coordinates of the rows, fewer than 16: they are summed one by one.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds.distances.reference import squared_by_columns
    >>> squared_by_columns(np.array([[3.0, 0.0], [4.0, 1.0]]), np.zeros((1, 2)))
    array([[25.,  1.]])
    """
    total: FloatArray = np.square(columns[0] - centers[:, 0, None])
    for column, of_centers in zip(columns[1:], centers.T[1:], strict=True):
        total += np.square(column - of_centers[:, None])
    return total


def _euclidean(points: FloatArray, center: FloatArray) -> FloatArray:
    return lane_sum(np.square(points - center))


def _manhattan(points: FloatArray, center: FloatArray) -> FloatArray:
    total: FloatArray = np.square(lane_sum(np.abs(points - center)))
    return total


def _chebyshev(points: FloatArray, center: FloatArray) -> FloatArray:
    largest: FloatArray = np.square(np.abs(points - center).max(axis=1))
    return largest


def _arc(points: FloatArray, center: FloatArray) -> FloatArray:
    """Return squared arcs on the unit sphere.

    Beyond a right angle the arc is π minus that to the antipode, whose chord is short (the
    arcsine is ill-conditioned at 1).
    """
    chord2 = _euclidean(points, center)
    snap = (SAME_DIRECTION * np.finfo(chord2.dtype).eps) ** 2
    far = chord2 > 2.0
    near2 = np.where(far, chord2.dtype.type(0.0), chord2)
    arc = arc_of(near2.astype(np.float64))
    if far.any():
        opposite = center if center.ndim == 1 else center[far]
        other2 = lane_sum(np.square(points[far] + opposite)).astype(np.float64)
        arc[far] = np.pi - arc_of(other2)
    arc[chord2 <= snap] = 0.0
    squared: FloatArray = (arc * arc).astype(chord2.dtype)
    return squared


_SQUARED = {
    Family.EUCLIDEAN: _euclidean,
    Family.MANHATTAN: _manhattan,
    Family.CHEBYSHEV: _chebyshev,
    Family.ARC: _arc,
}
"""The function of each family; the compiled forms are in `kseeds.distances.pair_kernels`."""
