"""The figures and tables of the paper, for the data sets that are present.

k-means++: distances and time of naive (vectorised), of the paper's Algorithm 2, and of lazy; the
share of the queue examined; Algorithm 2 without its queue. k-means||: distances and time of naive
(vectorised), of the paper's Algorithm 5 with and without NearestInRange, and of fast.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.charts import Chart, Table
from benchmarks.data import Rows, is_as_published, label
from benchmarks.internals import PARALLEL, PLUSPLUS, naive_plusplus
from benchmarks.suites.base import Cell, Cells, Lines, Result, Run, Section, Suite, over, times
from benchmarks.timing import Pace, Task, interleaved
from kseeds import kmeans_parallel, kmeans_plusplus
from kseeds.results import Work

PUBLISHED: dict[tuple[str, str], dict[str, list[tuple[int, float]]]] = {
    ("k-means++", "distances"): {"mnist": [(32, 1 / 0.982), (4096, 1 / 0.634)]},
    ("k-means++", "best"): {"mnist": [(32, 1.034), (4096, 1.5)], "covtype": [(4096, 17.0)]},
    ("k-means||", "distances"): {"mnist": [(32, 8.3)]},
}
"""Naive over Algorithm 2 or 5, in distances and in time, as the paper has them."""
PUBLISHED_QUEUE = {
    "cod-rna": 0.983, "phishing": 2.313, "mnist": 1.059, "skin": 1.217, "covtype": 1.877,
}  # fmt: skip
"""Time without over time with the queue, at K = 4096."""
DRAWN = {"k-means++": ("paper", "lazy"), "k-means||": ("paper", "fast")}
TITLES = {"distances": "Distance computations saved", "best": "Time saved"}


def cells(run: Run) -> Cells:
    """Compare the algorithms of each law; those that take long are not run with more seeds."""
    for X, about in run.data_sets():
        for law in DRAWN:
            pace = Pace(run.either(4.0, 12.0))
            for k in run.counts([32, 128, 512], [32, 64, 128, 256, 512, 1024, 2048, 4096]):
                tasks = pace.keep(_tasks(X, law, k), k)
                if tasks and k <= len(X) // 4:
                    measure = partial(_measure, X, law, k, tasks, run.either(2, 5))
                    result = yield Cell({**about, "law": law, "k": k}, measure)
                    pace.learn(result["best"], k)


def _tasks(X: Rows, law: str, k: int) -> dict[str, Task]:
    options = PLUSPLUS if law == "k-means++" else PARALLEL
    seed = kmeans_plusplus if law == "k-means++" else kmeans_parallel

    def task(name: str) -> Task:
        return lambda turn: seed(X, k, random_state=turn, **options[name]).work

    tasks = {name: task(name) for name in options}
    if law == "k-means++":
        tasks = {"naive": lambda turn: naive_plusplus(X, k, turn), **tasks}
    return tasks


def _measure(X: Rows, law: str, k: int, tasks: dict[str, Task], turns: int) -> Result:
    found = interleaved(tasks, turns, long=1.0)
    work = {name: all_ for name, all_ in found.answers.items() if isinstance(all_[0], Work)}
    counted = {name: float(np.mean([w.distances for w in all_])) for name, all_ in work.items()}
    passes = k - 1.0
    if law == "k-means||":
        passes = float(np.mean([w.candidates + 1 for w in next(iter(work.values()))]))
    counted["naive"] = len(X) * passes
    result: dict[str, Any] = {"best": found.best, "distances": counted}
    if law == "k-means++" and "paper" in work:
        # The first round fills the queue; from the second on it is examined.
        examined = np.array(work["paper"][0].queue_examined[1:])
        result["examined"] = float(np.mean(examined / (len(X) - np.arange(2, len(examined) + 2))))
    return result


HEADERS = {
    "k-means++": "data; K; distances saved, Algorithm 2; lazy; time saved, Algorithm 2; lazy; "
    "queue examined a round; time without / with queue; published",
    "k-means||": "data; K; distances saved, Algorithm 5; fast; time saved, Algorithm 5; fast; "
    "distances without / with NearestInRange",
}


def sections(lines: Lines) -> list[Section]:
    """Show charts of both ratios and a table, for either law."""
    out = []
    for law, header in HEADERS.items():
        chosen = [line for line in lines if line["law"] == law]
        for what, title in TITLES.items():
            out.append(Section(f"{title}: {law}", charts=ratios(chosen, law, what)))
        table = Table(header.split("; "), [_row(line) for line in chosen])
        out.append(Section(f"The paper: {law}", tables=[table]))
    return out


def ratios(lines: Lines, law: str, what: str) -> list[Chart]:
    """Return a chart a data set: naive over each algorithm, against K."""
    charts: dict[str, Chart] = {}
    for line in sorted(lines, key=lambda line: line["k"]):
        if "naive" not in line[what]:
            continue
        title = f"{TITLES[what].lower()} against naive (higher is better)"
        chart = charts.setdefault(label(line), Chart(label(line), "K", title, {}))
        for name in DRAWN[law]:
            ratio = over(line[what]["naive"], line[what].get(name))
            if ratio is not None:
                chart.lines.setdefault(name, []).append((float(line["k"]), ratio))
        marks = PUBLISHED.get((law, what), {}).get(line["data"])
        if marks and is_as_published(line):
            chart.marks["published"] = [(float(k), ratio) for k, ratio in marks]
    return [chart for chart in charts.values() if chart.lines]


def _row(line: dict[str, Any]) -> list[str]:
    best, distances = line["best"], line["distances"]
    row = [label(line), str(line["k"])]
    for values in (distances, best):
        row += [times(over(values.get("naive"), values.get(name))) for name in DRAWN[line["law"]]]
    if line["law"] == "k-means||":
        return [*row, times(over(distances.get("paper, no range"), distances.get("paper")), 2)]
    published = PUBLISHED_QUEUE.get(line["data"]) if line["k"] == 4096 else None
    return [
        *row, f"{line['examined']:.3%}" if "examined" in line else "–",
        times(over(best.get("paper, no queue"), best.get("paper")), 2),
        f"{published:.3f}×" if published and is_as_published(line) else "",
    ]  # fmt: skip


SUITE = Suite("the figures and tables of the paper", cells, sections)
