"""Sums of non-negative numbers of any size that are exact, so that no order of them matters."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from kseeds.distances.underflow import Lengths

_ROWS = 1 << 20
"""Numbers taken at a time: so many halves of mantissas have sums that float64 holds exactly."""
_LOW = 26
"""Bits of the lower half of a mantissa."""


class Total(NamedTuple):
    """A number of units, which are 2**``exponent`` each.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds.distances.underflow import Lengths
    >>> from kseeds.distributed.exact_total import Total
    >>> one, other = Total.of(Lengths.of(np.array([1e300, 1.0]))), Total.of(Lengths.of(np.ones(3)))
    >>> float(other), float(one + other) == 1e300, (one + other) == (other + one)
    (3.0, True, True)
    """

    units: int
    exponent: int

    @classmethod
    def of(cls, numbers: Lengths) -> Total:
        """Return the sum of numbers."""
        mantissas, more = np.frexp(numbers.mantissas)
        positive = np.flatnonzero(mantissas > 0.0)
        if len(positive) == 0:
            return ZERO
        whole = np.ldexp(mantissas[positive], 53).astype(np.int64)
        exponents = (numbers.exponents + more)[positive] - 53
        least = int(exponents.min())
        total = 0
        for low in range(0, len(whole), _ROWS):
            part, places = whole[low : low + _ROWS], exponents[low : low + _ROWS] - least
            for shift, half in ((_LOW, part >> _LOW), (0, part & ((1 << _LOW) - 1))):
                sums = np.bincount(places, half.astype(np.float64))
                total += sum(int(sums[at]) << (int(at) + shift) for at in np.flatnonzero(sums))
        return cls(total, least)

    def __add__(self, other: object) -> Total:
        if not isinstance(other, Total):
            return NotImplemented
        if self.units == 0 or other.units == 0:
            return other if self.units == 0 else self
        least = min(self.exponent, other.exponent)
        units = [one.units << (one.exponent - least) for one in (self, other)]
        return Total(sum(units), least)

    def __float__(self) -> float:
        beyond = max(0, self.units.bit_length() - 60)
        # The last of 60 bits tells whether there was more, so that this is rounded but once.
        units = (self.units >> beyond) | int(self.units % (1 << beyond) > 0)
        try:
            return math.ldexp(float(units), self.exponent + beyond)
        except OverflowError:
            return math.inf


ZERO = Total(0, 0)
