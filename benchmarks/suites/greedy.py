"""Greedy k-means++ beside scikit-learn's default and fastkmeanspp, which draw from the same law."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.charts import Table
from benchmarks.data import Rows, caution, count, label
from benchmarks.internals import warm_greedy
from benchmarks.memory import growth, in_fresh_process
from benchmarks.suites.base import Cell, Cells, Lines, Result, Run, Section, Suite, times
from benchmarks.suites.peers import importable
from benchmarks.timing import Task, interleaved
from kseeds import greedy_kmeans_plusplus

Seeder = Callable[[Any, int, int, int], Any]
"""A peer, given rows, seeds, candidates per seed and random state."""

SETS = ("phishing", "cod-rna", "skin", "covtype", "mnist", "sensor")
SMALL = ((300, 2, 8), (2000, 16, 8))
"""Rows, columns and seeds of jobs that are done in a millisecond or less."""
CALLS = 10
"""Calls of a small job that are timed together."""
LARGE = 50_000
"""Rows from which on a lead of three is aimed at in every cell."""
SLICE = 32
"""Seeds that a peer draws where drawing all of them would take long."""
_WHOLE = 2_000_000_000
"""Coordinates compared with one candidate per seed, up to which a peer draws all seeds."""


def _sklearn() -> Seeder:
    from sklearn.cluster import kmeans_plusplus

    return lambda X, k, trials, seed: kmeans_plusplus(
        X, k, n_local_trials=trials, random_state=seed
    )


def _fastkmeanspp() -> Seeder:
    from fastkmeanspp import KMeans

    # There is no public function for the seeds alone: fit goes on to Lloyd's iterations.
    return lambda X, k, trials, seed: KMeans(
        k, n_local_trials=trials, random_state=seed
    )._init_centroids(X)


PEERS: dict[str, Callable[[], Seeder]] = {
    "scikit-learn": _sklearn,
    "fastkmeanspp": _fastkmeanspp,
}


def cells(run: Run) -> Cells:
    """Measure small jobs, and data sets with several numbers of seeds."""
    peers = importable(PEERS)
    for n, d, k in SMALL:
        key = {"data": f"{n} × {d} normal", "n": n, "d": d, "k": k}
        yield Cell(key, partial(_measure_small, n, d, k, peers, run.either(5, 30)))
    for X, about in run.data_sets(full=SETS):
        for k in run.counts([32, 256], [32, 256, 1024]):
            if k <= len(X) // 4:
                yield Cell({**about, "k": k}, partial(_measure, X, k, peers))


def trials_for(k: int) -> int:
    """Return the candidates per seed, of all three libraries by default."""
    return 2 + int(np.log(k))


def seeds_timed(n: int, d: int, k: int) -> int:
    """Return how many seeds a peer draws: all, or as many as the rest is projected from."""
    return k if n * max(d, 16) * k <= _WHOLE else min(k, SLICE)


def projected(seconds: float, of_two: float, drawn: int, k: int) -> float:
    """Return what ``k`` seeds take, given what ``drawn`` and two of them take.

    Every step of these peers compares all rows with all candidates, so that all take equally
    long. What comes before the first is in both times, and is not multiplied.
    """
    step = max(0.0, seconds - of_two) / (drawn - 2) if drawn < k else 0.0
    return seconds + (k - drawn) * step


def _measure_small(n: int, d: int, k: int, peers: dict[str, Seeder], turns: int) -> Result:
    """Compare in float64, as most rows are; fastkmeanspp computes in float32."""
    import kseeds.sklearn

    X = np.random.default_rng(0).normal(size=(n, d))
    single = X.astype(np.float32)
    tasks: dict[str, Task] = {
        "kseeds": lambda state: greedy_kmeans_plusplus(X, k, random_state=state),
        "kseeds.sklearn": lambda state: kseeds.sklearn.kmeans_plusplus(X, k, random_state=state),
    }
    for name, seed in peers.items():
        tasks[name] = partial(seed, single if name == "fastkmeanspp" else X, k, trials_for(k))
    best = interleaved({name: partial(_often, task) for name, task in tasks.items()}, turns).best
    return {"best": {name: seconds / CALLS for name, seconds in best.items()}}


def _often(task: Task, turn: int) -> None:
    """Make several calls: the first after a rest takes longer than such a job."""
    for call in range(CALLS):
        task(turn * CALLS + call)


def _measure(X: Rows, k: int, peers: dict[str, Seeder]) -> Result:
    warm_greedy()
    drawn, trials = seeds_timed(*X.shape, k), trials_for(k)
    tasks: dict[str, Task] = {
        "kseeds": lambda turn: greedy_kmeans_plusplus(X, k, random_state=turn).work
    }
    for name, seed in peers.items():
        tasks[name] = partial(seed, X, drawn, trials)
        if drawn < k:
            tasks[f"{name}, two seeds"] = partial(seed, X, 2, trials)
    found = interleaved(tasks)
    best = {"kseeds": found.best["kseeds"]}
    for name in peers:
        of_two = found.best.get(f"{name}, two seeds", 0.0)
        best[name] = projected(found.best[name], of_two, drawn, k)
    distances = found.answers["kseeds"][-1].distances
    return {"best": best, "drawn": drawn, "distances": distances, "bytes": _bytes(X, k)}


def _bytes(X: Rows, k: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, X)
        return in_fresh_process(peak_growth, path, k)


def peak_growth(path: Path, k: int) -> int:
    """Return by how many bytes the peak memory of this process grows while it seeds."""
    X = np.load(path)
    warm_greedy()
    greedy_kmeans_plusplus(X[:5000], min(64, len(X)), random_state=0)
    return growth(lambda: greedy_kmeans_plusplus(X, k, random_state=0))


def sections(lines: Lines) -> list[Section]:
    """Show times of the peers as multiples of ours, counted work and memory."""
    small = [line for line in lines if "distances" not in line]
    large = [line for line in lines if "distances" in line]
    header = [
        "data", "K", "kseeds, ms", *PEERS, "distances ÷ rows", "fewer than naive",
        "bytes a row beyond the input",
    ]  # fmt: skip
    text = (
        "Time of greedy k-means++ by each peer over ours (the same candidates per seed, all cores, "
        "best of three, steady state). ~ is projected: the peer drew "
        f"{SLICE} seeds, and the others were taken to need as long each, since it compares all "
        "rows with all candidates in every step. Memory includes what does not grow with the rows. "
        f"{ahead(large)} {caution(large)}"
    )
    small_header = ["job", "kseeds, ms", "kseeds.sklearn, ms", *PEERS]
    small_text = (
        f"Small jobs in float64, {CALLS} calls in a row: time of each peer over that of "
        "greedy_kmeans_plusplus; kseeds.sklearn is the function that the patch puts in place of "
        f"scikit-learn's. {ahead(small)}"
    )
    return [
        Section("Greedy k-means++", text, [Table(header, [_row(line) for line in large])]),
        Section(
            "Greedy k-means++, small jobs", small_text,
            [Table(small_header, [_small_row(line) for line in small])],
        ),
    ]  # fmt: skip


def _row(line: dict[str, Any]) -> list[str]:
    n, k = line["n"], line["k"]
    naive = n * (1 + trials_for(k) * (k - 1))
    mark = "~" if line["drawn"] < k else ""
    return [
        label(line), str(k), f"{line['best']['kseeds'] * 1e3:.3g}",
        *(_over(line, name, mark) for name in PEERS), f"{line['distances'] / n:.3g}",
        times(naive / line["distances"]), f"{line['bytes'] / n:.0f}",
    ]  # fmt: skip


def _small_row(line: dict[str, Any]) -> list[str]:
    ours = [f"{line['best'][name] * 1e3:.3g}" for name in ("kseeds", "kseeds.sklearn")]
    return [f"{line['data']}, K = {line['k']}", *ours, *(_over(line, name) for name in PEERS)]


def _over(line: dict[str, Any], name: str, mark: str = "") -> str:
    theirs = line["best"].get(name)
    return "–" if theirs is None else mark + times(theirs / line["best"]["kseeds"])


def ahead(lines: Lines) -> str:
    """Say how each peer compares: in the mean, at least, and where it is faster."""
    parts = []
    for name in PEERS:
        found = [
            (line["best"][name] / line["best"]["kseeds"], line)
            for line in lines
            if name in line["best"]
        ]
        if not found:
            parts.append(f"{name} was not measured.")
            continue
        ratios = [ratio for ratio, _ in found]
        mean = float(np.exp(np.mean(np.log(ratios))))
        said = f"{name}: {times(mean)} in geometric mean, at least {times(min(ratios), 2)}"
        of_large = [ratio for ratio, line in found if line["n"] >= LARGE]
        if of_large:
            said += f", at least {times(min(of_large), 2)} from {count(LARGE)} rows on"
        faster = [f"{label(line)} K = {line['k']}" for ratio, line in found if ratio < 1]
        parts.append(f"{said}; faster than kseeds in {', '.join(faster) or 'no cell'}.")
    return " ".join(parts)


SUITE = Suite("greedy k-means++ beside scikit-learn's default and fastkmeanspp", cells, sections)
