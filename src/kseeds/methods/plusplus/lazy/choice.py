"""Which set of kernels to use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kseeds.distances.sparse_rows import is_sparse
from kseeds.inputs.problem import Problem
from kseeds.methods.plusplus.lazy.state import Kernels
from kseeds.runtime import compile_policy
from kseeds.runtime.threads import Workers

_FASTER = 4.0
"""How much faster compiled kernels are than plain ones, about."""


@contextmanager
def kernels_for(problem: Problem, workers: Workers, kernels: str) -> Iterator[Kernels]:
    """Yield the kernels asked for, or for "auto" those that take less time."""
    dtype, is_forced = problem.points.dtype, kernels == "compiled"
    kernel_set = "sparse_lazy" if is_sparse(problem.points) else "lazy"
    if kernels == "auto":
        seconds = _seconds(problem)
        pays = compile_policy.pays(kernel_set, dtype, seconds, seconds / _FASTER)
        kernels = "compiled" if pays else "plain"
    if kernels == "plain" or problem.metric.function is not None:
        from kseeds.methods.plusplus.lazy.plain import Plain

        with compile_policy.in_place_of([kernel_set], dtype):
            yield Plain(workers)
        return
    if is_sparse(problem.points):
        with compile_policy.using(kernel_set, dtype, is_whole=False):
            from kseeds.methods.plusplus.lazy.sparse_compiled import SparseCompiled

            yield SparseCompiled(problem.points, workers)
        return
    with compile_policy.using(kernel_set, dtype, is_whole=False):
        from kseeds.methods.plusplus.lazy.compiled import Compiled

        yield Compiled(problem.points, workers, is_forced)


def _seconds(problem: Problem) -> float:
    """Estimate the time of the plain kernels: a pass, a few proposals a seed, some refreshes."""
    n, k = len(problem.points), problem.n_clusters
    if is_sparse(problem.points):
        entries = problem.points.size * max(1, len(problem.initial))
        return float(1e-8 * entries + k * (5e-4 + 1e-7 * k))
    d = problem.points.shape[1]
    first_pass = 2e-9 * n * max(d, 4) * max(1, len(problem.initial))
    proposals = k * (1e-4 + 4 * k * d * 2e-10)
    refreshes = 1e-9 * n * min(k, 16) * max(d, 8)
    return float(first_pass + proposals + refreshes)
