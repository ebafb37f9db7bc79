"""Seed cost and cost after Lloyd, beside published numbers; the bias of the printed keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from benchmarks.charts import Table
from benchmarks.data import is_as_published, label, load
from benchmarks.suites.base import Cell, Cells, Lines, Result, Run, Section, Suite
from kseeds import assign, kmeans_parallel, kmeans_plusplus

COVTYPE = {10: 5.941e11, 20: 3.377e11, 50: 1.834e11, 100: 1.221e11}
"""Covertype, mean cost of 20 exact seedings (Shah, Agrawal, Jaiswal 2025)."""
MIXTURE = {1: (23e4, 14e4), 10: (62e4, 31e4), 100: (30e4, 15e4)}
"""Medians of 11 runs of k-means++, seed and final (Bahmani et al. 2012), by variance R."""
MIXTURE_ROWS = 10_000
LINE = np.array([0.0, 1.0, 2.5, 7.0, 7.5, 12.0])[:, None]

Method = Callable[[Any, int, int], np.ndarray]


def _plusplus(**options: Any) -> Method:
    return lambda X, k, seed: kmeans_plusplus(X, k, random_state=seed, **options).centers


def _greedy(X: Any, k: int, seed: int) -> np.ndarray:
    from sklearn.cluster import kmeans_plusplus as greedy

    return greedy(X, k, random_state=seed)[0]


METHODS: dict[str, Method] = {
    "random": lambda X, k, s: X[np.random.default_rng(s).choice(len(X), k, replace=False)],
    "k-means++ naive": _plusplus(algorithm="naive"),
    "k-means++ paper, clock keys": _plusplus(algorithm="paper"),
    "k-means++ paper, printed keys": _plusplus(algorithm="paper", keys="printed"),
    "k-means++ lazy": _plusplus(algorithm="lazy"),
    "greedy k-means++, scikit-learn": _greedy,
    "k-means||": lambda X, k, s: kmeans_parallel(X, k, random_state=s).centers,
}


def cells(run: Run) -> Cells:
    """Measure mixtures, covertype where it is at hand, and the bias."""
    n = min(run.rows or MIXTURE_ROWS, MIXTURE_ROWS)
    jobs: list[tuple[dict[str, Any], np.ndarray, list[int]]] = [
        ({"data": "mixture", "n": n, "variance": variance}, mixture(variance, n), [50])
        for variance in MIXTURE
    ]
    X, about = load("covtype", run.folder, run.rows) if run.folder else (LINE, {})
    if about.get("origin") == "local":
        jobs.append((about, X, run.counts([10], list(COVTYPE))))
    for about, X, ks in jobs:
        for k, (method, seed) in product(ks, METHODS.items()):
            slow = len(X) > 100_000 and ("naive" in method or "greedy" in method)
            runs = 2 if slow else run.either(5, 20)
            key = {**about, "k": k, "method": method, "runs": runs}
            yield Cell(key, partial(_costs, X, k, seed, runs))
    draws = run.either(2000, 20_000)
    for keys in ("clock", "printed"):
        yield Cell({"keys": keys, "draws": draws}, partial(_bias, keys, draws))


def mixture(variance: float, n: int) -> np.ndarray:
    """Return Bahmani's GaussMixture: rows around 50 centres of this variance."""
    rng = np.random.default_rng(int(variance))
    centers = rng.normal(size=(50, 15)) * np.sqrt(variance)
    rows = centers[rng.integers(0, 50, n)] + rng.normal(size=(n, 15))
    return rows.astype(np.float32)


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


def _costs(X: np.ndarray, k: int, seed: Method, runs: int) -> Result:
    found = [np.ascontiguousarray(seed(X, k, s)) for s in range(runs)]
    few = runs if len(X) <= 100_000 else 2  # Lloyd takes long with many rows
    return {
        "seed": [assign(X, centers).potential for centers in found],
        "final": [after_lloyd(X, centers) for centers in found[:few]],
    }


def _bias(keys: str, draws: int) -> Result:
    """Return how often each of six points on a line was the third seed."""
    thirds = Counter(
        int(kmeans_plusplus(LINE, 3, random_state=s, algorithm="paper", keys=keys).indices[2])
        for s in range(draws)
    )
    return {"third": [thirds[point] for point in range(len(LINE))]}


def sections(lines: Lines) -> list[Section]:
    """Show costs beside published ones, and the frequencies."""
    header = ["data", "k", "method", "seed cost (95 %)", "median", "after Lloyd", "published"]
    rows = [_row(line) for line in lines if "method" in line]
    shares = [
        [line["keys"], *(f"{times / line['draws']:.4f}" for times in line["third"])]
        for line in lines
        if "keys" in line
    ]
    text = (
        "How often each of six points on a line is the third seed. Clock keys follow the law; "
        "the keys as printed do not."
    )
    points = ["keys", *(f"point {i}" for i in range(len(LINE)))]
    return [
        Section("Quality", tables=[Table(header, rows)]),
        Section("The bias of the printed keys", text, [Table(points, shares)]),
    ]


def _row(line: dict[str, Any]) -> list[str]:
    seed, final = np.array(line["seed"]), np.array(line["final"])
    spread = ""
    if len(seed) > 1:
        spread = f" ± {1.96 * seed.std(ddof=1) / np.sqrt(len(seed)):.2g}"
    name, published = label(line), ""
    if line["data"] == "mixture":
        name += f" R={line['variance']:g}"
    if line["method"].startswith("k-means++") and is_as_published(line):
        if line["data"] == "covtype" and line["k"] in COVTYPE:
            published = f"{COVTYPE[line['k']]:.4g}"
        elif line["data"] == "mixture" and line["n"] == MIXTURE_ROWS:
            published = " / ".join(f"{v:.3g}" for v in MIXTURE[int(line["variance"])])
    return [
        name, str(line["k"]), line["method"], f"{seed.mean():.4g}{spread}",
        f"{np.median(seed):.4g}", f"{final.mean():.4g}", published,
    ]  # fmt: skip


SUITE = Suite("costs after seeding and after Lloyd, beside published ones", cells, sections)
