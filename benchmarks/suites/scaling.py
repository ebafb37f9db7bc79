"""How time, counted work and memory grow with n, K, d and threads, on synthetic rows."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import Any

import numpy as np

from benchmarks.charts import Chart, Table
from benchmarks.data import clustered, count
from benchmarks.internals import lazy, one_pass
from benchmarks.memory import growth, in_fresh_process
from benchmarks.suites.base import Cell, Cells, Lines, Result, Run, Section, Suite, times
from benchmarks.timing import interleaved

AXES = {"n": "n", "K": "k", "d": "d", "threads": "threads"}


def cells(run: Run) -> Cells:
    """Measure along each axis; with many seeds and columns in the full profile only."""
    n, big = run.rows or run.either(100_000, 1_000_000), run.either(10, 1)
    k = run.ks[0] if run.ks else 256
    base = {"n": n, "d": 16, "k": k, "threads": 2}
    axes: dict[str, list[Any]] = {
        "n": [{"n": n * eighths // 8} for eighths in (1, 2, 4, 8, 16, 32)],
        "K": [{"k": many} for many in (k // 4, k, 4 * k, 16 * k, 64 * k // big)],
        "d": [{"n": n // 4, "d": d} for d in (2, 8, 32, 128, 512 // big)],
        "threads": [{"k": 4 * k, "threads": threads} for threads in (1, 2)],
    }
    if run.full:
        axes["K"] += [{"d": 128, "k": many} for many in (4096, 16_384, 65_536)]
    for axis, settings in axes.items():
        for cell in ({"axis": axis, **base, **setting} for setting in settings):
            if cell["k"] <= cell["n"]:
                yield Cell(cell, partial(_measure, **cell))


def _measure(axis: str, n: int, d: int, k: int, threads: int) -> Result:
    X = clustered(n, d, 20_000 if k > 16_384 else 2000)
    found = interleaved({"lazy": lambda turn: lazy(X, k, turn, threads).work})
    work = found.answers["lazy"][-1]
    result = {"seconds": found.best["lazy"], "distances": work.distances, "pass": one_pass(X)}
    if axis == "n":
        result["bytes"] = in_fresh_process(peak_growth, n, d, k)
    return result


def peak_growth(n: int, d: int, k: int) -> int:
    """Return by how many bytes the peak memory of this process grows while it seeds."""
    X = clustered(n, d, 2000)
    lazy(X[:5000], min(64, n), 0)
    return growth(lambda: lazy(X, k, 0))


def sections(lines: Lines) -> list[Section]:
    """Show time and work along each axis, one chart for every setting of the others."""
    groups: dict[tuple[str, str], Lines] = defaultdict(list)
    for line in lines:
        fixed = [f"{name} = {count(line[key])}" for name, key in AXES.items()
                 if name != line["axis"]]  # fmt: skip
        groups[line["axis"], ", ".join(fixed)].append(line)
    charts = []
    for (axis, fixed), chosen in groups.items():
        for what, name in (("seconds", "time"), ("distances", "distances")):
            points = sorted((float(x[AXES[axis]]), float(x[what])) for x in chosen)
            if len({x for x, _ in points}) < 2:
                continue
            slope = np.polyfit(*np.log(np.array(points)).T, 1)[0]
            title = f"{name} with {axis} (synthetic rows, {fixed})"
            charts.append(Chart(title, axis, what, {f"{what} ~ {axis}^{slope:.2f}": points}))
    return [Section("How it scales", "", [_table(lines)], charts)]


def _table(lines: Lines) -> Table:
    rows = [
        [*(count(line[key]) for key in AXES.values()), f"{line['seconds'] * 1e3:.3g}",
         f"{line['distances']:.3g}",
         times(line["k"] * line["pass"] / line["seconds"]) if "pass" in line else "",
         f"{line['bytes'] / line['n']:.0f}" if "bytes" in line else ""]
        for line in lines
    ]  # fmt: skip
    header = [*AXES, "ms", "distances", "K passes over this", "bytes a row beyond the input"]
    return Table(header, rows)


SUITE = Suite("growth of time, work and memory with n, K, d and threads", cells, sections)
