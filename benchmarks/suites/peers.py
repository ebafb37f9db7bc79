"""kseeds beside scikit-learn, oneDAL and faiss: k-means++, k-means|| and ``assign``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import numpy as np

from benchmarks.charts import Table
from benchmarks.data import Rows, caution, label
from benchmarks.internals import lazy, one_pass, warm_all
from benchmarks.suites.base import Cell, Cells, Lines, Result, Run, Section, Suite, times
from benchmarks.suites.quality import after_lloyd
from benchmarks.timing import Pace, Task, interleaved
from kseeds import assign, kmeans_parallel, kmeans_plusplus

Seeder = Callable[[Any, int, int], np.ndarray]
T = TypeVar("T")

GREEDY = (
    "scikit-learn runs with one trial a seed (n_local_trials=1), which is k-means++. Its "
    "default tries several rows for every seed and keeps the best: greedy k-means++, another "
    "law, timed by the suite greedy. It ends at lower costs where clusters are well separated, "
    "and at nearly the same elsewhere (python -m benchmarks run quality)."
)


def _sklearn() -> Seeder:
    from sklearn.cluster import kmeans_plusplus

    return lambda X, k, seed: kmeans_plusplus(X, k, n_local_trials=1, random_state=seed)[0]


def _onedal(**options: Any) -> Seeder:
    import daal4py

    def seed(X: Any, k: int, state: int) -> np.ndarray:
        engine = daal4py.engines_mt19937(seed=state)
        method = daal4py.kmeans_init(nClusters=k, fptype="float", engine=engine, **options)
        return method.compute(X).centroids

    return seed


def _faiss() -> Seeder:
    import faiss

    def seed(X: Any, k: int, state: int) -> np.ndarray:
        method = faiss.ClusteringInitialization(X.shape[1], k)
        method.method = faiss.ClusteringInitMethod_KMEANS_PLUS_PLUS
        method.seed = state
        centers = np.empty((k, X.shape[1]), dtype=np.float32)
        method.init_centroids(len(X), faiss.swig_ptr(X), faiss.swig_ptr(centers))
        return centers

    return seed


PEERS: dict[str, dict[str, Callable[[], Seeder]]] = {
    "k-means++": {
        "scikit-learn": _sklearn,
        "oneDAL": lambda: _onedal(method="plusPlusDense"),
        "faiss": _faiss,
    },
    "k-means||": {
        "oneDAL": lambda: _onedal(method="parallelPlusDense", oversamplingFactor=2.0, nRounds=5)
    },
}
OURS: dict[str, Seeder] = {
    "k-means++": lambda X, k, seed: lazy(X, k, seed).centers,
    "k-means||": lambda X, k, seed: kmeans_parallel(X, k, random_state=seed).centers,
}


def installed(law: str) -> dict[str, Seeder]:
    """Return the seedings of the peers that can be imported here."""
    return importable(PEERS[law])


def importable(peers: Mapping[str, Callable[[], T]]) -> dict[str, T]:
    """Return those of some peers that can be imported here, and say which cannot."""
    found = {}
    for name, make in peers.items():
        try:
            found[name] = make()
        except ImportError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
    return found


def cells(run: Run) -> Cells:
    """Compare with all peers; one that would take over a minute is left out, and said to be."""
    ks = {
        "k-means++": run.counts([64, 512], [64, 512, 4096]),
        "k-means||": run.counts([64], [64, 512, 2048]),
    }
    methods = {law: {**installed(law), "kseeds": OURS[law]} for law in ks}
    for X, about in run.data_sets():
        for law, counts in ks.items():
            pace = Pace(60.0)
            for k in (k for k in counts if k <= len(X) // 4):
                tasks = {name: partial(seed, X, k) for name, seed in methods[law].items()}
                measure = partial(_measure, X, pace.keep(tasks, k))
                result = yield Cell({**about, "law": law, "k": k}, measure)
                pace.learn(result["best"], k)


def _measure(X: Rows, tasks: dict[str, Task]) -> Result:
    found = interleaved(tasks)
    costs = {}
    for name, answers in found.answers.items():
        centers = np.ascontiguousarray(answers[-1], dtype=np.float32)
        costs[name] = [assign(X, centers).potential, after_lloyd(X, centers)]
    return {"best": found.best, "costs": costs, "pass": one_pass(X)}


def sections(lines: Lines) -> list[Section]:
    """Show times and costs, by law."""
    out = []
    for law in PEERS:
        chosen = [line for line in lines if line["law"] == law]
        names = sorted({name for line in chosen for name in line["best"]} - {"kseeds"})
        text = (
            f"Peers of {law}: their time over ours (both on all cores, best of three, steady "
            "state); our time in passes, each a vectorised comparison of all rows with one centre; "
            "cost after seeding / after five iterations of Lloyd. "
            f"{against([_ratio(line) for line in chosen])} {caution(chosen)} "
            f"{GREEDY if 'scikit-learn' in names else ''}"
        )
        header = ["data", "K", "kseeds, ms", "passes", *names]
        header += [f"cost, {name}" for name in ("kseeds", *names)]
        table = Table(header, [_row(line, names) for line in chosen])
        out.append(Section(f"Peers: {law}", text, [table]))
    return out


def _row(line: dict[str, Any], names: list[str]) -> list[str]:
    ours = line["best"]["kseeds"]
    passes = f"{ours / line['pass']:.2g}" if "pass" in line else ""
    row = [label(line), str(line["k"]), f"{ours * 1e3:.3g}", passes]
    for name in names:
        theirs = line["best"].get(name)
        text = "left out" if theirs is None else times(theirs / ours)
        row.append(f"{text} (ahead)" if theirs is not None and theirs < ours else text)
    costs = [line["costs"].get(name) for name in ("kseeds", *names)]
    return row + ["" if cost is None else f"{cost[0]:.3g} / {cost[1]:.3g}" for cost in costs]


def _ratio(line: dict[str, Any]) -> float | None:
    """Return the time of the fastest peer over ours."""
    theirs = [seconds for name, seconds in line["best"].items() if name != "kseeds"]
    return min(theirs) / line["best"]["kseeds"] if theirs else None


def against(ratios: list[float | None]) -> str:
    """Say how the fastest of the peers compares, if one was measured."""
    found = [ratio for ratio in ratios if ratio is not None]
    if not found:
        return "No peer was measured; install some to compare with."
    mean, first = float(np.exp(np.mean(np.log(found)))), sum(ratio >= 1 for ratio in found)
    return (
        f"Against the fastest of them: {mean:.1f}× in geometric mean, at least {min(found):.1f}×, "
        f"first in {first} of {len(found)} cells."
    )


ASSIGN_PEERS = ("faiss", "scikit-learn")


def assign_cells(run: Run) -> Cells:
    """Compare numbers of centres."""
    for X, about in run.data_sets():
        for m in run.counts([512], [64, 512, 2048, 8192]):
            if m <= len(X) // 4:
                yield Cell({**about, "m": m}, partial(_measure_assign, X, m))


def _measure_assign(X: Rows, m: int) -> Result:
    import faiss
    from sklearn.metrics import pairwise_distances_argmin_min

    warm_all()
    centers = kmeans_plusplus(X, m, random_state=0).centers
    index = faiss.IndexFlatL2(X.shape[1])
    index.add(centers)
    found = interleaved({
        "kseeds": lambda _: assign(X, centers),
        "faiss": lambda _: index.search(X, 1),
        "scikit-learn": lambda _: pairwise_distances_argmin_min(X, centers),
    })  # fmt: skip
    return {"best": found.best}


def assign_sections(lines: Lines) -> list[Section]:
    """Show how many times longer the others take."""
    rows, ratios = [], []
    for line in lines:
        ours, others = line["best"]["kseeds"], [line["best"][name] for name in ASSIGN_PEERS]
        ratios.append(min(others) / ours)
        shown = [times(seconds / ours) for seconds in others]
        rows.append([label(line), str(line["m"]), f"{ours * 1e3:.3g}", *shown])
    text = f"{against(ratios)} {caution(lines)}"
    return [Section("assign", text, [Table(["data", "m", "kseeds, ms", *ASSIGN_PEERS], rows)])]


SUITE = Suite("scikit-learn, oneDAL and faiss beside kseeds", cells, sections)
ASSIGN = Suite("assign beside faiss and scikit-learn", assign_cells, assign_sections)
