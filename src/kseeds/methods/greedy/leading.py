"""The columns in which rows differ most, if few have most of the variance.

A distance in some of the columns is never more than that in all. Where the columns of the largest
variance have most of it, they rule out almost as many pairs as all of them do, at a fraction of
the price.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray
from kseeds.nearest import costs
from kseeds.runtime.block_sizes import LANES

_SAMPLED = 512
_MULTIPLE = 4


def leading_columns(points: FloatArray) -> npt.NDArray[np.int64]:
    """Return which columns have most of the variance, in their order; or all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds.methods.greedy.leading import leading_columns
    >>> X = np.random.default_rng(0).normal(size=(1000, 20))
    >>> len(leading_columns(X))
    20
    >>> X[:, 7] *= 50.0
    >>> 7 in leading_columns(X), len(leading_columns(X))
    (True, 8)
    """
    n, d = points.shape
    everything = np.arange(d)
    if d < LANES:
        return everything
    sample = points[:: max(1, n // _SAMPLED)].astype(np.float64)
    variances = sample.var(axis=0)
    order = np.argsort(-variances, kind="stable")
    explained = np.cumsum(variances[order])
    count = 1 + int(np.searchsorted(explained, costs.GREEDY_LEADING[0] * explained[-1]))
    # A few more: they cost little, and rule out more.
    count = _MULTIPLE * (1 + -(-count // _MULTIPLE))
    return np.sort(order[:count]) if count <= costs.GREEDY_LEADING[1] * d else everything
