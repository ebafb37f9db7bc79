"""``algorithm="rounds"``: k-means++ as for Dask and Spark, on one partition in memory.

The same seeds as ``kseeds.dask.kmeans_plusplus`` and ``kseeds.spark.kmeans_plusplus`` with the
same random state and rows, if sums are exact. See `kseeds.distributed.driver`.
"""

from __future__ import annotations

from kseeds.distances.sparse_rows import is_sparse
from kseeds.distributed.driver import Driver, Request, kmeans_plusplus
from kseeds.distributed.local_backend import LocalBackend
from kseeds.distributed.partition import Part, Plan
from kseeds.inputs.problem import Problem
from kseeds.methods.base import Draw, Method


def draw(problem: Problem) -> Draw:
    """Draw up to ``n_clusters`` rows; fewer if the rest coincide with centres."""
    request = Request(
        problem.n_clusters, problem.metric.name, problem.initial, problem.stream,
        problem.progress, problem.n_threads,
    )  # fmt: skip
    plan = Plan(
        problem.metric, 1.0, problem.points.dtype, 1.0, problem.stream, (0,),
        prepared=True, n_threads=problem.n_threads,
    )  # fmt: skip
    backend = LocalBackend(
        [
            Part(
                0,
                problem.points,
                problem.weights,
                form="array" if is_sparse(problem.points) else "",
            )
        ]
    )
    found = kmeans_plusplus(Driver(backend, request, plan))
    return Draw(found.indices[: found.distinct], found.work)


METHOD = Method(draw, takes_sparse=True)
