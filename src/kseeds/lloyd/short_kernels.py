"""Lloyd's iteration on one thread, as many iterations a call as are sure to come."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kseeds.lloyd.sums_kernels import move_row
from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.compiler import inlined, kernel
from kseeds.simd.columns import column_sums
from kseeds.simd.tables import keep_nearer

_SURE = 1.0 + 1e-9
"""By how much movements must exceed what ends the iteration: more than sums are rounded."""

_squares = column_sums()
_keep_nearer = keep_nearer()


class Fitted(NamedTuple):
    """Rows, also as columns of 64 (``tiles``), and what is known of them."""

    points: Any
    tiles: Any
    labels: Any
    squared: Any


class Clusters(NamedTuple):
    """The centres, the means that they move to, and the sums of `kseeds.lloyd.sums`."""

    centers: Any
    means: Any
    sums: Any
    anchors: Any
    weights: Any


class Space(NamedTuple):
    """A workspace: what is found for 64 rows, and a row with its weight."""

    sums: Any
    squared: Any
    labels: Any
    rest: Any


@inlined
def _assign(rows: Fitted, clusters: Clusters, space: Space) -> int:
    """Find the nearest centre of every row; return how many rows have another now."""
    n, d = rows.points.shape
    changed, squared, labels = 0, space.squared, space.labels
    for low in range(0, n, COLUMNS):
        size = COLUMNS if low + COLUMNS < n else n - low
        for c in range(COLUMNS):
            squared[c], labels[c] = np.inf, 0
        for c in range(size, COLUMNS):
            squared[c] = 0.0  # nothing is nearer: columns without a row never ask for more
        for s in range(clusters.centers.shape[0]):
            if _squares(clusters.centers, s, rows.tiles, low * d, squared, space.sums):
                _keep_nearer(space.sums, s, squared, labels)
        for c in range(size):
            i, new = low + c, labels[c]
            rows.squared[i] = squared[c]
            if rows.labels[i] != new:
                move_row(
                    rows.points, clusters.weights, i, rows.labels[i], new, clusters.anchors,
                    space.rest, clusters.sums,
                )  # fmt: skip
                rows.labels[i] = new
                changed += 1
    return changed


@inlined
def _move(clusters: Clusters) -> float:
    """Write the means of the clusters; return the sum of their squared movements, about.

    Less than 0 if a cluster has no weight. The means are those of `kseeds.lloyd.iteration`, to the
    last bit.
    """
    (folds, k, width), shift = clusters.sums.shape, 0.0
    for s in range(k):
        mass = clusters.sums[folds - 1, s, width - 1]
        for fold in range(folds - 2, -1, -1):  # the small ones first
            mass += clusters.sums[fold, s, width - 1]
        if not mass > 0.0:
            return -1.0
        for j in range(width - 1):
            total = clusters.sums[folds - 1, s, j]
            for fold in range(folds - 2, -1, -1):
                total += clusters.sums[fold, s, j]
            clusters.means[s, j] = total / mass
            apart = np.float64(clusters.means[s, j]) - np.float64(clusters.centers[s, j])
            shift += apart * apart
    return shift


@kernel
def skip_ahead(
    rows: Fitted, clusters: Clusters, tol: float, at_most: int, at_a_time: int, space: Space
) -> Any:
    """Assign rows and move centres while it is sure that another iteration follows.

    Returns how many iterations were done, ``at_most`` and ``at_a_time`` at most, and how many rows
    have changed their cluster since: rows are assigned to the centres, which have not moved yet.
    That is left to `kseeds.lloyd.iteration` where it may be the last time, or a cluster is empty.
    It is -1 after ``at_a_time`` iterations, when rows have not been assigned.
    """
    done = 0
    while done < at_a_time:
        changed = _assign(rows, clusters, space)
        if done == at_most or changed == 0:
            return done, changed
        shift = _move(clusters)
        if not shift > tol * _SURE:
            return done, changed
        for s in range(clusters.centers.shape[0]):
            for j in range(clusters.centers.shape[1]):
                clusters.centers[s, j] = clusters.means[s, j]
        done += 1
    return done, -1
