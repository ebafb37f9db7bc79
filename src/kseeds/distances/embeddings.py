"""Embeddings: some metrics map rows to other points first, such as unit vectors.

An embedding also checks its domain: a zero vector has no direction, and degrees are not radians.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kseeds.distances.sparse_rows import SparseRows
from kseeds.runtime.memmap import empty_stored_like

Values: TypeAlias = Any
"""Rows of float32 or float64, dense or sparse."""

_ROWS = 4096
_CHECKED_ROWS = 65_536


@dataclass(frozen=True)
class Embedding:
    """How rows are mapped to the points that kernels compute with.

    Attributes
    ----------
    points : callable
        Returns the points of rows.
    check : callable
        Rejects rows outside the domain; its arguments are the rows, the name of the user's
        argument, and the name of the metric.
    columns : int or None
        How many columns the points have; None if as many as the rows.
    """

    points: Callable[[Values], Values]
    check: Callable[[Values, str, str], None]
    columns: int | None = None


def _unit_vectors(values: Values) -> Values:
    """Return rows divided by their norms.

    They are divided by their largest entry first: that keeps squares from overflowing, and rows
    that are exact multiples of each other get the same quotients, hence the same unit vectors.
    """
    if isinstance(values, SparseRows):
        return _sparse_unit_vectors(values)
    unit = empty_stored_like(values, values.shape, values.dtype)
    for lo in range(0, len(values), _ROWS):
        rows = values[lo : lo + _ROWS].astype(np.float64)
        rows /= np.abs(rows).max(axis=1, keepdims=True)
        rows /= np.sqrt((rows * rows).sum(axis=1, keepdims=True))
        unit[lo : lo + _ROWS] = rows
    return unit


def _sparse_unit_vectors(values: SparseRows) -> SparseRows:
    """Do what `_unit_vectors` does with sparse rows, none of them empty."""
    unit = np.empty(values.size, dtype=values.dtype)
    first = values.indptr[0]
    for lo, hi in values.blocks():
        part = values[lo:hi]
        rows = part.rows_of_entries
        entries = part.entries.astype(np.float64)
        entries /= np.maximum.reduceat(np.abs(entries), part.indptr[:-1] - part.indptr[0])[rows]
        entries /= np.sqrt(part.sums(entries * entries))[rows]
        unit[part.indptr[0] - first : part.indptr[-1] - first] = entries
    return values.with_entries(unit).without_zeros()


def _check_directions(values: Values, name: str, metric: str) -> None:
    if isinstance(values, SparseRows):
        _refuse_empty(np.flatnonzero(np.diff(values.indptr) == 0), name, metric)
        return
    for lo in range(0, len(values), _CHECKED_ROWS):
        empty = np.flatnonzero(~values[lo : lo + _CHECKED_ROWS].any(axis=1))
        _refuse_empty(lo + empty, name, metric)


def _refuse_empty(rows: npt.NDArray[np.int64], name: str, metric: str) -> None:
    if len(rows):
        raise ValueError(
            f"{name} has a zero vector at row {rows[0]}, which has no direction; "
            f"metric={metric!r} needs it dropped."
        )


def _on_the_globe(values: Values) -> Values:
    """Return latitude and longitude as unit vectors."""
    unit = empty_stored_like(values, (len(values), 3), values.dtype)
    for lo in range(0, len(values), _CHECKED_ROWS):
        latitude, longitude = values[lo : lo + _CHECKED_ROWS, :2].astype(np.float64).T
        rows = unit[lo : lo + _CHECKED_ROWS]
        rows[:, 0] = np.cos(latitude) * np.cos(longitude)
        rows[:, 1] = np.cos(latitude) * np.sin(longitude)
        rows[:, 2] = np.sin(latitude)
    return unit


def _check_latitudes(values: Values, name: str, metric: str) -> None:
    if values.shape[1] != 2:
        raise ValueError(
            f"{name} has {values.shape[1]} columns; metric={metric!r} takes two, latitude and "
            "longitude in radians."
        )
    limits = np.array([0.5 * np.pi, 2.0 * np.pi]) * (1.0 + 1e-6)
    for lo in range(0, len(values), _CHECKED_ROWS):
        beyond = np.abs(values[lo : lo + _CHECKED_ROWS]) > limits
        if not beyond.any():
            continue
        row, column = (int(at[0]) for at in np.nonzero(beyond))
        row += lo
        raise ValueError(
            f"{name} has {values[row, column]} at row {row}, column {column}, which is not a "
            f"{('latitude', 'longitude')[column]} in radians; convert degrees with "
            "numpy.radians."
        )


UNIT_VECTORS = Embedding(_unit_vectors, _check_directions)
GLOBE = Embedding(_on_the_globe, _check_latitudes, columns=3)
