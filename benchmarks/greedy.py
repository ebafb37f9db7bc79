"""scikit-learn's default is greedy k-means++: python -m benchmarks.greedy [--data DIR] [--runs N].

Prints the final inertia of `sklearn.cluster.KMeans` from seeds of greedy k-means++ (several
trials a seed, scikit-learn's default) and of k-means++ (one trial), by scikit-learn and by kseeds,
as multiples of the first.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.labels import label
from benchmarks.registry import load
from kseeds import kmeans_plusplus

ROWS = 8000


def methods() -> dict[str, Callable[[Any, int, int], np.ndarray]]:
    """Return the ways of seeding, the one that the others are divided by first."""
    from sklearn.cluster import kmeans_plusplus as theirs

    return {
        "scikit-learn, greedy": lambda X, k, s: theirs(X, k, random_state=s)[0],
        "scikit-learn, one trial": lambda X, k, s: theirs(X, k, n_local_trials=1, random_state=s)[
            0
        ],
        "kseeds": lambda X, k, s: kmeans_plusplus(X, k, random_state=s).centers,
    }


def blobs(clusters: int, columns: int) -> np.ndarray:
    """Return rows around centres that lie far apart, for the most part."""
    rng = np.random.default_rng(0)
    centers = rng.uniform(-10, 10, size=(clusters, columns))
    rows = centers[rng.integers(0, clusters, 5000)] + rng.normal(size=(5000, columns))
    return rows.astype(np.float32)


def compare(X: np.ndarray, k: int, runs: int) -> dict[str, tuple[float, float]]:
    """Return mean and standard error of the final inertia, over the mean of the first method."""
    from sklearn.cluster import KMeans

    found = {
        name: np.array([
            KMeans(k, init=seed(X, k, s), n_init=1).fit(X).inertia_ for s in range(runs)
        ])
        for name, seed in methods().items()
    }  # fmt: skip
    base = next(iter(found.values())).mean()
    return {
        name: (float(v.mean() / base), float(v.std(ddof=1) / base / np.sqrt(runs)))
        for name, v in found.items()
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.greedy", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of .npz (key X) or .npy files")
    parser.add_argument("--runs", type=int, default=20)
    words = parser.parse_args()
    jobs = [
        ("50 blobs of 5000 × 8 (synthetic)", blobs(50, 8), 50),
        ("20 blobs of 5000 × 16 (synthetic)", blobs(20, 16), 20),
        ("normal, 8000 × 16 (synthetic)",
         np.random.default_rng(0).normal(size=(ROWS, 16)).astype(np.float32), 64),
    ]  # fmt: skip
    for name in ("cod-rna", "phishing") if words.data else ():
        X, about = load(name, words.data, ROWS)
        jobs.append((label(about), X, 64))
    print(f"| data | K | {' | '.join(methods())} |\n|---|---|---|---|---|")
    for name, X, k in jobs:
        cells = [f"{m:.2f} ± {e:.2f}" for m, e in compare(X, k, words.runs).values()]
        print(f"| {name} | {k} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
