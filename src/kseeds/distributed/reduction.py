"""What the driver does to reduce the candidates of k-means|| to k: steps of (greedy) k-means++."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from kseeds.distances.sparse_rows import is_sparse
from kseeds.distributed import partition
from kseeds.distributed.partition import Picked, Rows
from kseeds.inputs.problem import Problem
from kseeds.methods.greedy import fast as greedy
from kseeds.methods.greedy.rule import winner
from kseeds.methods.plusplus import lazy
from kseeds.runtime.aligned import read_only
from kseeds.runtime.progress import SILENT
from kseeds.runtime.threads import default_threads
from kseeds.sampling.streams import Purpose

if TYPE_CHECKING:
    from kseeds.distributed.driver import Driver


def reduce_candidates(
    driver: Driver, m: int, weights: npt.NDArray[np.float64], trials: int
) -> Rows:
    """Choose among the centres after the first ``m``, in this process.

    By weighted k-means++, or by its greedy form with several ``trials`` per step.
    """
    count = len(driver.centers) - m
    if count == 0:
        return np.empty(0, dtype=np.int64)
    points = driver.centers[m:]
    if not is_sparse(points):
        points = read_only(np.ascontiguousarray(points))
    problem = Problem(
        points, weights, driver.centers[:m], min(driver.request.n_clusters, count),
        driver.plan.metric, driver.plan.stream, default_threads(), SILENT,
    )  # fmt: skip
    if trials == 1:
        step = lazy.draw(problem, Purpose.REDUCTION)
    else:
        step = greedy.draw(problem, trials, Purpose.REDUCTION)
    driver.work.distances += step.work.distances
    return step.indices


def best_candidate(driver: Driver, uniforms: npt.NDArray[np.float64]) -> Picked:
    """Draw a candidate for a centre per uniform number; return the one of the largest gain."""
    drawn = driver.draw(uniforms)
    _, first = np.unique(drawn.rows, return_index=True)
    distinct = np.sort(first)  # in the order in which they were drawn
    centers = driver.plan.points(drawn.values[distinct])
    replies = driver.ask(partition.gains, (driver.plan, centers))
    driver.work.distances += driver.work.rows * len(centers)
    at = distinct[winner(sum(replies).tolist())]
    return drawn.at(np.array([at]))
