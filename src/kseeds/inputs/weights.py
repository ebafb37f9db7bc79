"""Weights of rows: checked, and scaled so that products with them do not overflow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.errors import shown
from kseeds.inputs.containers import to_array
from kseeds.sampling.clocks import NORMAL, log_weights


@dataclass(frozen=True)
class Weights:
    """Weights of the rows; always copies, never the caller's arrays.

    Attributes
    ----------
    scaled : ndarray of float64, shape (n,), or None
        Divided by a power of two so that all are less than 2; None when no weights were given.
    scale : float
        That power of two.
    given : ndarray of float64, shape (n,), or None
        The weights as passed, if scaling made some of them subnormal or 0; else None.
    positive : int
        How many rows have a weight above 0.
    """

    scaled: npt.NDArray[np.float64] | None
    scale: float
    given: npt.NDArray[np.float64] | None
    positive: int

    @property
    def exact(self) -> npt.NDArray[np.float64] | None:
        """The weights up to a common factor, without loss of digits."""
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
    given = to_array(sample_weight, "sample_weight")
    if given.ndim == 0:
        raise ValueError(
            f"sample_weight={shown(sample_weight)} is a single number; pass one weight for each of "
            f"the {n} rows, or leave it out."
        )
    weights = np.ascontiguousarray(given, dtype=np.float64)
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
    """Reject weights that are negative or not finite."""
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
    if len(bad):
        count = "" if len(bad) == 1 else f"{len(bad)} bad rows, first "
        raise ValueError(
            f"sample_weight has {count}{weights[bad[0]]} at row {bad[0]}; weights must be finite "
            "and 0 or more."
        )


def weight_scale(largest: float) -> float:
    """Return the power of two that divides weights up to ``largest`` to less than 2."""
    if largest == 0.0:
        raise ValueError(
            "sample_weight is 0 for every row; give at least one row a positive weight."
        )
    # Division by a power of two is exact: weights that differ by such a factor draw equal seeds.
    return float(np.ldexp(1.0, int(np.frexp(largest)[1]) - 1))
