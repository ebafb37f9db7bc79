"""Results as JSON lines: appended as they come, so that an interrupted run resumes."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("kseeds", "numpy", "numba", "scikit-learn", "scikit-learn-intelex", "faiss-cpu")


def about() -> dict[str, Any]:
    """Return machine, versions and commit."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return {
        "machine": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "versions": versions,
        "commit": commit.stdout.strip(),
        "date": time.strftime("%Y-%m-%d"),
    }


class Records:
    """A file of results; cells that are in it are not computed again.

    Parameters
    ----------
    folder : Path
        Where ``results.jsonl`` is kept.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "results.jsonl"
        if self.path.is_file() and not self.path.read_text().endswith("\n"):
            with self.path.open("a") as file:  # a line that was cut off must not swallow the next
                file.write("\n")
        self._done = {_key(line["cell"]) for line in self.lines()}
        self._about = about()

    def lines(self) -> list[dict[str, Any]]:
        """Return all results, but a last line that was cut off."""
        found = []
        if self.path.is_file():
            for text in self.path.read_text().splitlines():
                try:
                    found.append(json.loads(text))
                except json.JSONDecodeError:
                    continue
        return found

    def has(self, **cell: Any) -> bool:
        """Tell whether a cell is there."""
        return _key(cell) in self._done

    def cell(self, compute: Callable[[], dict[str, Any]], /, **cell: Any) -> None:
        """Compute a cell and append it, unless it is there."""
        if self.has(**cell):
            return
        result = compute()
        line = {"cell": cell, "result": result, "about": self._about}
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        self._done.add(_key(cell))


def _key(cell: dict[str, Any]) -> str:
    return json.dumps(cell, sort_keys=True)


class Bar:
    """Progress with the time that is left, on stderr.

    Parameters
    ----------
    total : int
        Cells in all.
    """

    def __init__(self, total: int) -> None:
        self._total, self._done, self._start = total, 0, time.perf_counter()

    def step(self, text: str) -> None:
        """Tell that a cell is done."""
        self._done += 1
        spent = time.perf_counter() - self._start
        left = spent / self._done * (self._total - self._done)
        line = f"{self._done}/{self._total} {text}, {spent:.0f} s, about {left:.0f} s left"
        print(line, file=sys.stderr, flush=True)
