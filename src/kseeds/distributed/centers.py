"""Checks of the centres that a user passes, before any job is started."""

from __future__ import annotations

from typing import Any

import numpy as np

from kseeds.distances.metrics import definition_of
from kseeds.distances.sparse_rows import Points, SparseRows, is_sparse
from kseeds.inputs.containers import to_array
from kseeds.inputs.finite import cast
from kseeds.inputs.points import check_values, two_dimensional
from kseeds.inputs.sparse import cast_entries, from_dense, is_sparse_data, sparse_rows


def check_centers(
    centers: Any,
    name: str,
    metric: str,
    columns: int | None = None,
    dtype: np.dtype[Any] | None = None,
    *,
    allow_empty: bool = False,
) -> Points:
    """Return centres as they are, in the precision of the data if that is known.

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
    values: Points
    if isinstance(centers, SparseRows):  # checked before
        values = centers
    elif is_sparse_data(centers):
        values = sparse_rows(centers, name, allow_empty=True)
    else:
        array = to_array(centers, name)
        values = two_dimensional(array, name, allow_empty=True, columns=columns)
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
    if is_sparse(values):
        values = cast_entries(values, precision, name, f"the {precision} of the data", remedy)
    else:
        values = cast(values, precision, name, f"the {precision} of the data", remedy, centers)
    if len(values) and (not is_sparse(values) or definition_of(metric).sparse):
        check_values(values, metric, name)
    return values


def in_form(centers: Points, form: str) -> Points:
    """Return centres sparse if the data has a sparse ``form``, else dense."""
    if is_sparse(centers):
        return centers if form else centers.toarray()
    return from_dense(centers) if form else centers
