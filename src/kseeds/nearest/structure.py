"""How much structure the rows have: a cheap probe, before anything is built over them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray
from kseeds.nearest.costs import SAMPLE_ROWS
from kseeds.nearest.projection import largest_of, mean_of
from kseeds.runtime.blas import one_blas_thread

_TIMES = 8


class Sample:
    """256 of the rows, compared with each other as if they were rows and centres.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds.nearest.structure import Sample
    >>> line = np.random.default_rng(0).random((4000, 1)) * np.ones(5)
    >>> round(Sample(line).dimension())
    1
    """

    def __init__(self, points: FloatArray) -> None:
        sample = points[:: max(1, len(points) // SAMPLE_ROWS)][:SAMPLE_ROWS]
        self._rows = sample - mean_of(sample)
        self._rows /= largest_of(self._rows)  # squares may overflow, and nothing depends on units
        self._table = _squared_distances(self._rows)
        self._nearest = self._table.min(axis=1)

    def dimension(self) -> float:
        """Return about how many dimensions the rows fill, at the scale of the sample.

        Among q times as many points the nearest neighbour is q^(1/D) times as near; so the mean
        distance to the nearest of all sampled rows and to the nearest of an eighth of them give D.
        It is 0 where nearest neighbours coincide.
        """
        near, far = (
            float(np.sqrt(least).mean())
            for least in (self._nearest, self._table[:, ::_TIMES].min(axis=1))
        )
        if near == 0.0:
            return 0.0
        return math.log(_TIMES) / math.log(far / near) if near < far < math.inf else math.inf

    def left_open(self, directions: npt.NDArray[np.float64]) -> float:
        """Return the share of pairs that projections on ``directions`` cannot rule out.

        Those whose projections are nearer to each other than the nearest neighbour is.
        """
        with one_blas_thread():
            projected = self._rows @ directions
        table = _squared_distances(projected)
        return float((table <= self._nearest[:, None]).mean())

    def left_open_in_steps(self, directions: npt.NDArray[np.float64]) -> float:
        """Return the same of projections in steps, with the norms of what they leave out.

        As `kseeds.nearest.quantized_scan` has them.
        """
        with one_blas_thread():
            along = self._rows @ directions
        rest = np.maximum(_squares(self._rows) - _squares(along), 0.0)
        along = np.column_stack([along, np.sqrt(rest)])
        steps = np.maximum(np.abs(along).max(axis=1, keepdims=True), 1e-300) / 127.0
        whole = steps * np.rint(along / steps)
        squared = _squares(along)
        of_whole, of_rest = np.sqrt(_squares(whole)), np.sqrt(_squares(along - whole))
        # |x|² + |c|² − 2(x̂·ĉ + |x̂||e| + |r||c|) of all pairs, as one product.
        ones = np.ones(len(along))
        rows = np.column_stack([-2.0 * whole, -2.0 * of_whole, -2.0 * of_rest, squared, ones])
        others = np.column_stack([whole, of_rest, np.sqrt(squared), ones, squared])
        with one_blas_thread():
            bounds = rows @ others.T
        np.fill_diagonal(bounds, np.inf)
        return float(np.count_nonzero(bounds <= self._nearest[:, None]) / bounds.size)


def _squares(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the squared norms of rows."""
    found: npt.NDArray[np.float64] = np.einsum("ij,ij->i", rows, rows)
    return found


def _squared_distances(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the squared distances of all pairs, roughly; infinity for a row and itself."""
    norms = _squares(rows)
    with one_blas_thread():
        table: npt.NDArray[np.float64] = rows @ rows.T
    table *= -2.0
    table += norms
    table += norms[:, None]
    np.fill_diagonal(table, np.inf)
    return np.maximum(table, 0.0, out=table)
