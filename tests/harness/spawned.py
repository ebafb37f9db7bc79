"""What a spawned process is asked to do; importable there without the test that asks."""

from __future__ import annotations

from tests.harness.everything import JOBS, Result


def result_of(name: str) -> tuple[str, Result]:
    """Run a job in this process."""
    return name, JOBS[name]()
