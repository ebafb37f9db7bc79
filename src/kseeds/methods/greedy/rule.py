"""How many candidates a step draws, and which of them wins."""

from __future__ import annotations

import math
from collections.abc import Sequence

TIE = 2e-6
"""Gains that differ by less than this share of the largest are equal.

Exactly equal gains are common: two points that only help each other have the same one. They are
summed in different orders, in blocks that depend on the algorithm and from distances of either
precision; without this, rounding would pick the winner, and the law would be that of rounding.
"""


def trials_for(n_clusters: int, n_local_trials: int | None) -> int:
    """Return how many candidates a step draws: as many as asked for, or 2 + ⌊ln k⌋.

    Examples
    --------
    >>> from kseeds.methods.greedy.rule import trials_for
    >>> trials_for(1, None), trials_for(8, None), trials_for(1000, None), trials_for(8, 3)
    (2, 4, 8, 3)
    """
    return 2 + int(math.log(n_clusters)) if n_local_trials is None else n_local_trials


def winner(gains: Sequence[float]) -> int:
    """Return which candidate wins: the first one whose gain equals the largest.

    Examples
    --------
    >>> from kseeds.methods.greedy.rule import winner
    >>> winner([1.0, 5.0, 5.000001]), winner([1.0, 5.0, 5.1])
    (1, 2)
    """
    least = max(gains) * (1.0 - TIE)
    return next(at for at, gain in enumerate(gains) if gain >= least)
