"""The figures and tables of the paper, for the data sets that are present.

k-means++: distances and time of naive (vectorised), of the paper's Algorithm 2, and of lazy; the
share of the queue examined; Algorithm 2 without its queue. k-means||: distances and time of naive
(vectorised), of the paper's Algorithm 5 with and without NearestInRange, and of fast.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.baseline import naive_plusplus
from benchmarks.records import Bar, Records
from benchmarks.registry import FULL, QUICK, load
from kseeds import Seeding, kmeans_parallel, kmeans_plusplus

_PATIENCE = {"quick": 2.0, "full": 6.0}
"""Seconds after which an algorithm is not run with more seeds."""
_ONCE = 1.0
"""Seconds after which a cell is not run more often."""

PLUSPLUS: dict[str, dict[str, Any]] = {
    "paper": {"algorithm": "paper"},
    "paper, no queue": {"algorithm": "paper", "queue": False},
    "lazy": {"algorithm": "lazy"},
}
PARALLEL: dict[str, dict[str, Any]] = {
    "naive": {"algorithm": "fast", "way": "brute"},
    "paper": {"algorithm": "paper"},
    "paper, no range": {"algorithm": "paper", "in_range": False},
    "fast": {"algorithm": "fast"},
}


def run(
    folder: Path | None, out: Path, profile: str, sets: list[str] | None, rows: int | None
) -> None:
    """Run or resume the suite."""
    records = Records(out)
    quick = profile == "quick"
    names = sets or list(QUICK if quick else FULL)
    ks = [32, 128, 512] if quick else [32, 64, 128, 256, 512, 1024, 2048, 4096]
    runs = 1 if quick else 5
    bar = Bar(len(names) * (len(PLUSPLUS) + 1 + len(PARALLEL)))
    for name in names:
        X, about = load(name, folder, rows)
        for law, ways in (("k-means++", ["naive", *PLUSPLUS]), ("k-means||", list(PARALLEL))):
            for way in ways:
                _one(records, X, about, law, way, ks, runs, _PATIENCE[profile])
                bar.step(f"{name} {law} {way}")


def _one(
    records: Records, X: np.ndarray, about: dict[str, Any], law: str, way: str, ks: list[int],
    runs: int, patience: float,
) -> None:  # fmt: skip
    _draw(X[:2000], law, way, 8, 0)  # loads what is needed
    slow = False
    for k in ks:
        if k > len(X) // 4 or slow:
            break
        if way in ("fast", "lazy") and not records.has(**_cell(about, law, way, k, 0)):
            _draw(X, law, way, k, 0)  # which kernels these load depends on the shape
        for run_ in range(runs):
            started = time.perf_counter()
            records.cell(
                lambda k=k, run_=run_: _draw(X, law, way, k, run_),
                **_cell(about, law, way, k, run_),
            )
            seconds = time.perf_counter() - started
            slow = slow or seconds > patience
            if seconds > _ONCE:
                break


def _cell(about: dict[str, Any], law: str, way: str, k: int, run_: int) -> dict[str, Any]:
    return {"suite": "paper", **about, "law": law, "way": way, "k": k, "run": run_}


def _draw(X: np.ndarray, law: str, way: str, k: int, seed: int) -> dict[str, Any]:
    time.sleep(0.02)  # let the threads of whatever ran before go to sleep
    started = time.perf_counter()
    if law == "k-means++" and way == "naive":
        naive_plusplus(X, k, seed)
        seconds = time.perf_counter() - started
        return {"seconds": seconds, "distances": len(X) * (k - 1)}
    found: Seeding
    if law == "k-means++":
        options = PLUSPLUS[way]
        if way == "lazy":
            options = {**options, "kernels": "compiled"}
        found = kmeans_plusplus(X, k, random_state=seed, **options)
    else:
        found = kmeans_parallel(X, k, random_state=seed, **PARALLEL[way])
    seconds = time.perf_counter() - started
    work = found.work
    result = {"seconds": seconds, "distances": work.distances}
    if law == "k-means||":
        result["naive"] = len(X) * (work.candidates + 1)
    if law == "k-means++" and len(work.queue_examined) > 1:
        # The first round fills the queue; from the second on it is examined.
        examined = np.array(work.queue_examined[1:])
        left = len(X) - np.arange(2, len(examined) + 2)
        result["examined"] = float(np.mean(examined / left))
    return result
