"""The in-memory backend: runs tasks in this process, one partition after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kseeds.distributed.backend import Task
from kseeds.distributed.partition import Part


class LocalBackend:
    """Runs tasks in this process; the reference that the other backends are tested against.

    Parameters
    ----------
    parts : sequence of Part
        The partitions.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self.states: list[Any] = [None] * len(parts)
        """Those of the partitions."""

    def run(self, task: Task, message: Any, keep: bool) -> list[Any]:
        """Run a task on every partition; return the replies in the order of the partitions."""
        done = [
            task(part, state, message) for part, state in zip(self._parts, self.states, strict=True)
        ]
        if keep:
            self.states = [state for state, _ in done]
        return [reply for _, reply in done]

    def forget(self) -> None:
        """Drop the states of all partitions."""
        self.states = [None] * len(self._parts)
