"""Results as JSON lines: appended as they come, so that an interrupted run resumes.

A line is either ``{"about": …}``, the machine, the versions and the commit of all lines that
follow, or ``{"cell": …, "result": …}``, what was measured and what came out.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.suites.base import Cell

PACKAGES = (
    "kseeds", "numpy", "numba", "scikit-learn", "scikit-learn-intelex", "faiss-cpu", "fastkmeanspp",
)  # fmt: skip


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
    """The ``results.jsonl`` of a folder; cells that are in it are not computed again."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "results.jsonl"
        text = self._path.read_text(encoding="utf-8") if self._path.is_file() else ""
        self._cut_off = bool(text) and not text.endswith("\n")
        self.lines: list[dict[str, Any]] = []
        self._about: dict[str, Any] = {}
        for line in text.splitlines():
            try:
                read = json.loads(line)
            except json.JSONDecodeError:  # a run was interrupted while it wrote this line
                continue
            if "about" in read:
                self._about = read["about"]
            else:
                self.lines.append({**read, "about": self._about})
        self._known = {_key(line["cell"]): line["result"] for line in self.lines}

    def of(self, suite: str) -> list[dict[str, Any]]:
        """Return cell and result of all lines of a suite, together."""
        lines = [line for line in self.lines if line["cell"]["suite"] == suite]
        return [{**line["cell"], **line["result"]} for line in lines]

    def result(self, suite: str, cell: Cell) -> dict[str, Any]:
        """Return the result of a cell: the one on record, or a new one, which is appended."""
        named = {"suite": suite, **cell.key}
        if _key(named) not in self._known:
            result = _rounded(cell.measure())
            now = about()
            if now != self._about:
                self._append({"about": now})
                self._about = now
            self._append({"cell": named, "result": result})
            self.lines.append({"cell": named, "result": result, "about": now})
            self._known[_key(named)] = result
        return self._known[_key(named)]

    def _append(self, line: dict[str, Any]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            # A line that was cut off must not swallow the next.
            file.write("\n" * self._cut_off + json.dumps(line, separators=(",", ":")) + "\n")
        self._cut_off = False


def _key(cell: dict[str, Any]) -> str:
    return json.dumps(cell, sort_keys=True)


def _rounded(value: Any) -> Any:
    """Return the same with floats of five digits: no timing has more."""
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(inner) for inner in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value
