"""Metrics that are functions of the user: their calls, and checks of what they return."""

from __future__ import annotations

import decimal
import numbers
from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import Dissimilarity, FloatArray
from kseeds.errors import clipped, shown

_ROWS = 4096
_NUMBERS = (numbers.Real, np.bool_, decimal.Decimal)


def squared_by_function(
    points: FloatArray, center: FloatArray, function: Dissimilarity
) -> FloatArray:
    """Return the squared dissimilarity of every row to ``center``."""
    found = dissimilarities(points, center, function)
    with np.errstate(over="ignore"):
        squared: FloatArray = np.square(found).astype(points.dtype)
    lost = np.flatnonzero(~np.isfinite(squared))
    if len(lost):
        remedy = " or pass the data as float64" if points.dtype == np.float32 else ""
        raise ValueError(
            f"metric={_name_of(function)} returned {found[lost[0]]}, whose square is more than "
            f"{points.dtype} holds; scale it down{remedy}."
        )
    return squared


def dissimilarities(
    points: FloatArray, center: FloatArray, function: Dissimilarity
) -> npt.NDArray[np.float64]:
    """Return the dissimilarity of every row to ``center``: finite numbers of 0 or more."""
    found = _answers(points, center, function)
    bad = np.flatnonzero(~((found >= 0.0) & np.isfinite(found)))
    if len(bad):
        raise ValueError(_complaint(function, found[bad[0]], points[bad[0]], center))
    return found


def _answers(
    points: FloatArray, center: FloatArray, function: Dissimilarity
) -> npt.NDArray[np.float64]:
    if hasattr(function, "py_func") and len(points):  # compiled by Numba: so is the loop
        from kseeds.distances.by_function_kernels import distances_by_function

        # Called once from Python first: an error of the compiled loop would not say that the
        # function returned something else than a number.
        _check_kinds([function(points[0], center)], points, center, function)
        found = np.empty(len(points))
        for lo in range(0, len(points), _ROWS):  # Ctrl-C is noticed between blocks
            hi = lo + _ROWS
            distances_by_function(function, points[lo:hi], center, found[lo:hi])
        return found
    answers = [function(point, center) for point in points]
    _check_kinds(answers, points, center, function)
    with np.errstate(over="ignore"):
        try:
            return np.array(answers, dtype=np.float64)
        except OverflowError:
            return np.array([_as_float(answer) for answer in answers])


def _check_kinds(
    answers: list[Any], points: FloatArray, center: FloatArray, function: Dissimilarity
) -> None:
    odd = {kind for kind in set(map(type, answers)) if not issubclass(kind, _NUMBERS)}
    for row, answer in enumerate(answers if odd else ()):
        if type(answer) in odd and not _is_number(answer):
            raise TypeError(_complaint(function, answer, points[row], center))


def _is_number(answer: Any) -> bool:
    """Return whether an object of another type than Python's numbers is a single real number."""
    if isinstance(answer, (str, bytes, np.ma.MaskedArray)):
        return False
    try:
        array = np.asarray(answer)
    except Exception:
        return False
    return array.ndim == 0 and array.dtype.kind in "biuf"


def _as_float(answer: Any) -> float:
    try:
        return float(answer)
    except OverflowError:
        return np.inf if answer > 0 else -np.inf


def _name_of(function: Dissimilarity) -> str:
    return clipped(str(getattr(function, "__name__", function)))


def _complaint(function: Dissimilarity, answer: Any, point: FloatArray, center: FloatArray) -> str:
    return (
        f"metric={_name_of(function)} returned {shown(answer)} for the rows {clipped(str(point))} "
        f"and {clipped(str(center))}; it must return one finite number of 0 or more."
    )
