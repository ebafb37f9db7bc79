"""Peak memory of a call, in a process of its own (Linux)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any


def in_fresh_process(task: Callable[..., int], *arguments: Any) -> int:
    """Return what a call returns in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(task, *arguments).result()


def growth(task: Callable[[], object]) -> int:
    """Return by how many bytes the peak memory of this process grows while it does something."""
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far
    before = _memory("VmRSS")
    task()
    return _memory("VmHWM") - before


def _memory(which: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(which))
