"""Rows moved between the exact sums of clusters; see `kseeds.lloyd.sums`."""

from __future__ import annotations

from typing import Any

import numpy as np

from kseeds.runtime.compiler import inlined, kernel


@inlined
def move_values(old: Any, new: Any, anchors: Any, rest: Any, sums: Any) -> None:
    """Move the values ``rest``, which are lost, from one cluster to another."""
    for fold in range(anchors.shape[0]):
        anchor, into = anchors[fold], sums[fold, new]
        if old < 0:
            for j in range(rest.shape[0]):
                rounded = (rest[j] + anchor[j]) - anchor[j]
                rest[j] -= rounded
                into[j] += rounded
        else:
            out_of = sums[fold, old]
            for j in range(rest.shape[0]):
                rounded = (rest[j] + anchor[j]) - anchor[j]
                rest[j] -= rounded
                into[j] += rounded
                out_of[j] -= rounded


@inlined
def move_row(
    points: Any, weights: Any, i: int, old: int, new: int, anchors: Any, rest: Any, sums: Any
) -> None:
    """Move row i from cluster ``old``, unless that is negative, to cluster ``new``.

    ``rest`` is a workspace of as many values as there are columns, and one.
    """
    d = points.shape[1]
    weight = 1.0
    if weights.shape[0] > 0:
        weight = weights[i]
    for j in range(d):
        rest[j] = np.float64(points[i, j]) * weight
    rest[d] = weight
    move_values(old, new, anchors, rest, sums)


@kernel
def move_rows(
    points: Any, weights: Any, rows: Any, old: Any, new: Any, start: int, stop: int, anchors: Any,
    rest: Any, sums: Any,
) -> None:  # fmt: skip
    """Move the rows from place ``start`` to ``stop`` of ``rows`` to other clusters."""
    for s in range(start, stop):
        move_row(points, weights, rows[s], old[s], new[s], anchors, rest, sums)


@kernel
def look_at_columns(values: Any, origin: Any, largest: Any, first: Any, second: Any) -> None:
    """Add what rows, whose ``values`` follow each other, have to say of their columns.

    The largest absolute value of each, and the sums of x and x² with x about ``origin``. Several
    rows are looked at side by side, as many as have the length of ``origin`` together.
    """
    width = origin.shape[0]
    for low in range(0, values.shape[0], width):
        size = width if low + width < values.shape[0] else values.shape[0] - low
        for c in range(size):
            value = np.float64(values[low + c])
            most = abs(value)
            largest[c] = most if most > largest[c] else largest[c]
            moved = value - origin[c]
            first[c] += moved
            second[c] += moved * moved
