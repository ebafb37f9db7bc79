"""Exponential clocks: the shared start of the methods that draw by the smallest clock."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from kseeds.randomness import Purpose, Stream
from kseeds.threads import Workers


def start_clocks(
    stream: Stream,
    purpose: Purpose,
    n_rows: int,
    weights: npt.NDArray[np.float64] | None,
) -> npt.NDArray[np.float64]:
    """Return when each row would fire at a rate of its weight: E_i / w_i, E_i ~ Exp(1).

    The smallest of independent clocks is row i with probability w_i / Σw. A weight of zero
    never fires.
    """
    clocks = stream.exponentials(purpose, 0, 0, n_rows)
    if weights is None:
        return clocks
    with np.errstate(divide="ignore", over="ignore"):
        return np.divide(clocks, weights, out=clocks)


def first_to_fire(
    stream: Stream,
    purpose: Purpose,
    n_rows: int,
    weights: npt.NDArray[np.float64] | None,
    workers: Workers,
) -> int:
    """Return the row of the smallest of `start_clocks`, without holding all of them."""

    def first_of(lo: int, hi: int) -> tuple[float, int]:
        if weights is None:  # the largest uniform has the smallest clock: no logarithms
            uniforms = stream.uniforms(purpose, 0, lo, hi)
            at = int(np.argmax(uniforms))
            return -float(uniforms[at]), lo + at
        clocks = stream.exponentials(purpose, 0, lo, hi)
        with np.errstate(divide="ignore", over="ignore"):
            clocks /= weights[lo:hi]
        at = int(np.argmin(clocks))
        return float(clocks[at]), lo + at

    return min(workers.over_blocks(first_of, n_rows))[1]


def fill_with_rows(
    stream: Stream,
    chosen: npt.NDArray[np.int64],
    n_clusters: int,
    n_rows: int,
    weights: npt.NDArray[np.float64] | None,
    warn: Callable[[int], None],
) -> npt.NDArray[np.int64]:
    """Complete ``chosen`` with rows drawn by weight, none twice.

    Used once every row with positive weight coincides with a seed. The k smallest clocks
    are k draws without replacement (Efraimidis and Spirakis 2006).
    """
    missing = n_clusters - len(chosen)
    if missing == 0:
        return chosen
    warn(len(chosen))
    clocks = start_clocks(stream, Purpose.FILL, n_rows, weights)
    clocks[chosen] = np.inf
    return np.concatenate([chosen, np.argsort(clocks, kind="stable")[:missing]])
