"""One small job for every public function and algorithm, with results that can be compared.

For tests that are about what happens around a call: threads, forks, interruptions, leaks. The
jobs are small, but they use the compiled kernels and several threads wherever a function can.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from kseeds import (
    ClockQueue,
    VPTree,
    assign,
    greedy_kmeans_plusplus,
    kmeans,
    kmeans_parallel,
    kmeans_plusplus,
)
from kseeds.laws import GREEDY
from tests.harness.catalogue import STRATEGIES, STRATEGY_OPTION

Result = tuple[bytes, ...]
Job = Callable[[], Result]


def rows(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Return rows that are the same on every machine."""
    bits = np.random.Generator(np.random.Philox(seed))
    return (bits.integers(-500, 500, size=(n, d)) / 64.0).astype(np.float32)


FEW = rows(300, 5)
WIDE = rows(9000, 20, 1)
MANY = rows(70_000, 3, 2)


def absolute(a: np.ndarray, b: np.ndarray) -> float:
    """A metric of the user's own."""
    return float(np.abs(a - b).sum())


def _seeds(found: Any) -> Result:
    return tuple(
        np.ascontiguousarray(part).tobytes()
        for part in (found.indices, found.centers, found.labels, found.distances, found.potential)
    )


def _of(function: Callable[..., Any], X: np.ndarray, k: int, **keywords: Any) -> Job:
    return lambda: _seeds(function(X, k, random_state=0, n_threads=2, **keywords))


def _assigned(X: np.ndarray, m: int, **keywords: Any) -> Job:
    def job() -> Result:
        found = assign(X, X[:m], n_threads=2, **keywords)
        return found.labels.tobytes(), found.distances.tobytes(), repr(found.potential).encode()

    return job


def _clustered(X: np.ndarray, k: int, **keywords: Any) -> Job:
    def job() -> Result:
        found = kmeans(X, k, random_state=0, n_threads=2, max_iter=6, **keywords)
        parts = (found.centers, found.labels, found.distances)
        return *(part.tobytes() for part in parts), repr((found.inertia, found.n_iter)).encode()

    return job


def _tree() -> Result:
    tree = VPTree(MANY[:300])
    labels, distances = tree.nearest_in_range(MANY, 0.5, n_threads=2)
    return labels.tobytes(), distances.tobytes()


def _queue() -> Result:
    queue = ClockQueue(FEW[:, 0])
    queue.keys[::3] += 5.0
    return (bytes(str([queue.pop() for _ in range(len(queue))]), "ascii"),)


def _pickled() -> Result:
    found = kmeans_plusplus(FEW, 9, random_state=0, n_threads=2)
    _seeds(found)  # what was computed travels along
    return _seeds(pickle.loads(pickle.dumps(found)))


def _reported() -> Result:
    steps: list[tuple[int, int]] = []
    found = kmeans_plusplus(FEW, 9, random_state=0, progress=lambda *step: steps.append(step))
    return (found.indices.tobytes(), str(steps[-1]).encode())


JOBS: dict[str, Job] = {
    "lazy": _of(kmeans_plusplus, MANY, 40, algorithm="lazy", kernels="compiled"),
    "lazy plain": _of(kmeans_plusplus, FEW, 20, algorithm="lazy", kernels="plain"),
    "lazy whole": _of(kmeans_plusplus, WIDE, 40, algorithm="lazy", refresh="full"),
    "naive": _of(kmeans_plusplus, FEW, 20, algorithm="naive"),
    "paper": _of(kmeans_plusplus, MANY, 10, algorithm="paper"),
    "rounds": _of(kmeans_plusplus, MANY, 40, algorithm="rounds"),
    **{
        f"greedy {algorithm}": _of(greedy_kmeans_plusplus, MANY, 5, algorithm=algorithm)
        for algorithm in GREEDY.algorithms
    },
    "greedy few": _of(greedy_kmeans_plusplus, FEW, 20),
    "parallel greedy": _of(kmeans_parallel, FEW, 20, reduction="greedy"),
    "parallel naive": _of(kmeans_parallel, FEW, 20, algorithm="naive"),
    "parallel paper": _of(kmeans_parallel, MANY, 2, algorithm="paper"),
    **{
        f"parallel {strategy}": _of(
            kmeans_parallel, WIDE, 4, algorithm="fast", **{STRATEGY_OPTION: strategy}
        )
        for strategy in STRATEGIES
    },
    "weighted": _of(kmeans_plusplus, FEW, 20, sample_weight=np.arange(300)),
    "around": _of(kmeans_plusplus, FEW, 20, initial_centers=FEW[:5]),
    "manhattan": _of(kmeans_parallel, WIDE, 3, metric="manhattan"),
    "function": _of(kmeans_plusplus, FEW[:80], 6, metric=absolute),
    "assign": _assigned(MANY, 200),
    "assign wide": _assigned(WIDE, 1500),
    "assign function": _assigned(FEW, 5, metric=absolute),
    "kmeans tree": _clustered(MANY, 30, algorithm="tree"),
    "kmeans bounds": _clustered(WIDE, 30, algorithm="bounds"),
    "kmeans gemm": _clustered(WIDE, 30, algorithm="gemm"),
    "kmeans naive": _clustered(FEW, 5, algorithm="naive"),
    "kmeans starts": _clustered(FEW, 7, init="random", n_init=3, sample_weight=np.arange(300)),
    "kmeans cosine": _clustered(FEW, 7, init="greedy", metric="cosine"),
    "tree": _tree,
    "queue": _queue,
    "pickle": _pickled,
    "progress": _reported,
}


def results() -> dict[str, Result]:
    """Run every job once."""
    return {name: job() for name, job in JOBS.items()}


def check(wanted: dict[str, Result], names: Any = None) -> None:
    """Run jobs again and refuse other results."""
    for name in names or JOBS:
        assert JOBS[name]() == wanted[name], f"{name} gave another result"
