"""Every row compared with one new seed, except where Lemma 1 shows that it need not be.

Lines 8 to 12 of Algorithm 2, with the clocks of the repaired queue: a clock must be rescaled
the moment its rate falls, because the rescaling needs the time at which it fell.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kseeds.distances.pair_kernels import squared_distance, sum_of_squares
from kseeds.runtime.compiler import inlined, kernel


@inlined
def rescaled_clock(clock: float, now: float, old_rate: float, new_rate: float) -> float:
    """Return the firing time of a clock whose rate falls at time ``now``.

    What remains of an exponential waiting time is exponential again (memorylessness); at a
    rate smaller by some factor it lasts longer by that factor. With ``now = 0`` this is the
    paper's printed rule λ/(w·α²), which forgets that the clock has already run.
    """
    if new_rate <= 0.0 or math.isinf(clock):
        return math.inf
    return now + (clock - now) * (old_rate / new_rate)


@kernel
def pruned_update(
    points: Any,
    start: int,
    stop: int,
    centers: Any,
    new: int,
    family: Any,
    limits: Any,
    now: float,
    squared: Any,
    labels: Any,
    clocks: Any,
) -> int:
    """Compare rows ``start`` to ``stop`` with centre ``new``; return the distances computed.

    Parameters
    ----------
    points, centers : C-contiguous, the same columns
    limits : per centre j ≤ new, the α² up to which a row of centre j is skipped
    now : the time of the clocks at which the centre appears
    squared, labels, clocks : per row, changed in place; a label below 0 has no centre yet
    """
    computed = 0
    # A loop of its own for the common metric: a choice inside the loop costs 10 ns a row.
    if family is None:
        for i in range(start, stop):
            if labels[i] < 0 or squared[i] > limits[labels[i]]:
                candidate = sum_of_squares(points, i, centers, new)
                _take(candidate, i, new, now, squared, labels, clocks)
                computed += 1
    else:
        for i in range(start, stop):
            if labels[i] < 0 or squared[i] > limits[labels[i]]:
                candidate = squared_distance(points, i, centers, new, family)
                _take(candidate, i, new, now, squared, labels, clocks)
                computed += 1
    return computed


@inlined
def _take(
    candidate: Any, i: int, new: int, now: float, squared: Any, labels: Any, clocks: Any
) -> None:
    """Make centre ``new`` the nearest of row i if it is, and slow the row's clock."""
    if labels[i] < 0:
        # Before the first centre rates are weights, of any size compared with w·α². The
        # clocks restart at 0 here, or adding ``now`` could drown what remains of them.
        clocks[i] = rescaled_clock(clocks[i] - now, 0.0, 1.0, np.float64(candidate))
    elif candidate < squared[i]:
        old_rate, new_rate = np.float64(squared[i]), np.float64(candidate)
        clocks[i] = rescaled_clock(clocks[i], now, old_rate, new_rate)
    else:
        return
    squared[i] = candidate
    labels[i] = new
