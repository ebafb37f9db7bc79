"""Checks of the centres that a user passes, before any job is started."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.inputs.containers import to_array
from kseeds.inputs.finite import cast
from kseeds.inputs.points import check_values, two_dimensional


def check_centers(
    centers: Any,
    name: str,
    metric: str,
    columns: int | None = None,
    dtype: np.dtype[Any] | None = None,
    *,
    allow_empty: bool = False,
) -> npt.NDArray[Any]:
    """Return centres as an array, in the precision of the data if that is known.

    Parameters
    ----------
    centers : array-like, shape (m, d)
        What the user passed.
    name : str
        The name of the argument.
    metric : str
        The metric, whose domain is checked.
    columns : int, optional
        The number of columns of the data, if known.
    dtype : dtype, optional
        The precision of the data, if known.
    allow_empty : bool
        Whether m may be 0.
    """
    values = two_dimensional(to_array(centers, name), name, allow_empty=True)
    if len(values) == 0 and not allow_empty:
        raise ValueError(f"{name} is empty; pass at least one centre.")
    if columns is not None and values.shape[1] != columns:
        raise ValueError(
            f"{name} has {values.shape[1]} columns but the data has {columns}; pass rows of the "
            "same kind."
        )
    precision = np.dtype(np.float64) if dtype is None else dtype
    remedy = (
        "pass the data as float64"
        if precision == np.float32
        else "divide the data and the centres by a common factor"
    )
    values = cast(values, precision, name, f"the {precision} of the data", remedy, centers)
    if len(values):
        check_values(values, metric, name)
    return values
