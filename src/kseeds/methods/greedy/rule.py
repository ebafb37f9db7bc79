"""How many candidates a step draws, which proposals are candidates, and which of them wins."""

from __future__ import annotations

import math
from collections.abc import Sequence

TIE = 2e-6
"""Gains that differ by less than this share of the largest are equal.

Exactly equal gains are common: two points that only help each other have the same one. They are
summed in different orders, in blocks that depend on the algorithm and from distances of either
precision; without this, rounding would pick the winner, and the law would be that of rounding.
"""


OUTDATED = 0.5
"""Share of the frozen Σ w·q that Σ w·α² falls below when a new epoch of proposals begins."""


def is_accepted(uniform: float, then: float, now: float) -> bool:
    """Tell whether a proposal is accepted whose α² was ``then`` and is ``now``.

    In double precision; what is now 0 is never accepted.

    Examples
    --------
    >>> from kseeds.methods.greedy.rule import is_accepted
    >>> is_accepted(0.3, 2.0, 1.0), is_accepted(0.6, 2.0, 1.0), is_accepted(1e-9, 1e-320, 0.0)
    (True, False, False)
    """
    return uniform * then < now


def is_outdated(now: float, then: float) -> bool:
    """Tell whether a step begins a new epoch, given Σ w·α² and the frozen Σ w·q.

    Examples
    --------
    >>> from kseeds.methods.greedy.rule import is_outdated
    >>> is_outdated(1.0, 2.0), is_outdated(0.9, 2.0)
    (False, True)
    """
    return now < OUTDATED * then


def trials_for(n_clusters: int, n_local_trials: int | None) -> int:
    """Return how many candidates a step draws: as many as asked for, or 2 + ⌊ln k⌋.

    Examples
    --------
    >>> from kseeds.methods.greedy.rule import trials_for
    >>> trials_for(1, None), trials_for(8, None), trials_for(1000, None), trials_for(8, 3)
    (2, 4, 8, 3)
    """
    return 2 + int(math.log(n_clusters)) if n_local_trials is None else n_local_trials


def overtakes(gain: float, largest: float) -> bool:
    """Tell whether a gain wins against those before it, the ``largest`` of which is given.

    Examples
    --------
    >>> from kseeds.methods.greedy.rule import overtakes
    >>> overtakes(5.000001, 5.0), overtakes(5.1, 5.0)
    (False, True)
    """
    return largest < gain * (1.0 - TIE)


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
