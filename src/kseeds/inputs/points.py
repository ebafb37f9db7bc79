"""Rows of points: to floats, checked for NaN and infinity, made ready for a metric."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds import metrics
from kseeds.inputs.arguments import check_metric
from kseeds.inputs.finite import cast, not_finite
from kseeds.inputs.tables import float_dtype, to_array
from kseeds.metrics import Dissimilarity, FloatArray, Metric
from kseeds.spool import contiguous

_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class Prepared:
    """Points in the two forms they are needed in.

    Attributes
    ----------
    values : ndarray
        The user's rows, C-contiguous float32 or float64: what centres are cut from.
    points : ndarray
        What the kernels see: scaled, normalised or embedded; often ``values`` itself. Always
        a read-only view, so that kernels are compiled for one kind of array only.
    metric : Metric
        The metric bound to these points.
    factor : float
        What the coordinates were multiplied by.
    """

    values: FloatArray
    points: FloatArray
    metric: Metric
    factor: float


def prepare_points(X: Any, metric: Any, *, name: str = "X", check_values: bool = True) -> Prepared:
    """Check ``X`` and make it ready for ``metric``.

    Without ``check_values`` the values are taken to be finite and of ordinary size: for a
    caller that is about to read them all anyway, and will notice if they are not.
    """
    known = check_metric(metric)
    values = two_dimensional(to_array(X, name), name)
    values = contiguous(values, float_dtype(values.dtype))
    largest = _largest_finite(values, name, X) if check_values else 1.0
    _check_domain(values, known, name)
    bound, factor = metrics.bind(known, values, largest)
    return Prepared(values, _read_only(metrics.prepare(known, values, factor)), bound, factor)


def prepare_like(reference: Prepared, X: Any, *, name: str) -> FloatArray:
    """Check more points and make them ready to be compared with ``reference``."""
    values = two_dimensional(to_array(X, name), name, allow_empty=True)
    columns = reference.values.shape[1]
    if values.shape[1] != columns:
        raise ValueError(
            f"{name} has {values.shape[1]} columns but the data has {columns}; "
            "pass rows of the same kind."
        )
    dtype = reference.values.dtype
    values = cast(values, dtype, name, f"the {dtype} of the data", "pass the data as float64", X)
    if values.size:
        largest = _largest_finite(values, name, X) * reference.factor
        if largest > math.ldexp(1.0, np.finfo(values.dtype).maxexp // 3):
            raise ValueError(
                f"{name} reaches {largest / reference.factor:.3g}, too far from the data to be "
                "compared with it; check its units."
            )
        _check_domain(values, reference.metric.name, name)
    return _read_only(metrics.prepare(reference.metric.name, values, reference.factor))


def _read_only(array: FloatArray) -> FloatArray:
    view = array.view()
    view.flags.writeable = False
    return view


def two_dimensional(
    array: npt.NDArray[Any], name: str, *, allow_empty: bool = False
) -> npt.NDArray[Any]:
    """Return ``array`` if it has rows and columns."""
    if array.ndim != 2 and array.size:
        remedy = (
            f"use {name}.reshape(-1, 1) for one column of data"
            if array.ndim == 1
            else "pass one row a point and one column a feature"
        )
        raise ValueError(f"{name} has {array.ndim} dimensions, not 2; {remedy}.")
    if array.ndim != 2 or array.shape[1] == 0 or (array.shape[0] == 0 and not allow_empty):
        raise ValueError(
            f"{name} is empty (shape {array.shape}); pass at least one row and one column."
        )
    return array


def check_values(values: FloatArray, metric: str | Dissimilarity, name: str) -> float:
    """Refuse what no distance can be computed of; return the largest absolute value."""
    largest = _largest_finite(values, name)
    _check_domain(values, metric, name)
    return largest


def _largest_finite(values: FloatArray, name: str, source: Any = None) -> float:
    """Return the largest absolute value; refuse NaN and infinity with their place."""
    rows = max(1, _BLOCK_BYTES // (values.shape[1] * values.itemsize))
    largest = 0.0
    for lo in range(0, len(values), rows):
        block = values[lo : lo + rows]
        # A NaN anywhere makes both extremes NaN, so two reductions see everything.
        high, low = float(block.max()), float(block.min())
        if not (math.isfinite(high) and math.isfinite(low)):
            raise not_finite(values, name, source)
        largest = max(largest, high, -low)
    return largest


def _check_domain(values: FloatArray, metric: str | Dissimilarity, name: str) -> None:
    if metric == "angular":
        for lo in range(0, len(values), 65536):
            empty = np.flatnonzero(~values[lo : lo + 65536].any(axis=1))
            if len(empty):
                raise ValueError(
                    f"{name} has a zero vector at row {lo + empty[0]}, which has no direction; "
                    "metric='angular' needs it dropped."
                )
    if metric == "haversine":
        if values.shape[1] != 2:
            raise ValueError(
                f"{name} has {values.shape[1]} columns; metric='haversine' takes two, latitude "
                "and longitude in radians."
            )
        limits = np.array([0.5 * np.pi, 2.0 * np.pi]) * (1.0 + 1e-6)
        for lo in range(0, len(values), 65536):
            beyond = np.abs(values[lo : lo + 65536]) > limits
            if not beyond.any():
                continue
            row, column = (int(at[0]) for at in np.nonzero(beyond))
            row += lo
            raise ValueError(
                f"{name} has {values[row, column]} at row {row}, column {column}, which is no "
                f"{('latitude', 'longitude')[column]} in radians; convert degrees with "
                "numpy.radians."
            )
