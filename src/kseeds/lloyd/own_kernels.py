"""The distances of rows to the centres that they are assigned to."""

from __future__ import annotations

from typing import Any

from kseeds.distances.pair_kernels import sum_of_squares
from kseeds.runtime.compiler import kernel


@kernel
def own_distances(
    points: Any, centers: Any, labels: Any, start: int, stop: int, squared: Any
) -> None:
    """Write the squared distances of the rows from ``start`` to ``stop`` to their centres."""
    for i in range(start, stop):
        squared[i] = sum_of_squares(points, i, centers, labels[i])
