"""Every row meets a batch of centres, one by one: the brute force the others must equal."""

from __future__ import annotations

from typing import Any

from kseeds.compile import kernel
from kseeds.kernels.pairs import squared_distance


@kernel
def brute_force(
    points: Any,
    start: int,
    stop: int,
    centers: Any,
    first: int,
    family: int,
    squared: Any,
    labels: Any,
) -> int:
    """Let rows ``start`` to ``stop`` meet centres ``first`` onward; ties keep the earlier."""
    for i in range(start, stop):
        best, label = squared[i], labels[i]
        for j in range(first, centers.shape[0]):
            found = squared_distance(points, i, centers, j, family)
            if found < best:
                best, label = found, j
        squared[i], labels[i] = best, label
    return (stop - start) * (centers.shape[0] - first)
