"""Sums of squares of all values, with which data is checked before any work."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_ALONE = 8192
"""Values whose scalar product BLAS computes on one thread, whatever it is set to."""


def sum_of_squares(values: npt.NDArray[np.floating]) -> float:
    """Return the sum of the squares of contiguous values, at the speed of memory.

    As scalar products of few values each: for longer ones BLAS would wake its threads, which go on
    spinning when it has returned, and would take a core from whatever comes next.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds.runtime.squares import sum_of_squares
    >>> sum_of_squares(np.full((100, 200), 2.0))
    80000.0
    """
    flat = values.reshape(-1)
    whole = len(flat) // _ALONE * _ALONE
    table, rest = flat[:whole].reshape(-1, _ALONE), flat[whole:]
    return float(np.vecdot(table, table).sum(dtype=np.float64)) + float(np.vecdot(rest, rest))
