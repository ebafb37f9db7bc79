"""Weights of rows: checked, and scaled so that their size is of no account."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.inputs.containers import to_array
from kseeds.sampling.clocks import NORMAL, log_weights


@dataclass(frozen=True)
class Weights:
    """Weights of the rows, none of them the caller's own memory.

    Attributes
    ----------
    scaled : ndarray of float64, shape (n,), or None
        Divided by a power of two to less than 2; None when all rows weigh the same.
    scale : float
        That power of two.
    given : ndarray of float64, shape (n,), or None
        The weights as given, if some are so much less than the largest that they lost digits, or
        all of them, when they were scaled.
    positive : int
        How many rows have a weight above 0.
    """

    scaled: npt.NDArray[np.float64] | None
    scale: float
    given: npt.NDArray[np.float64] | None
    positive: int

    @property
    def exact(self) -> npt.NDArray[np.float64] | None:
        """The weights up to a factor, whatever their range."""
        return self.scaled if self.given is None else self.given

    @property
    def logarithms(self) -> npt.NDArray[np.float64] | None:
        """The logarithms of the weights divided by the scale."""
        if self.given is not None:
            return log_weights(self.given, self.scale)
        return None if self.scaled is None else log_weights(self.scaled, 1.0)


def check_weights(sample_weight: Any, n: int) -> Weights:
    """Check the weights of n rows."""
    if sample_weight is None:
        return Weights(None, 1.0, None, n)
    weights = np.ascontiguousarray(to_array(sample_weight, "sample_weight"), dtype=np.float64)
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}; pass one weight for each of the {n} rows."
        )
    find_bad_weight(weights)
    scale = weight_scale(float(weights.max()))
    scaled = weights / scale
    lossless = bool(((scaled >= NORMAL) | (weights == 0.0)).all())
    return Weights(
        scaled, scale, None if lossless else weights.copy(), int(np.count_nonzero(weights))
    )


def find_bad_weight(weights: npt.NDArray[np.float64]) -> None:
    """Refuse weights that are negative or not finite, with their place."""
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
    if len(bad):
        count = "" if len(bad) == 1 else f"{len(bad)} bad rows, first "
        raise ValueError(
            f"sample_weight has {count}{weights[bad[0]]} at row {bad[0]}; weights must be finite "
            "and 0 or more."
        )


def weight_scale(largest: float) -> float:
    """Return what to divide weights by, to make them less than 2."""
    if largest == 0.0:
        raise ValueError(
            "sample_weight is 0 for every row; give at least one row a positive weight."
        )
    # A power of two is exact, so weights that differ by one draw the same seeds.
    return float(np.ldexp(1.0, int(np.frexp(largest)[1]) - 1))
