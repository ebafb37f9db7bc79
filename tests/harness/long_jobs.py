"""Jobs that take far longer than anyone would wait, to be interrupted.

``python -m tests.harness.long_jobs NAME`` starts one, sends itself the signal of Ctrl-C after half
a second of work, and tells what work it took to come back, what was left behind, and whether the
next call was right.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from kseeds import (
    VPTree,
    assign,
    greedy_kmeans_plusplus,
    kmeans,
    kmeans_parallel,
    kmeans_plusplus,
)
from kseeds.laws import GREEDY
from kseeds.runtime.threads import ELSEWHERE
from tests.harness import everything
from tests.harness.catalogue import STRATEGIES, STRATEGY_OPTION

PATIENCE = 4.0
"""Seconds by `seconds_since` after which an interruption has failed; the promise is one second."""


def now() -> tuple[float, float]:
    """Return the time, for `seconds_since`."""
    return time.process_time(), time.perf_counter()


def seconds_since(then: tuple[float, float]) -> float:
    """Return the seconds of work since then, or a tenth of all: others may use the processor."""
    worked, passed = (after - before for before, after in zip(then, now(), strict=True))
    return max(worked, 0.1 * passed)


def _rows(n: int, d: int) -> np.ndarray:
    return np.random.default_rng(0).random((n, d), dtype=np.float32)


def _slow(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max())


def _labels(n: int) -> Callable[[], Any]:
    """Labels of many seeds that came at little cost."""
    X = _rows(n, 64)
    found = kmeans_plusplus(X, max(2, n // 20), random_state=0, n_threads=2)
    return lambda: found.labels


def _seeding(function: Callable[..., Any], d: int, share: int, **keywords: Any) -> Any:
    def prepare(n: int) -> Callable[[], Any]:
        X = _rows(n, d)
        return lambda: function(X, max(2, n // share), random_state=0, n_threads=2, **keywords)

    return prepare


def _assigning(d: int, share: int, **keywords: Any) -> Any:
    def prepare(n: int) -> Callable[[], Any]:
        X = _rows(n, d)
        return lambda: assign(X, X[: max(2, n // share)], n_threads=2, **keywords)

    return prepare


def _clustering(d: int, share: int, **keywords: Any) -> Any:
    def prepare(n: int) -> Callable[[], Any]:
        X = _rows(n, d)
        k = max(2, n // share)
        return lambda: kmeans(X, k, init=X[:k], n_threads=2, tol=0, **keywords)

    return prepare


def _building(n: int) -> Callable[[], Any]:
    X = _rows(8 * n, 8)  # few columns: NumPy copies them before, and hears no signal meanwhile
    return lambda: VPTree(X)


def _querying(n: int) -> Callable[[], Any]:
    tree, X = VPTree(_rows(max(20, n // 40), 64)), _rows(n, 64)
    return lambda: tree.nearest_in_range(X, n_threads=2)


JOBS: dict[str, Callable[[int], Callable[[], Any]]] = {
    "assign": _assigning(64, 10),
    "parallel": _seeding(kmeans_parallel, 64, 40),
    "lazy": _seeding(kmeans_plusplus, 64, 3, algorithm="lazy", kernels="compiled"),
    "labels": _labels,
    "assign manhattan": _assigning(24, 20, metric="manhattan"),
    "assign function": _assigning(2, 100, metric=_slow),
    "lazy plain": _seeding(kmeans_plusplus, 64, 3, algorithm="lazy", kernels="plain"),
    "naive": _seeding(kmeans_plusplus, 64, 100, algorithm="naive"),
    "paper": _seeding(kmeans_plusplus, 64, 50, algorithm="paper"),
    "rounds": _seeding(kmeans_plusplus, 64, 3, algorithm="rounds"),
    **{
        f"greedy {algorithm}": _seeding(greedy_kmeans_plusplus, 64, 100, algorithm=algorithm)
        for algorithm in GREEDY.algorithms
    },
    "parallel naive": _seeding(kmeans_parallel, 64, 100, algorithm="naive"),
    "parallel paper": _seeding(kmeans_parallel, 64, 100, algorithm="paper"),
    **{
        f"parallel {name}": _seeding(
            kmeans_parallel, 64, 40, algorithm="fast", **{STRATEGY_OPTION: name}
        )
        for name in STRATEGIES
    },
    "kmeans tree": _clustering(8, 400, algorithm="tree"),
    "kmeans bounds": _clustering(64, 400, algorithm="bounds"),
    "kmeans gemm": _clustering(64, 400, algorithm="gemm"),
    "kmeans naive": _clustering(8, 1000, algorithm="naive"),
    "tree building": _building,
    "tree queries": _querying,
}
AFTERWARDS = ("lazy", "assign wide", "parallel brute", "tree")
"""Jobs that must be right after an interruption."""
SHORT = ("assign", "parallel", "lazy", "labels", "kmeans tree", "kmeans bounds")


def interrupt(name: str, n: int = 400_000, after: float = 0.5) -> float:
    """Interrupt a job; return how long it took to come back, by `seconds_since`."""
    prepare = JOBS[name]
    prepare(3000)()  # what is compiled, is compiled now
    job, sent = prepare(n), now()

    def send() -> None:
        nonlocal sent
        sent = now()
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, send)
    timer.start()
    try:
        job()
    except KeyboardInterrupt:
        back = seconds_since(sent)
    else:
        timer.cancel()
        raise AssertionError(f"{name} was done before the signal came, or took no notice of it")
    timer.join()
    return back


def main(name: str) -> None:
    """Interrupt one job and check everything after it."""
    wanted = {job: everything.JOBS[job]() for job in AFTERWARDS}
    before = set(threading.enumerate())
    took = interrupt(name)
    left = [t for t in threading.enumerate() if t not in before]
    for thread in left:  # a pass of the compiler may still be at its end; nothing else may
        if thread.name == ELSEWHERE:
            thread.join(PATIENCE)
    left = [t for t in left if t.is_alive() or t.name != ELSEWHERE]
    assert not left, f"threads were left: {left}"
    everything.check(wanted, AFTERWARDS)
    print(f"{took:.2f}")
    assert took < PATIENCE, f"{name} worked on for {took:.1f} s after Ctrl-C"


if __name__ == "__main__":
    with contextlib.suppress(AttributeError):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main(" ".join(sys.argv[1:]))
