"""How time, counted work and memory grow with n, K, d and threads."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.data import clustered
from benchmarks.records import Bar, Records
from benchmarks.seeding import grown_by, timed
from kseeds import Seeding, kmeans_plusplus


def run(
    folder: Path | None, out: Path, profile: str, sets: list[str] | None, rows: int | None
) -> None:
    """Run or resume the suite; always on synthetic rows."""
    records = Records(out)
    big = 1 if profile == "full" else 10
    n0 = rows or 1_000_000 // big
    cells = [
        *({"axis": "n", "n": n, "d": 16, "k": 256, "threads": 2}
          for n in (n0 // 8, n0 // 4, n0 // 2, n0, 2 * n0, 4 * n0)),
        *({"axis": "K", "n": n0, "d": 16, "k": k, "threads": 2}
          for k in (64, 256, 1024, 4096, 16384 // big)),
        *({"axis": "d", "n": n0 // 4, "d": d, "k": 256, "threads": 2}
          for d in (2, 8, 32, 128, 512 // big)),
        *({"axis": "threads", "n": n0, "d": 16, "k": 1024, "threads": t} for t in (1, 2)),
    ]  # fmt: skip
    cells = [cell for cell in cells if cell["k"] <= cell["n"]]
    bar = Bar(len(cells))
    for cell in cells:
        records.cell(lambda cell=cell: _measure(cell), suite="scaling", **cell)
        bar.step(str(cell))


def _measure(cell: dict[str, Any]) -> dict[str, Any]:
    X = clustered(cell["n"], cell["d"], 2000)
    found: list[Seeding] = []

    def call(seed: int) -> None:
        found.append(
            kmeans_plusplus(
                X, cell["k"], random_state=seed, algorithm="lazy", kernels="compiled",
                n_threads=cell["threads"],
            )
        )  # fmt: skip

    call(0)
    seconds = min(timed(call, seed) for seed in range(3))
    result = {
        "seconds": seconds,
        "distances": found[-1].work.distances,
        "proposals": found[-1].work.proposals,
    }
    if cell["axis"] == "n":
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            grown = pool.submit(grown_by, cell["n"], cell["d"], cell["k"])
            result["bytes"] = grown.result()
    return result
