"""Which set of kernels to use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kseeds.inputs.problem import Problem
from kseeds.methods.plusplus.lazy.state import Kernels
from kseeds.runtime.compile_policy import can_do_without, without_compiler
from kseeds.runtime.threads import Workers


@contextmanager
def kernels_for(problem: Problem, workers: Workers, kernels: str) -> Iterator[Kernels]:
    """Give the kernels asked for, or those that are sooner done."""
    plain = kernels == "plain" or (kernels == "auto" and can_do_without(_seconds(problem)))
    if plain or problem.metric.function is not None:
        from kseeds.methods.plusplus.lazy.plain import Plain

        with without_compiler():
            yield Plain()
    else:
        from kseeds.methods.plusplus.lazy.compiled import Compiled

        yield Compiled(problem.points, workers)


def _seconds(problem: Problem) -> float:
    """Estimate the time of the plain kernels: a pass, a few proposals a seed, some sweeps."""
    (n, d), k = problem.points.shape, problem.n_clusters
    first_pass = 2e-9 * n * max(d, 4) * max(1, len(problem.initial))
    proposals = k * (1e-4 + 4 * k * d * 2e-10)
    sweeps = 2e-9 * n * min(k, 16) * max(d, 4)
    return float(first_pass + proposals + sweeps)
