"""The points: converted to floats, checked for NaN and infinity, and prepared for a metric."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.distances import metrics
from kseeds.distances.metrics import Dissimilarity, FloatArray, Metric
from kseeds.distances.sparse_rows import Points, SparseRows, is_sparse
from kseeds.inputs.arguments import check_metric
from kseeds.inputs.containers import float_dtype, to_array
from kseeds.inputs.finite import cast, not_finite
from kseeds.inputs.places import column_labels
from kseeds.inputs.sparse import (
    check_sparse_metric,
    is_sparse_data,
    not_finite_entry,
    rows_like,
    sparse_rows,
)
from kseeds.runtime.aligned import read_only
from kseeds.runtime.memmap import contiguous
from kseeds.runtime.squares import sum_of_squares
from kseeds.runtime.threads import Workers

_BLOCK_BYTES = 1 << 20
_BLOCK_VALUES = 1 << 18
_OTHER_UNITS = {np.dtype(np.float32): 2.0**-60, np.dtype(np.float64): 2.0**-500}


@dataclass(frozen=True)
class Prepared:
    """The points as the user passed them, and as the kernels need them.

    Attributes
    ----------
    values : ndarray or SparseRows
        The user's rows, C-contiguous float32 or float64; seeds are copied from these.
    points : ndarray or SparseRows
        The input of the kernels: scaled, normalised or embedded; often ``values`` itself. Always
        a read-only view, so that kernels are compiled for one type of array only.
    metric : Metric
        The metric bound to these points.
    factor : float
        The power of two that the coordinates were multiplied by.
    checked : bool
        Whether the values are known to be finite, and their squares neither to overflow nor to
        underflow.
    others : ndarray or SparseRows
        Rows that were prepared together with these (initial centres, say), in the user's units.
    """

    values: Points
    points: Points
    metric: Metric
    factor: float
    checked: bool
    others: Points

    @property
    def exact(self) -> Points:
        """The rows for `kseeds.distances.underflow`: unscaled, but normalised or embedded."""
        return self.points if self.metric.is_embedded else self.values


def prepare_points(X: Any, metric: Any, *, name: str = "X") -> Prepared:
    """Check ``X`` and prepare it for ``metric``, as dense rows."""
    dense = to_array(X, name) if is_sparse_data(X) else X
    return prepare_together(dense, None, metric, names=(name, ""))[0]


def prepare_together(
    X: Any,
    others: Any,
    metric: Any,
    *,
    names: tuple[str, str],
    check_values: bool = True,
    same_units: bool = False,
    workers: Workers | None = None,
) -> tuple[Prepared, Points]:
    """Check two sets of rows and prepare both with one scale, so that they can be compared.

    Without ``check_values`` the values of ``X`` are assumed to be finite and of ordinary size
    (unless the others are not): for callers that read all values anyway and detect bad ones then.
    ``others`` may be None. With ``same_units`` they are rejected if they are so much larger than
    ``X`` that they must be in other units.
    """
    known, workers = check_metric(metric), workers or Workers(1)
    values = _rows(X, known, names[0], workers)
    more = values[:0]
    largest = 0.0
    if others is not None:
        more = _rows_like(values, others, names[1])
        if not is_sparse(more):
            more = more.copy()  # since labels may be computed from it long after the call
        largest = _largest_finite(more, names[1], others)
        _check_domain(more, known, names[1])
    checked = check_values or is_sparse(values) or metrics.factor_for(values.dtype, largest) != 1.0
    largest_of_X = _largest_finite(values, names[0], X, workers) if checked else 1.0
    if same_units and not callable(known):
        check_units(values.dtype, largest_of_X, largest, names[1])
    largest = max(largest, largest_of_X)
    _check_domain(values, known, names[0])
    bound, factor = metrics.bind(known, values, largest)
    prepared = Prepared(values, _ready(known, values, factor), bound, factor, checked, more)
    return prepared, _ready(known, more, factor)


def _rows(X: Any, metric: str | Dissimilarity, name: str, workers: Workers) -> Points:
    """Return data as rows of floats, sparse if it is."""
    if is_sparse_data(X):
        check_sparse_metric(metric, name)
        return sparse_rows(X, name, n_threads=workers.n_threads)
    values = two_dimensional(to_array(X, name), name)
    return contiguous(values, float_dtype(values.dtype), workers)


def prepare_like(reference: Prepared, X: Any, *, name: str) -> tuple[FloatArray, FloatArray]:
    """Check more rows; return them prepared like ``reference``, and in the user's units."""
    values = _rows_like(reference.values, X, name)
    largest = _largest_finite(values, name, X)
    if largest * reference.factor > math.ldexp(1.0, np.finfo(values.dtype).maxexp // 3):
        raise _too_far(name, largest)
    _check_domain(values, reference.metric.given, name)
    return _ready(reference.metric.given, values, reference.factor), values


def check_units(dtype: np.dtype[Any], largest: float, of_others: float, name: str) -> None:
    """Reject rows that are so much larger than the data that they must be in other units.

    Only where both have to be scaled, because only then the values of the data are read.
    """
    far = 0.0 < largest < of_others * _OTHER_UNITS[dtype]
    if far and metrics.factor_for(dtype, of_others) != 1.0:
        raise _too_far(name, of_others)


def _too_far(name: str, largest: float) -> ValueError:
    return ValueError(
        f"{name} reaches {largest:.3g}, too far from the data to be compared with it; check its "
        "units."
    )


def _rows_like(reference: Points, X: Any, name: str) -> Points:
    """Return rows, possibly none, in the precision of ``reference``; check their columns."""
    if isinstance(X, SparseRows):  # checked before
        return X.astype(reference.dtype) if is_sparse(reference) else X.toarray()
    if is_sparse(reference) and is_sparse_data(X):
        return rows_like(reference, X, name)
    columns = reference.shape[1]
    values = two_dimensional(to_array(X, name), name, allow_empty=True, columns=columns)
    if is_sparse(reference):
        return rows_like(reference, X, name, values)
    if values.shape[1] != reference.shape[1]:
        raise ValueError(
            f"{name} has {values.shape[1]} columns but the data has {reference.shape[1]}; "
            "pass rows of the same kind."
        )
    dtype = reference.dtype
    return cast(values, dtype, name, f"the {dtype} of the data", "pass the data as float64", X)


def _ready(metric: str | Dissimilarity, values: Points, factor: float) -> Points:
    points = metrics.prepare(metric, values, factor)
    return points if is_sparse(points) else read_only(points)


def two_dimensional(
    array: npt.NDArray[Any], name: str, *, allow_empty: bool = False, columns: int | None = 1
) -> npt.NDArray[Any]:
    """Return ``array`` if it has rows and columns.

    ``columns`` is how many a single dimension is likely to have meant, None if that is unknown.
    """
    if array.ndim != 2 and array.size:
        if array.ndim != 1:
            remedy = "pass one row per point and one column per feature"
        elif columns == 1:
            remedy = f"use {name}.reshape(-1, 1) for one column of data"
        elif columns in (None, array.size):
            remedy = f"use {name}.reshape(1, -1) for a single row"
        else:
            remedy = f"pass rows of {columns} columns, as the data has"
        raise ValueError(f"{name} has {array.ndim} dimensions, not 2; {remedy}.")
    if array.ndim != 2 or array.shape[1] == 0 or (array.shape[0] == 0 and not allow_empty):
        raise ValueError(
            f"{name} is empty (shape {array.shape}); pass at least one row and one column."
        )
    return array


def check_values(
    values: Points, metric: str | Dissimilarity, name: str, labels: list[Any] | None = None
) -> float:
    """Reject values that have no distance in ``metric``; return the largest absolute value.

    ``labels`` are the names of the columns, for messages.
    """
    if is_sparse(values):
        check_sparse_metric(metric, name)
        largest = _largest_finite(values, name)
    else:
        largest = _largest(values)
        if math.isnan(largest):
            raise not_finite(values, name, labels)
    _check_domain(values, metric, name)
    return largest


def _largest_finite(
    values: Points, name: str, source: Any = None, workers: Workers | None = None
) -> float:
    """Return the largest absolute value; reject NaN and infinity."""
    largest = _largest(values.entries[:, None] if is_sparse(values) else values, workers)
    if math.isnan(largest):
        if is_sparse(values):
            raise not_finite_entry(values, name)
        raise not_finite(values, name, column_labels(source))
    return largest


def _largest(values: FloatArray, workers: Workers | None = None) -> float:
    """Return the largest absolute value, or NaN if a value is not finite.

    If the root mean square shows that the values need no scaling, it is returned in place of the
    largest value, because it takes less time.
    """
    typical = _typical(values, workers or Workers(1))
    if typical is not None:
        return typical
    rows = max(1, _BLOCK_BYTES // (values.shape[1] * values.itemsize))
    largest = 0.0
    for lo in range(0, len(values), rows):
        block = values[lo : lo + rows]
        # A NaN anywhere makes both extremes NaN, so two reductions see everything.
        high, low = float(block.max()), float(block.min())
        if not (math.isfinite(high) and math.isfinite(low)):
            return math.nan
        largest = max(largest, high, -low)
    return largest


def _typical(values: FloatArray, workers: Workers) -> float | None:
    """Return the root mean square, if it shows that all values are finite and need no scaling.

    A NaN or an infinity among the values makes the result NaN or infinite. If it is finite, the
    largest value lies between it and √size times it.
    """
    flat = values.reshape(-1)

    def task(start: int, stop: int) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            return sum_of_squares(flat[start:stop])

    total = sum(workers.over_blocks(task, len(flat), _BLOCK_VALUES))
    if not (math.isfinite(total) and total > 0.0):
        return None
    mean, most = math.sqrt(total / len(flat)), math.sqrt(total)
    is_ordinary = all(metrics.factor_for(values.dtype, one) == 1.0 for one in (mean, most))
    return mean if is_ordinary else None


def _check_domain(values: Points, metric: str | Dissimilarity, name: str) -> None:
    embedding = metrics.definition_of(metric).embedding
    if embedding is not None:
        embedding.check(values, name, str(metric))
