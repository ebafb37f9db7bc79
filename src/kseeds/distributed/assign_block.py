"""The task of `assign` on one partition: the nearest centre of each of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray
from kseeds.inputs import check_weights, prepare_together
from kseeds.nearest.finish import exact_centers, finish
from kseeds.runtime.threads import Workers


def assign_block(
    block: Any, centers: npt.NDArray[Any], metric: str
) -> tuple[npt.NDArray[np.int32], FloatArray]:
    """Return the labels and distances of the rows of a block, on one thread."""
    prepared, known = prepare_together(block, centers, metric, names=("X", "centers"))
    weights = check_weights(None, len(prepared.points))
    exact = exact_centers(prepared, known)
    labels, distances, _ = finish(prepared, weights, None, known, exact, Workers(1))
    return labels, distances
