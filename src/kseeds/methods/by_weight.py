"""Distinct rows drawn by weight, whatever their places: the start that k-means++ improves on."""

from __future__ import annotations

import numpy as np

from kseeds.inputs.problem import Problem
from kseeds.methods.base import Draw, Method
from kseeds.results import Work
from kseeds.runtime.threads import Workers
from kseeds.sampling.clocks import first_clocks, log_weights
from kseeds.sampling.streams import Purpose


def draw(problem: Problem) -> Draw:
    """Draw ``n_clusters`` rows one after the other, each with probability w_i / Σw of those left.

    As exponential clocks do: the rows whose clocks fire first.
    """
    none = np.empty(0, dtype=np.int64)
    k, logs = problem.n_clusters, None
    if problem.weights is not None:
        logs = log_weights(problem.weights, 1.0)

    def task(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        part = None if logs is None else logs[start:stop]
        return first_clocks(problem.stream, Purpose.CLOCK, start, stop, part, k, none)

    with Workers(problem.n_threads) as workers:
        found = workers.over_blocks(task, len(problem.points))
    rows, clocks = (np.concatenate(parts) for parts in zip(*found, strict=True))
    first = np.argsort(clocks, kind="stable")[:k]
    return Draw(rows[first], Work(rounds=len(first)))


METHOD = Method(draw)
