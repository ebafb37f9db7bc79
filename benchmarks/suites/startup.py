"""The first call: a fresh process with an empty cache, the next one, and small calls.

T is what a fresh process takes that imports scikit-learn and seeds 2000 × 16, K = 8, in the same
run: all other numbers are to be read as multiples of it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.charts import Table
from benchmarks.internals import FIRST, PLAIN, compile_seconds
from benchmarks.suites.base import Cell, Cells, Lines, Result, Run, Section, Suite
from benchmarks.suites.peers import installed
from benchmarks.timing import interleaved
from kseeds import kmeans_plusplus

ROOT = Path(__file__).resolve().parents[2]
JOBS = {
    "k-means|| 100k × 16, K = 64": (100_000, 16, "kmeans_parallel(X, 64, random_state=0)", 1.5),
    "k-means|| 1M × 8, K = 256": (1_000_000, 8, "kmeans_parallel(X, 256, random_state=0)", 5.0),
    "k-means|| 60k × 784, K = 256": (60_000, 784, "kmeans_parallel(X, 256, random_state=0)", 3.0),
    "k-means++ 60k × 784, K = 512": (60_000, 784, "kmeans_plusplus(X, 512, random_state=0)", 1.5),
    "greedy 100k × 16, K = 64": (100_000, 16, "greedy_kmeans_plusplus(X, 64, random_state=0)", 1.5),
    "kmeans 1M × 8, K = 256, 10 iterations": (
        1_000_000,
        8,
        "kmeans(X, 256, max_iter=10, tol=0.0, random_state=0)",
        6.0,
    ),
    "assign 1M × 8, m = 512": (1_000_000, 8, "assign(X, X[:512])", 2.0),
    "k-means++ of text 67k × 37k, K = 64": (
        67_260,
        36_634,
        "kmeans_plusplus(X, 64, random_state=0)",
        2.0,
    ),
    "kseeds demo": (0, 0, "", 4.0),
}
"""Rows, columns, a call, and how many T it may take."""
BESIDE = (
    ("tree", 1_000_000, 8, 2048),
    ("tree", 1_000_000, 8, 8192),
    ("gemm", 300_000, 64, 8192),
    ("gemm", 1_000_000, 64, 2048),
    ("gemm", 60_000, 784, 16_384),
)
"""Kernels, rows, columns and centres for which waiting is nearly as long as plain NumPy, where
compiling beside it has most to gain, and one for which it is longer."""
SKLEARN = """
import time
start = time.perf_counter()
import numpy as np
from sklearn.cluster import kmeans_plusplus
kmeans_plusplus(np.random.default_rng(0).normal(size=(2000, 16)), 8, random_state=0)
print(time.perf_counter() - start)
"""
OURS = """
import time
import numpy as np
rng = np.random.default_rng(0)
X = 2.0 * rng.normal(size=(10, {d}))[rng.integers(0, 10, {n})]
X = (X + rng.normal(size=({n}, {d}))).astype(np.float32)
seconds = []
for turn in range({turns}):
    start = time.perf_counter()
    import kseeds
    kseeds.{call}
    seconds.append(time.perf_counter() - start)
print(seconds[0], min(seconds))
"""
TEXT = """
import sys
import time
import numpy as np
sys.path.insert(0, {root!r})
from benchmarks.data import zipf_text
X = zipf_text({n}, {d}, 28)
seconds = []
for turn in range({turns}):
    start = time.perf_counter()
    import kseeds
    kseeds.{call}
    seconds.append(time.perf_counter() - start)
print(seconds[0], min(seconds))
"""
_SPARSE_COLUMNS = 10_000
"""Columns from which on the rows of a job are sparse."""
ROWS = """
import sys
import numpy as np
sys.path.insert(0, {root!r})
from benchmarks.internals import first_update
rng = np.random.default_rng(0)
X = 10.0 * rng.normal(size=(1000, {d}))[rng.integers(0, 1000, {n})]
X = (X + rng.normal(size=({n}, {d}))).astype(np.float32)
print(first_update({way!r}, {kernels!r}, X, {m})[0])
"""
DEMO = """
import sys
import time
start = time.perf_counter()
from kseeds.cli import main
sys.argv = ["kseeds", "demo"]
try:
    main()
except SystemExit:
    pass
print(time.perf_counter() - start)
"""


def cells(run: Run) -> Cells:
    """Measure every job, and the price of every kernel set."""
    turns = run.either(1, 3)
    for name, (n, d, call, most) in JOBS.items():
        key = {"what": name, "n": min(n, run.rows or n), "target": most}
        yield Cell(key, partial(_job, key["n"], d, call, turns))
    yield Cell({"what": "small call", "n": 2000}, lambda: _small(10 * turns))
    for name in run.either(["gemm", "greedy_scan"], sorted(compile_seconds())):
        yield Cell({"what": "compiling", "kernels": name}, partial(_compiling, name))
    for kernels, n, d, m in run.either(BESIDE[:1], BESIDE):
        n = min(n, run.rows or n)
        key = {"what": "compiling beside", "kernels": kernels, "n": n, "d": d, "m": m}
        yield Cell(key, partial(_beside, kernels, n, d, m, turns))


def _fresh(code: str, cache: str) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "NUMBA_CACHE_DIR": cache},
            capture_output=True, text=True, check=True, cwd=folder,
        )  # fmt: skip
    return [float(word) for word in done.stdout.split("\n")[-2].split()]


def _job(n: int, d: int, call: str, turns: int) -> Result:
    found: dict[str, list[float]] = {"T": [], "first": [], "cached": [], "hot": []}
    for _ in range(turns):
        with tempfile.TemporaryDirectory() as cache:
            found["T"] += _fresh(SKLEARN, cache)
            if not call:
                found["first"] += _fresh(DEMO, cache)
                continue
            template = TEXT if d >= _SPARSE_COLUMNS else OURS
            code = partial(template.format, n=n, d=d, call=call, root=str(ROOT))
            found["first"] += _fresh(code(turns=1), cache)[:1]
            cached, hot = _fresh(code(turns=6), cache)
            found["cached"].append(cached)
            found["hot"].append(hot)
    return {name: min(seconds) for name, seconds in found.items() if seconds}


def _small(turns: int) -> Result:
    X = np.random.default_rng(0).normal(size=(2000, 16))
    theirs = installed("k-means++")["scikit-learn"]
    best = interleaved({
        "first": lambda turn: kmeans_plusplus(X, 8, random_state=turn, **PLAIN),
        "T": lambda turn: theirs(X, 8, turn),
    }, turns).best  # fmt: skip
    return dict(best)


def _compiling(name: str) -> Result:
    code = (
        "import kseeds; kseeds.warmup('fingerprint', dtype='float64'); "
        f"print(kseeds.warmup('{name}', dtype='float32')[0].seconds)"
    )
    with tempfile.TemporaryDirectory() as cache:
        return {"first": _fresh(code, cache)[0], "model": compile_seconds()[name]}


def _beside(kernels: str, n: int, d: int, m: int, turns: int) -> Result:
    """Measure what a first job can do about kernels that are not compiled."""
    found: dict[str, list[float]] = {way: [] for way in FIRST}
    for _ in range(turns):
        for way in FIRST:
            with tempfile.TemporaryDirectory() as cache:
                code = ROWS.format(root=str(ROOT), n=n, d=d, m=m, way=way, kernels=kernels)
                found[way].append(_fresh(code, cache)[0])
    return {way: min(seconds) for way, seconds in found.items()}


def sections(lines: Lines) -> list[Section]:
    """Show multiples of T, and the price of compiling."""
    jobs = [
        [line["what"], f"{line['T']:.2g}", f"{line['first'] / line['T']:.2f}",
         f"{line['target']:g}" if "target" in line else "1",
         f"{(line['cached'] - line['hot']) / line['T']:.2f}" if "cached" in line else "–"]
        for line in lines
        if "T" in line
    ]  # fmt: skip
    header = ["job", "T, s", "first call, T", "at most", "next process over its hot time, T"]
    prices = [
        [line["kernels"], f"{line['first']:.2f}", f"{line['model']:.2f}"]
        for line in lines
        if "model" in line
    ]
    beside = [
        [line["kernels"], f"{line['n']} × {line['d']}, m = {line['m']}",
         *(f"{line[way]:.2f}" for way in FIRST)]
        for line in lines
        if "beside" in line
    ]  # fmt: skip
    ways = ["plain NumPy, s", "waiting for the compiler, s", "compiling beside plain NumPy, s"]
    return [
        Section("The first call", tables=[Table(header, jobs)]),
        Section("Compiling", tables=[Table(["kernels", "measured, s", "model, s"], prices)]),
        Section("Compiling beside the work", tables=[Table(["kernels", "job", *ways], beside)]),
    ]


SUITE = Suite("first call in a fresh process, and what compiling costs", cells, sections)
