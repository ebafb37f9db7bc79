"""Sparse data: which of it is drawn from as if it were dense."""

from __future__ import annotations

from typing import Any

_FEW = 1 << 16
"""Entries that are converted however many of them are 0: it takes no time."""
_FILLED = 0.25
"""The share of entries that are stored, from which on dense arithmetic is faster."""


def is_sparse(X: Any) -> bool:
    """Tell whether data is a sparse matrix or array of SciPy, which need not be imported."""
    return hasattr(X, "tocsr")


def dense_if_cheap(X: Any) -> Any:
    """Return data as an array if it is sparse in name only; else as it is.

    Then the seeds are those of the same data in an array.
    """
    if not is_sparse(X):
        return X
    entries = X.shape[0] * X.shape[1]
    return X.toarray() if entries <= max(_FEW, X.nnz / _FILLED) else X
