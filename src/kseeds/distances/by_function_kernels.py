"""Distances by a function that the user compiled with Numba."""

from __future__ import annotations

from typing import Any

from kseeds.runtime.compiler import caller


@caller
def distances_by_function(function: Any, points: Any, center: Any, found: Any) -> None:
    """Write the dissimilarity of every row to ``center``."""
    for i in range(points.shape[0]):
        found[i] = function(points[i], center)
