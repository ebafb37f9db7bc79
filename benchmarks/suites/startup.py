"""A fresh process with an empty cache, and small calls that do without the compiler."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import numpy as np

from benchmarks.charts import Table
from benchmarks.internals import PLAIN
from benchmarks.suites.base import Cell, Cells, Lines, Result, Run, Section, Suite
from benchmarks.suites.peers import installed
from benchmarks.timing import interleaved
from kseeds import kmeans_plusplus

MODULES = {"kseeds": "kseeds", "scikit-learn": "sklearn.cluster"}
CODE = """
import time
import numpy as np
X = np.random.default_rng(0).normal(size=({n}, 16))
start = time.perf_counter()
from {module} import kmeans_plusplus
kmeans_plusplus(X, 64, random_state=0)
print(time.perf_counter() - start)
"""


def cells(run: Run) -> Cells:
    """Measure a fresh process, then a small call."""
    n, turns = run.rows or 100_000, run.either(1, 5)
    yield Cell(
        {"what": "fresh process, import included", "n": n, "k": 64},
        lambda: {name: min(_fresh(module, n) for _ in range(turns))
                 for name, module in MODULES.items()},
    )  # fmt: skip
    yield Cell({"what": "warm, without the compiler", "n": 2000, "k": 8}, lambda: _warm(10 * turns))


def _fresh(module: str, n: int) -> float:
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-c", CODE.format(module=module, n=n)],
            env={**os.environ, "NUMBA_CACHE_DIR": cache}, capture_output=True, text=True,
            check=True,
        )  # fmt: skip
    return float(done.stdout)


def _warm(turns: int) -> Result:
    X = np.random.default_rng(0).normal(size=(2000, 16))
    theirs = installed("k-means++")["scikit-learn"]
    return interleaved({
        "kseeds": lambda turn: kmeans_plusplus(X, 8, random_state=turn, **PLAIN),
        "scikit-learn": lambda turn: theirs(X, 8, turn),
    }, turns).best  # fmt: skip


def sections(lines: Lines) -> list[Section]:
    """Show seconds."""
    rows = [
        [line["what"], f"{line['n']} × 16", str(line["k"]), *(f"{line[n]:.2g}" for n in MODULES)]
        for line in lines
    ]
    header = ["what", "rows × columns", "K", *(f"{name}, s" for name in MODULES)]
    return [Section("Start-up", tables=[Table(header, rows)])]


SUITE = Suite("first call in a fresh process, and small calls", cells, sections)
