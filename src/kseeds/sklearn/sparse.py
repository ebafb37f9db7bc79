"""Sparse data: which of it is drawn from as if it were dense, and which by scikit-learn."""

from __future__ import annotations

from typing import Any

_FEW = 1 << 16
"""Entries that are converted however many of them are 0: it takes no time."""
_FILLED = 0.25
"""The share of entries that are stored, from which on dense arithmetic is faster."""
_STEP, _ENTRY = 250e3, 8.0
"""What scikit-learn takes for a seed, and for an entry: nanoseconds, as measured."""
_FIXED, _READ, _OUR_STEP, _OUR_ENTRY = 1e6, 50.0, 100e3, 1.5
"""What kseeds takes once, once for an entry, for a seed, and for each entry at every seed."""
_LEAST = 20e6
"""Below this the kernels may not be loaded yet, and nothing would be gained."""


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


def theirs_is_faster(X: Any, n_clusters: int) -> bool:
    """Tell whether scikit-learn draws seeds of sparse data as fast: from little of it, or few.

    It depends on nothing but the data, so that the same random state has the same seeds.
    """
    entries = X.nnz
    theirs = n_clusters * (_STEP + _ENTRY * entries)
    ours = _FIXED + _READ * entries + n_clusters * (_OUR_STEP + _OUR_ENTRY * entries)
    return bool(theirs < max(_LEAST, ours))
