"""Exponential clocks: E_i / w_i per row. The first to fire is row i with probability ∝ w_i."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray, Metric
from kseeds.distances.underflow import least_mass
from kseeds.runtime.threads import Workers, blocks_of
from kseeds.sampling.streams import Purpose, Stream

NORMAL = float(np.finfo(np.float64).tiny)
"""The smallest normal float64; weights below it have fewer digits."""


def log_weights(weights: npt.NDArray[np.float64], scale: float) -> npt.NDArray[np.float64]:
    """Return log(weights / scale), accurate even where the quotient would underflow."""
    scaled = weights / scale
    with np.errstate(divide="ignore"):
        difference = np.log(weights) - np.log(scale)
        return np.where(scaled >= NORMAL, np.log(scaled), difference)


def start_clocks(
    stream: Stream,
    purpose: Purpose,
    n_rows: int,
    weights: npt.NDArray[np.float64] | None,
) -> npt.NDArray[np.float64]:
    """Return the clock of each row: E_i / w_i with E_i ~ Exp(1), exponential of rate w_i.

    The smallest of independent clocks is that of row i with probability w_i / Σw. A clock of
    weight 0 never fires.
    """
    clocks = np.empty(n_rows)
    for lo, hi in blocks_of(n_rows):
        clocks[lo:hi] = stream.exponentials(purpose, 0, lo, hi)
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
    """Return the argmin of `start_clocks`, without storing all clocks."""

    def first_of(lo: int, hi: int) -> tuple[float, int]:
        if weights is None:  # clock = -log(uniform): the largest uniform is first
            uniforms = stream.uniforms(purpose, 0, lo, hi)
            at = int(np.argmax(uniforms))
            return -float(uniforms[at]), lo + at
        logs = log_weights(weights[lo:hi], 1.0)
        rows, clocks = first_clocks(stream, purpose, lo, hi, logs, 1, np.empty(0, dtype=np.int64))
        return (float(clocks[0]), int(rows[0])) if len(rows) else (np.inf, hi)

    return min(workers.over_blocks(first_of, n_rows))[1]


def longest_wait(
    squared: FloatArray,
    weights: npt.NDArray[np.float64] | None,
    metric: Metric,
    n_compared: int,
) -> float:
    """Return the waiting time after which Σ w·α² may be too small for ordinary arithmetic.

    The waiting time is exponential with rate Σ w·α², and independent of which row fires. So
    stopping after a long one, and drawing that seed in another way, does not bias the draw.
    """
    return 1.0 / least_mass(squared, weights, metric) if n_compared else np.inf


def first_clocks(
    stream: Stream,
    purpose: Purpose,
    start: int,
    stop: int,
    log_weights: npt.NDArray[np.float64] | None,
    count: int,
    without: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the ``count`` rows from ``start`` to ``stop`` that fire first, and their log clocks.

    Logarithms, log E − log w, because E/w of a very small weight would overflow and look like a
    weight of 0. Rows of weight 0 and those in ``without`` never fire; there may be fewer rows.
    """
    clocks = np.log(stream.exponentials(purpose, 0, start, stop))
    if log_weights is not None:
        clocks -= log_weights
    clocks[without[(without >= start) & (without < stop)] - start] = np.inf
    first = np.argsort(clocks, kind="stable")[:count]
    first = first[clocks[first] < np.inf]
    return start + first, clocks[first]
