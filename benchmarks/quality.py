"""Seed cost and cost after Lloyd, beside published numbers; the bias of the printed keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.against import after_lloyd
from benchmarks.records import Bar, Records
from benchmarks.registry import load
from benchmarks.seeding import PUBLISHED
from kseeds import assign, kmeans_parallel, kmeans_plusplus

MIXTURE = {1: (23e4, 14e4), 10: (62e4, 31e4), 100: (30e4, 15e4)}
"""Medians of 11 runs of k-means++, seed and final (Bahmani et al. 2012), by variance R."""
LINE = np.array([0.0, 1.0, 2.5, 7.0, 7.5, 12.0])[:, None]

Method = Callable[[Any, int, int], np.ndarray]

METHODS: dict[str, Method] = {
    "random": lambda X, k, s: X[np.random.default_rng(s).choice(len(X), k, replace=False)],
    "k-means++ naive": lambda X, k, s: (
        kmeans_plusplus(X, k, random_state=s, algorithm="naive").centers
    ),
    "k-means++ paper, clock keys": lambda X, k, s: (
        kmeans_plusplus(X, k, random_state=s, algorithm="paper").centers
    ),
    "k-means++ paper, printed keys": lambda X, k, s: (
        kmeans_plusplus(X, k, random_state=s, algorithm="paper", keys="printed").centers
    ),
    "k-means++ lazy": lambda X, k, s: (
        kmeans_plusplus(X, k, random_state=s, algorithm="lazy").centers
    ),
    "k-means||": lambda X, k, s: kmeans_parallel(X, k, random_state=s).centers,
}


def run(
    folder: Path | None, out: Path, profile: str, sets: list[str] | None, rows: int | None
) -> None:
    """Run or resume the suite."""
    records = Records(out)
    quick = profile == "quick"
    runs = 5 if quick else 20
    jobs = [("mixture", variance, 50) for variance in MIXTURE]
    if folder is not None and (folder / "covtype.npz").is_file():
        jobs += [("covtype", 0, k) for k in ([10] if quick else PUBLISHED)]
    bar = Bar(len(jobs) * len(METHODS) + 2)
    for name, variance, k in jobs:
        if name == "mixture":
            X, about = mixture(variance), {"data": name}
        else:
            X, about = load(name, folder, rows)
        for method, seed in METHODS.items():
            many = runs if name == "mixture" or "naive" not in method else 2
            records.cell(
                lambda X=X, k=k, seed=seed, many=many: _costs(X, k, seed, many),
                suite="quality", **about, variance=variance, k=k, method=method, runs=many,
            )  # fmt: skip
            bar.step(f"{name} {method} k={k}")
    for keys in ("clock", "printed"):
        records.cell(
            lambda keys=keys: _bias(keys, 2000 if quick else 20_000),
            suite="bias", keys=keys,
        )  # fmt: skip
        bar.step(f"bias of {keys} keys")


def mixture(variance: float) -> np.ndarray:
    """Return Bahmani's GaussMixture: 10 000 rows around 50 centres of this variance."""
    rng = np.random.default_rng(int(variance))
    centers = rng.normal(size=(50, 15)) * np.sqrt(variance)
    rows = centers[rng.integers(0, 50, 10_000)] + rng.normal(size=(10_000, 15))
    return rows.astype(np.float32)


def _lloyds(X: np.ndarray) -> int:
    """Return of how many runs to take the final cost: all, or a few where that takes long."""
    return 100 if len(X) <= 100_000 else 2


def _costs(X: np.ndarray, k: int, seed: Method, runs: int) -> dict[str, Any]:
    found = [seed(X, k, s) for s in range(runs)]
    return {
        "seed": [assign(X, np.ascontiguousarray(c)).potential for c in found],
        "final": [after_lloyd(X, np.ascontiguousarray(c)) for c in found[: _lloyds(X)]],
    }


def _bias(keys: str, draws: int) -> dict[str, Any]:
    """Return how often each pair of first seeds of six points on a line was drawn."""
    counts: dict[str, int] = {}
    for s in range(draws):
        rows = kmeans_plusplus(LINE, 3, random_state=s, algorithm="paper", keys=keys).indices
        name = str(int(rows[2]))
        counts[name] = counts.get(name, 0) + 1
    return {"third": counts, "draws": draws}
