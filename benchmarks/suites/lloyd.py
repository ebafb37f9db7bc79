"""Lloyd's iteration from the same centres: kseeds beside scikit-learn, oneDAL and faiss."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.charts import Table
from benchmarks.data import Rows, caution, label
from benchmarks.internals import warm_lloyd
from benchmarks.suites.base import Cell, Cells, Lines, Result, Run, Section, Suite, times
from benchmarks.suites.peers import against, importable
from benchmarks.timing import Pace, interleaved
from kseeds import assign, kmeans, kmeans_plusplus

ITERATIONS = 25
SETS = ("cod-rna", "skin", "covtype", "mnist", "sensor", "flights")
LIMIT = 120.0
"""Seconds above which a peer is left out."""

Clusterer = Callable[[Rows, Rows, int], Any]
"""Returns centres after the iterations, from given ones; the last argument is the turn."""


def _sklearn(algorithm: str) -> Clusterer:
    from sklearn.cluster import KMeans

    def fit(X: Rows, start: Rows, _: int) -> Any:
        model = KMeans(
            len(start), init=start, n_init=1, max_iter=ITERATIONS, tol=0, algorithm=algorithm
        )
        return model.fit(X).cluster_centers_

    return fit


def _onedal() -> Clusterer:
    import daal4py

    def fit(X: Rows, start: Rows, _: int) -> Any:
        method = daal4py.kmeans(
            nClusters=len(start), maxIterations=ITERATIONS, fptype="float", accuracyThreshold=0.0
        )
        return method.compute(X, start).centroids

    return fit


def _faiss() -> Clusterer:
    import faiss

    def fit(X: Rows, start: Rows, _: int) -> Any:
        k, d = start.shape
        method = faiss.Clustering(d, k)
        method.niter, method.min_points_per_centroid = ITERATIONS, 1
        method.max_points_per_centroid = len(X)  # otherwise it takes a sample
        faiss.copy_array_to_vector(start.ravel(), method.centroids)
        method.train(X, faiss.IndexFlatL2(d))
        return faiss.vector_to_array(method.centroids).reshape(k, d)

    return fit


PEERS: dict[str, Callable[[], Clusterer]] = {
    "scikit-learn": lambda: _sklearn("lloyd"),
    "scikit-learn, elkan": lambda: _sklearn("elkan"),
    "oneDAL": _onedal,
    "faiss": _faiss,
}


def _ours(X: Rows, start: Rows, _: int) -> Any:
    return kmeans(X, len(start), init=start, max_iter=ITERATIONS, tol=0)


def cells(run: Run) -> Cells:
    """Compare numbers of centres; a peer that would take over two minutes is left out."""
    methods: dict[str, Clusterer] = {**importable(PEERS), "kseeds": _ours}
    for X, about in run.data_sets(quick=SETS[:2], full=SETS):
        pace = Pace(LIMIT)
        for k in run.counts([100], [100, 1000]):
            if k <= len(X) // 4:
                kept = pace.keep(methods, k)
                result = yield Cell({**about, "k": k}, partial(_measure, X, k, kept))
                pace.learn(result["best"], k)


def _measure(X: Rows, k: int, methods: dict[str, Clusterer]) -> Result:
    warm_lloyd()
    start = kmeans_plusplus(X, k, random_state=0).centers
    found = interleaved({name: partial(fit, X, start) for name, fit in methods.items()})
    ours = found.answers["kseeds"][-1]
    inertia = {
        name: assign(X, np.ascontiguousarray(answers[-1], dtype=np.float32)).potential
        for name, answers in found.answers.items()
    }
    work = {
        "algorithm": ours.algorithm,
        "iterations": ours.n_iter,
        "distances": ours.work.distances,
        "skipped": ours.work.rows_skipped,
    }
    return {"best": found.best, "inertia": inertia, "work": work}


def sections(lines: Lines) -> list[Section]:
    """Show how many times longer the peers take, and that all end at the same inertia."""
    names = [name for name in PEERS if any(name in line["best"] for line in lines)]
    header = [
        "data", "K", "kseeds, ms", *names, "algorithm", "distances, % of all", "inertia, %",
    ]  # fmt: skip
    behind = [f"{label(line)} K = {line['k']}" for line in lines if (_ratio(line) or 1.0) < 1.0]
    text = (
        f"{ITERATIONS} iterations from the same seeds of k-means++, in float32, strict convergence "
        "only. The time of each peer over ours, seeding not included; distances computed as a "
        "share of rows × centres × iterations; by how much the inertia of the peers differs at "
        f"most. {against([_ratio(line) for line in lines])} Cells in which a peer is faster: "
        f"{', '.join(behind) or 'none'}. {caution(lines)}"
    )
    return [Section("Iterations of Lloyd", text, [Table(header, [_row(x, names) for x in lines])])]


def _ratio(line: dict[str, Any]) -> float | None:
    theirs = [seconds for name, seconds in line["best"].items() if name != "kseeds"]
    return min(theirs) / line["best"]["kseeds"] if theirs else None


def _row(line: dict[str, Any], names: list[str]) -> list[str]:
    ours, work, inertia = line["best"]["kseeds"], line["work"], line["inertia"]
    row = [label(line), str(line["k"]), f"{ours * 1e3:.3g}"]
    for name in names:
        theirs = line["best"].get(name)
        text = "left out" if theirs is None else times(theirs / ours)
        row.append(f"{text} (ahead)" if theirs is not None and theirs < ours else text)
    share = work["distances"] / (line["n"] * line["k"] * (work["iterations"] + 1))
    apart = max(abs(value / inertia["kseeds"] - 1.0) for value in inertia.values())
    return [*row, work["algorithm"], f"{100 * share:.2g}", f"{100 * apart:.2g}"]


SUITE = Suite("Lloyd's iteration beside scikit-learn, oneDAL and faiss", cells, sections)
