"""Where matrix products are exact: whole numbers, of which nothing is rounded.

Categories, counts, pixels and ratings are such data. They have many ties, which products could
otherwise not decide.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray


def are_whole(values: FloatArray) -> bool:
    """Tell whether all values are whole numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds.nearest.whole_numbers import are_whole
    >>> are_whole(np.array([[1.0, -3.0]])), are_whole(np.array([[1.0, 0.5]]))
    (True, False)
    """
    # One row mostly tells, at no cost.
    return all(bool((part == np.rint(part)).all()) for part in (values[:1], values))


def exact_up_to(norms: npt.NDArray[np.floating], dtype: np.dtype[np.floating]) -> float:
    """Return up to which squared norm of a row its distances to centres are exact by products.

    ``norms`` are the squared norms of the centres. All are of whole numbers about a whole origin.
    Every partial sum of |x|² + |c|² − 2·x·c and of |x − c|² is at most (|x| + |c|)²; whole numbers
    up to 1/u, u being the unit roundoff, are not rounded. Negative if there is no such row.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds.nearest.whole_numbers import exact_up_to
    >>> round(exact_up_to(np.array([0.0]), np.dtype(np.float32))) == 2**23
    True
    """
    room = math.sqrt(1.0 / float(np.finfo(dtype).eps)) - math.sqrt(float(norms.max()))
    return room * room if room >= 0.0 else -1.0
