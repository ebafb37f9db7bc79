"""Measure the constants of ``kseeds.methods.plusplus.lazy.costs``: python -m benchmarks.calibrate.

Prints nanoseconds of one thread beside what the cost model says. The model needs ratios only,
so a factor that all columns share is of no account.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from kseeds.inputs.problem import Problem, prepare_problem
from kseeds.methods.plusplus.lazy.compiled import Compiled
from kseeds.methods.plusplus.lazy.costs import costs_of
from kseeds.methods.plusplus.lazy.state import State
from kseeds.runtime.threads import Workers

SHAPES = [(60_000, 3), (60_000, 8), (1_000_000, 3), (1_000_000, 8), (500_000, 54), (60_000, 784)]


def best_of(task: Callable[[], object], before: Callable[[], object], repeats: int = 5) -> float:
    """Return the shortest time of a task in nanoseconds."""
    times = []
    for _ in range(repeats):
        before()
        start = time.perf_counter_ns()
        task()
        times.append(time.perf_counter_ns() - start)
    return float(min(times))


def problem_of(n: int, d: int, dtype: type) -> Problem:
    """Return a problem with unstructured data."""
    X = np.random.default_rng(0).normal(size=(n, d)).astype(dtype)
    problem, _, _ = prepare_problem(
        X, 1025, sample_weight=None, metric="euclidean", initial_centers=None, random_state=0,
        n_threads=1, progress=False,
    )  # fmt: skip
    return problem


def measure(n: int, d: int, dtype: type) -> dict[str, float]:
    """Return the measured costs of one shape."""
    problem = problem_of(n, d, dtype)
    state, engine = State.start(problem, 64), Compiled(Workers(1))
    costs = costs_of(problem)
    state.add_center(problem.points[0])
    engine.first_pass(state)
    bounds, met = state.bounds.copy(), state.met.copy()

    def reset(pending: int) -> None:
        state.bounds[:], state.met[:] = bounds, met
        state.known = 1
        for j in range(pending):
            state.add_center(problem.points[j + 1])
        state.wanted = state.known  # nothing may be accepted, so that only rejections are timed

    def batches(pending: int) -> float:
        """Time proposals that all meet ``pending`` centres."""
        uniforms = np.random.default_rng(0).random((64, 2, 64))
        uniforms[:, 1] = 1e-9  # no early exit: nothing is nearer than almost 0
        rows = np.empty(64, dtype=np.int64)
        out = np.empty(64, dtype=dtype), np.empty(64, np.int32), np.empty(64, np.int32)
        from kseeds.methods.plusplus.lazy import kernels

        def task() -> None:
            for draws, thresholds in uniforms:
                kernels.propose(draws, state.bounds, state.weights, state.tree, rows)
                kernels.evaluate(
                    state.points, state.centers, state.columns, 0, state.known, thresholds,
                    rows, 0, 64, state.bounds, state.labels, state.met, *out,
                )  # fmt: skip

        return best_of(task, lambda: reset(pending)) / uniforms[:, 0].size

    def sweep(pending: int, threshold: float) -> float:
        return best_of(lambda: engine.sweep(state, threshold), lambda: reset(pending)) / n

    few, many = batches(64), batches(1024)
    pair = (many - few) / 960
    scan = sweep(1, 0.99 * float(bounds.max()))
    one, more = sweep(1, 0.0), sweep(65, 0.0)
    row_pair = (more - one) / 64
    return {
        "draw": few - 64 * pair,
        "draw (model)": costs.draw,
        "pair": pair,
        "pair (model)": costs.pair,
        "scan": scan,
        "scan (model)": costs.scan,
        "gather": one - scan - row_pair,
        "gather (model)": costs.gather,
        "row_pair": row_pair,
        "row_pair (model)": costs.row_pair,
    }


def main() -> None:
    """Print the table."""
    for dtype in (np.float32, np.float64):
        for n, d in SHAPES:
            row = measure(n, d, dtype)
            shown = "  ".join(f"{name} {value:.3g}" for name, value in row.items())
            print(f"{np.dtype(dtype).name} {n}x{d}: {shown}", flush=True)


if __name__ == "__main__":
    main()
