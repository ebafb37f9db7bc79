"""kseeds against its peers: k-means++ and k-means||, time and quality side by side."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.records import Bar, Records
from benchmarks.registry import FULL, QUICK, load
from benchmarks.seeding import timed
from kseeds import assign, kmeans_parallel, kmeans_plusplus

_LONG = 5.0
"""A peer that takes longer than this many seconds is run once."""
_TOO_LONG = 60.0
"""A peer that must be expected to take longer than this is left out, and said to be."""


def _centers(found: Any) -> np.ndarray:
    if hasattr(found, "centroids"):
        return np.asarray(found.centroids, dtype=np.float32)
    if hasattr(found, "centers"):
        return found.centers
    return np.asarray(found[0] if isinstance(found, tuple) else found, dtype=np.float32)


def after_lloyd(X: np.ndarray, centers: np.ndarray) -> float:
    """Return the cost after five iterations of Lloyd."""
    for _ in range(5):
        labels = assign(X, centers).labels
        counts = np.bincount(labels, minlength=len(centers))
        sums = np.stack(
            [np.bincount(labels, X[:, j], minlength=len(centers)) for j in range(X.shape[1])], 1
        )
        moved = sums / np.maximum(counts, 1)[:, None]
        centers = np.where(counts[:, None] > 0, moved, centers).astype(np.float32)
    return assign(X, centers).potential


def run(
    folder: Path | None, out: Path, profile: str, sets: list[str] | None, rows: int | None
) -> None:
    """Run or resume the suite."""
    records = Records(out)
    quick = profile == "quick"
    names = sets or list(QUICK if quick else FULL)
    laws = {
        "k-means++": (
            {
                **peers.installed(),
                "kseeds": lambda X, k, s: kmeans_plusplus(
                    X, k, random_state=s, algorithm="lazy", kernels="compiled"
                ),
            },
            [64, 512] if quick else [64, 512, 4096],
        ),
        "k-means||": (
            {
                **peers.installed_parallel(),
                "kseeds": lambda X, k, s: kmeans_parallel(X, k, random_state=s),
            },
            [64] if quick else [64, 512, 2048],
        ),
    }
    bar = Bar(len(names) * sum(len(ks) for _, ks in laws.values()))
    for name in names:
        X, about = load(name, folder, rows)
        for law, (methods, ks) in laws.items():
            pace: dict[str, float] = {}
            for k in ks:
                if k <= len(X) // 4:
                    records.cell(
                        lambda X=X, k=k, methods=methods, pace=pace: _compare(
                            X, k, methods, pace
                        ),
                        suite="peers", **about, law=law, k=k,
                    )  # fmt: skip
                bar.step(f"{name} {law} K={k}")


def _compare(
    X: np.ndarray, k: int, methods: dict[str, Any], pace: dict[str, float]
) -> dict[str, Any]:
    """Interleave the methods; return first call, best time and costs of each.

    ``pace`` keeps seconds a seed, by which to foresee what takes too long.
    """
    left_out = [name for name in methods if pace.get(name, 0.0) * k > _TOO_LONG]
    methods = {name: method for name, method in methods.items() if name not in left_out}
    first: dict[str, float] = {}
    best = dict.fromkeys(methods, np.inf)
    found: dict[str, Any] = {}
    for turn in range(3):
        for name, method in methods.items():
            if turn and best[name] > _LONG:
                continue

            def call(name: str = name, method: Any = method, turn: int = turn) -> None:
                found[name] = method(X, k, turn)

            seconds = timed(call)
            first.setdefault(name, seconds)
            best[name] = min(best[name], seconds)
            pace[name] = best[name] / k
    costs = {}
    for name in methods:
        centers = np.ascontiguousarray(_centers(found[name]))
        costs[name] = [assign(X, centers).potential, after_lloyd(X, centers)]
    time.sleep(0.1)
    return {"first": first, "best": best, "costs": costs, "left_out": left_out}
