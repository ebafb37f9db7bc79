"""Sparse rows beside scikit-learn on the same matrix: seeding, assignment, and growth."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

import kseeds
from benchmarks.charts import Table
from benchmarks.data import caution, count, label, load_sparse, weighted_text, zipf_text
from benchmarks.memory import growth, in_fresh_process
from benchmarks.suites.base import Cell, Cells, Lines, Result, Run, Section, Suite, times
from benchmarks.suites.greedy import projected, trials_for
from benchmarks.timing import Task, interleaved, timed

CORPORA = ("debian-text",)
MADE = {
    "long rows": (15_000, 60_000, 120, "float64"),
    "few columns": (100_000, 5_000, 40, "float32"),
}
"""Synthetic text: rows, columns, entries a row, and the precision."""
SLICE = 12
"""Seeds that scikit-learn draws; the others are taken to need as long each."""
KERNELS = ("sparse_lazy", "inverted", "greedy_postings", "fingerprint")
SIZES = ((100_000, 100_000), (1_000_000, 300_000), (10_000_000, 1_000_000))
"""Rows and columns of synthetic matrices, ten entries a row."""


def cells(run: Run) -> Cells:
    """Measure every job on every corpus, and growth on synthetic matrices."""
    for X, about in _corpora(run):
        for k in run.counts([64, 512], [64, 512, 4096]):
            for law in ("k-means++", "greedy", "k-means||"):
                if law == "k-means++" or k <= 512:
                    yield Cell({**about, "job": law, "k": k}, partial(_seeding, X, law, k))
        m = min(run.ks) if run.ks else 512
        yield Cell({**about, "job": "assign", "k": m}, partial(_assign, X, m))
    for n, d in run.either(SIZES[:2], SIZES):
        n = min(n, run.rows or n)
        k = min(run.ks) if run.ks else 1024
        key = {"data": "Zipf", "origin": "made", "n": n, "d": d, "job": "growth", "k": k}
        yield Cell(key, partial(_growth, n, d, k))


def _corpora(run: Run) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield real text, and in a full run synthetic text of other shapes."""
    for name in CORPORA:
        yield load_sparse(name, run.folder, run.rows)
    for name, (n, *shape) in run.either({}, MADE).items():
        X = weighted_text(min(n, run.rows or n), *shape)
        yield X, {"data": name, "origin": "made", "n": X.shape[0], "d": X.shape[1]}


def _seeding(X: Any, law: str, k: int) -> Result:
    from sklearn.cluster import kmeans_plusplus

    kseeds.warmup(*KERNELS, dtype=X.dtype.name)
    ours = {
        "k-means++": kseeds.kmeans_plusplus,
        "greedy": kseeds.greedy_kmeans_plusplus,
        "k-means||": kseeds.kmeans_parallel,
    }[law]
    trials = trials_for(k) if law == "greedy" else 1
    drawn = min(k, SLICE)
    tasks: dict[str, Task] = {"kseeds": lambda turn: ours(X, k, random_state=turn).work}
    if law != "k-means||":  # which it does not have
        for name, seeds in (("scikit-learn", drawn), ("two seeds", 2)):
            tasks[name] = lambda turn, seeds=seeds: kmeans_plusplus(
                X, seeds, n_local_trials=trials, random_state=turn
            )
    found = interleaved(tasks)
    best = {"kseeds": found.best["kseeds"]}
    if "two seeds" in found.best:
        best["scikit-learn"] = projected(
            found.best["scikit-learn"], found.best["two seeds"], drawn, k
        )
    return {"best": best, "passes": found.answers["kseeds"][-1].passes, "entries": int(X.nnz)}


def _assign(X: Any, m: int) -> Result:
    """Compare with dense means of clusters, as an iteration of Lloyd's does."""
    from sklearn.cluster import KMeans

    kseeds.warmup(*KERNELS, dtype=X.dtype.name)
    seeds = kseeds.kmeans_plusplus(X, m, random_state=0)
    labels, order = seeds.labels, np.argsort(seeds.labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(m + 1))
    means = np.vstack([np.asarray(X[order[a:b]].mean(axis=0)) for a, b in pairwise(starts)]).astype(
        X.dtype
    )
    model = KMeans(m, init=means, n_init=1, max_iter=1).fit(X)
    model.cluster_centers_ = means
    tasks: dict[str, Task] = {
        "kseeds": lambda _: kseeds.assign(X, means).labels,
        "scikit-learn": lambda _: model.predict(X),
    }
    found = interleaved(tasks)
    differ = int((found.answers["kseeds"][-1] != found.answers["scikit-learn"][-1]).sum())
    return {"best": found.best, "differ": differ, "entries": int(X.nnz)}


def _growth(n: int, d: int, k: int) -> Result:
    seconds, entries, passes = in_fresh_process(seeded_afresh, n, d, k)
    return {"best": {"kseeds": seconds}, "entries": entries, "passes": passes,
            "bytes": in_fresh_process(peak_growth, n, d, k)}  # fmt: skip


def seeded_afresh(n: int, d: int, k: int) -> tuple[float, int, float]:
    """Return the seconds, the entries and the passes of a seeding with its kernels loaded."""
    X = zipf_text(n, d)
    kseeds.warmup(*KERNELS, dtype=X.dtype.name)
    seconds, seeding = timed(partial(kseeds.kmeans_plusplus, X, k, random_state=0))
    return seconds, int(X.nnz), seeding.work.passes


def peak_growth(n: int, d: int, k: int) -> int:
    """Return by how many bytes the peak memory of this process grows while it seeds."""
    X = zipf_text(n, d)
    kseeds.warmup(*KERNELS, dtype=X.dtype.name)
    kseeds.kmeans_plusplus(X[:5000], min(8, n), random_state=0)
    return growth(lambda: kseeds.kmeans_plusplus(X, k, random_state=0))


def sections(lines: Lines) -> list[Section]:
    """Show times of scikit-learn as multiples of ours, passes, and growth."""
    jobs = [line for line in lines if line["job"] != "growth"]
    grown = [line for line in lines if line["job"] == "growth"]
    text = (
        "Time of scikit-learn over ours on the same CSR matrix (all cores, best of three, steady "
        f"state). ~ is projected from {SLICE} seeds. k-means++ is scikit-learn's with one trial, "
        "greedy its default, assign its predict with dense means of clusters as centres. "
        f"{caution(jobs)}"
    )
    header = ["data", "job", "K", "kseeds, ms", "scikit-learn", "passes over the entries"]
    growth_header = [
        "rows × columns",
        "entries",
        "K",
        "seconds",
        "ns an entry",
        "bytes an entry beyond the input",
    ]
    growth_text = (
        "k-means++ on synthetic matrices of ten entries a row, columns by Zipf's law; kernels "
        "compiled."
    )
    return [
        Section("Sparse rows", text, [Table(header, [_row(line) for line in jobs])]),
        Section(
            "Sparse rows, growth", growth_text,
            [Table(growth_header, [_growth_row(line) for line in grown])],
        ),
    ]  # fmt: skip


def _row(line: dict[str, Any]) -> list[str]:
    best = line["best"]
    theirs = best.get("scikit-learn")
    mark = "~" if line["job"] != "assign" and line["k"] > SLICE else ""
    return [
        label(line), line["job"], str(line["k"]), f"{best['kseeds'] * 1e3:.3g}",
        "–" if theirs is None else mark + times(theirs / best["kseeds"]),
        f"{line['passes']:.2f}" if line["job"] == "k-means++" else "–",
    ]  # fmt: skip


def _growth_row(line: dict[str, Any]) -> list[str]:
    seconds, entries = line["best"]["kseeds"], line["entries"]
    return [
        f"{count(line['n'])} × {count(line['d'])}", count(entries), str(line["k"]),
        f"{seconds:.2f}", f"{1e9 * seconds / entries:.1f}", f"{line['bytes'] / entries:.1f}",
    ]  # fmt: skip


SUITE = Suite("sparse rows beside scikit-learn, and growth", cells, sections)
