"""Rows compared with a batch of centres in plain NumPy: no compiler, so no waiting for one.

Many dimensions go through matrix products. Those lose digits, so they only pick candidates:
whatever lies within the error bound of the best is computed again, difference by difference.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import Family, FloatArray, Kind, Metric
from kseeds.distances.reference import squared_distances
from kseeds.nearest.state import Counts, Nearest
from kseeds.runtime.block_sizes import LANES
from kseeds.runtime.compile_policy import without_compiler
from kseeds.runtime.threads import Workers, blocks_of
from kseeds.simd.lane_order import lane_sum

_ENTRIES = 1 << 19
"""Distances computed at a time: few enough for the cache."""
_CENTERS = 8192


class Plain:
    """See `kseeds.nearest.base.Strategy`; every metric, functions too."""

    def __init__(self, points: FloatArray, metric: Metric) -> None:
        self._points, self._metric = points, metric

    def update(self, nearest: Nearest, centers: FloatArray, first: int, workers: Workers) -> Counts:
        """See `kseeds.nearest.base.Strategy`."""
        squared, labels = nearest.squared, nearest.labels
        with without_compiler():
            for low, high in blocks_of(len(centers), _CENTERS):
                rows = max(64, min(2048, _ENTRIES // (high - low)))
                for start, stop in blocks_of(len(self._points), rows):
                    squared[start:stop], labels[start:stop] = compare(
                        self._points[start:stop], centers[low:high], first + low,
                        self._metric.kind, squared[start:stop], labels[start:stop],
                    )  # fmt: skip
        computed = len(self._points) * len(centers)
        return Counts(computed, 0, computed)


def compare(
    points: FloatArray,
    centers: FloatArray,
    first: int,
    kind: Kind,
    best: FloatArray,
    labels: npt.NDArray[np.int32],
) -> tuple[FloatArray, npt.NDArray[np.int32]]:
    """Compare rows with centres numbered from ``first``; return their nearest, ties to the lowest.

    ``best`` and ``labels`` are what is known of the rows; a centre that they were compared with
    before changes nothing.
    """
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
    # Per row the smallest distance, and of equal ones the lowest number, comes first.
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
    origin to the mean of the centres keeps those norms, and so the error, small.
    """
    mean = centers.mean(axis=0, dtype=np.float64).astype(centers.dtype)
    x, c = points - mean, centers - mean
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
