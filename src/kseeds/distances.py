"""Squared distances from many rows to one centre, in plain NumPy.

This is the definition the compiled kernels must reproduce bit for bit: the order in which
the coordinates are summed is fixed here. Sixteen lanes take every sixteenth coordinate, the
lanes are folded in halves, and the last ``d mod 16`` coordinates are added one by one. That
order needs no permission to reassociate, yet it fills the vector registers of any machine.
"""

from __future__ import annotations

import numpy as np

from kseeds.function_metric import squared_by_function
from kseeds.layout import LANES
from kseeds.metrics import Family, FloatArray, Kind

ARC_SNAP = 4.0
"""Unit vectors closer than this many eps are the same direction: rounding put them apart."""

_ROWS = 2048
"""Rows a time, so that the temporaries stay in cache."""


def squared_distances(points: FloatArray, center: FloatArray, kind: Kind) -> FloatArray:
    """Return the squared distance of every row of ``points`` to ``center``.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds.distances import squared_distances
    >>> from kseeds.metrics import Family
    >>> squared_distances(np.array([[3.0, 4.0], [0.0, 1.0]]), np.zeros(2), Family.EUCLIDEAN)
    array([25.,  1.])
    """
    if not isinstance(kind, Family):
        return squared_by_function(points, center, kind)
    out = np.empty(len(points), dtype=points.dtype)
    for lo in range(0, len(points), _ROWS):
        block = points[lo : lo + _ROWS]
        out[lo : lo + _ROWS] = _block(block, center, kind)
    return out


def _block(points: FloatArray, center: FloatArray, family: Family) -> FloatArray:
    if family == Family.EUCLIDEAN:
        return _lane_sum(np.square(points - center))
    if family == Family.MANHATTAN:
        return np.square(_lane_sum(np.abs(points - center)))
    if family == Family.CHEBYSHEV:
        largest: FloatArray = np.abs(points - center).max(axis=1)
        return np.square(largest)
    return _squared_arc(_lane_sum(np.square(points - center)), points, center)


def _lane_sum(terms: FloatArray) -> FloatArray:
    n, d = terms.shape
    full = d - d % LANES
    lanes = np.zeros((n, LANES), dtype=terms.dtype)
    for j in range(0, full, LANES):
        lanes += terms[:, j : j + LANES]
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = lanes[:, :half] + lanes[:, half:]
    total = lanes[:, 0]
    for j in range(full, d):
        total = total + terms[:, j]
    return total


def _squared_arc(chord2: FloatArray, points: FloatArray, center: FloatArray) -> FloatArray:
    """Turn squared chords of the unit sphere into squared arcs.

    Beyond a right angle the arc is taken from the antipode, where the chord says it to full
    precision (asin is ill-conditioned at 1).
    """
    snap = (ARC_SNAP * np.finfo(chord2.dtype).eps) ** 2
    chord = np.sqrt(np.minimum(chord2, chord2.dtype.type(4.0)).astype(np.float64))
    arc = 2.0 * np.arcsin(0.5 * chord)
    far = chord2 > 2.0
    if far.any():
        other = np.sqrt(_lane_sum(np.square(points[far] + center)).astype(np.float64))
        arc[far] = np.pi - 2.0 * np.arcsin(0.5 * other)
    arc[chord2 <= snap] = 0.0
    squared: FloatArray = (arc * arc).astype(chord2.dtype)
    return squared
