"""Rows meet a batch of centres, in plain NumPy.

Many dimensions go through matrix products. Those lose digits, so they only pick candidates:
whatever lies within the error bound of the best is computed again, difference by difference.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import Family, FloatArray, Kind
from kseeds.distances.reference import squared_distances
from kseeds.runtime.block_sizes import LANES
from kseeds.simd.lane_order import lane_sum


def meet(
    points: FloatArray,
    centers: FloatArray,
    first: int,
    kind: Kind,
    best: FloatArray,
    labels: npt.NDArray[np.int32],
) -> tuple[FloatArray, npt.NDArray[np.int32]]:
    """Let rows meet the centres ``first`` onward; return their nearest, ties to the earlier.

    ``best`` and ``labels`` are what the rows know of the centres before; a centre that is
    met again changes nothing.
    """
    centers = centers[first:]
    if kind is not Family.EUCLIDEAN:
        for s, center in enumerate(centers, first):
            distances = squared_distances(points, center, kind)
            nearer = distances < best
            best, labels = np.where(nearer, distances, best), np.where(nearer, s, labels)
        return best, labels.astype(np.int32)
    if points.shape[1] < LANES:
        table = np.zeros((len(points), len(centers)), dtype=points.dtype)
        for j in range(points.shape[1]):
            table += np.square(points[:, j, None] - centers[:, j])
        near = table.argmin(axis=1)
        distances = table[np.arange(len(table)), near]
        nearer = distances < best
        return np.where(nearer, distances, best), np.where(nearer, near + first, labels)
    best, labels = best.copy(), labels.copy()
    at, near = _candidates(points, centers, best)
    distances = lane_sum(np.square(points[at] - centers[near]))
    # Per row the smallest distance, and of equal ones the earliest centre, comes first.
    order = np.lexsort((near, distances, at))
    at, first_of_row = np.unique(at[order], return_index=True)
    near, distances = near[order][first_of_row], distances[order][first_of_row]
    nearer = distances < best[at]
    best[at[nearer]], labels[at[nearer]] = distances[nearer], near[nearer] + first
    return best, labels


def _candidates(
    points: FloatArray, centers: FloatArray, best: FloatArray
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the (row, centre) pairs that a matrix product cannot tell from the nearest.

    |x − c|² = |x|² + |c|² − 2·x·c errs by less than 4(d + 8)·eps·(|x|² + |c|²); moving the
    origin to the middle of the centres keeps those norms, and so the error, small.
    """
    middle = centers.mean(axis=0, dtype=np.float64).astype(centers.dtype)
    x, c = points - middle, centers - middle
    x2, c2 = np.einsum("ij,ij->i", x, x), np.einsum("ij,ij->i", c, c)
    table = x @ c.T
    table *= -2.0
    table += c2
    table += x2[:, None]
    error = 4.0 * (x.shape[1] + 8) * np.finfo(x.dtype).eps * (x2 + c2.max())
    smallest = table.min(axis=1)
    possible = smallest - error < best
    at, near = np.nonzero((table <= (smallest + 2.0 * error)[:, None]) & possible[:, None])
    return at, near
