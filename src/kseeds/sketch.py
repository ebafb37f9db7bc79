"""Sketches: a few coordinates whose distances never exceed those of the points.

The first q coordinates are those along the principal axes of a sample, the last is the norm
of the rest. For points x and c with remainders r_x and r_c,

    |x − c|² = |Px − Pc|² + |r_x − r_c|²  ≥  |Px − Pc|² + (|r_x| − |r_c|)²,

and at most |Px − Pc|² + (|r_x| + |r_c|)².
"""

from __future__ import annotations

import numpy as np

from kseeds.metrics import FloatArray
from kseeds.threads import Workers

_SAMPLE = 4096


class Sketch:
    """Principal coordinates and the norm of the rest.

    Parameters
    ----------
    points : ndarray
        The rows to learn the axes from.
    size : int, optional
        Coordinates of a sketch, the norm included; by default chosen by how much of the
        variance few axes hold, and 0 where sketches would be of no use.
    """

    def __init__(self, points: FloatArray, size: int | None = None) -> None:
        sample = points[:: max(1, len(points) // _SAMPLE)].astype(np.float64)
        self._middle = sample.mean(axis=0)
        sample -= self._middle
        variances, axes = np.linalg.eigh(sample.T @ sample)
        self.size = _useful_size(variances[::-1]) if size is None else size
        self._axes = np.ascontiguousarray(axes[:, ::-1][:, : max(self.size - 1, 0)])

    def of(self, points: FloatArray, workers: Workers) -> tuple[FloatArray, float]:
        """Return the sketches, and the largest distance from the middle."""
        sketches = np.empty((len(points), self.size), dtype=points.dtype)

        def task(start: int, stop: int) -> float:
            moved = points[start:stop].astype(np.float64) - self._middle
            along = moved @ self._axes
            whole = np.einsum("ij,ij->i", moved, moved)
            rest = whole - np.einsum("ij,ij->i", along, along)
            sketches[start:stop, :-1] = along
            sketches[start:stop, -1] = np.sqrt(np.maximum(rest, 0.0))
            return float(whole.max())

        largest = max(workers.over_blocks(task, len(points), 4096))
        return sketches, float(np.sqrt(largest))


def _useful_size(variances: FloatArray) -> int:
    """Return the size of a sketch that tells near from far, by the variances of the axes.

    A tree prunes well over 8 coordinates that leave out at most a tenth of the variance. In
    hundreds of dimensions 32 that leave out half still save most of the work on whole rows.
    """
    d, total = len(variances), float(variances.sum())
    if total <= 0.0:
        return 0
    if d > 8 and float(variances[7:].sum()) <= 0.1 * total:
        return 8
    if d >= 256 and float(variances[31:].sum()) <= 0.5 * total:
        return 32
    return 0
