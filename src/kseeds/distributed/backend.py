"""What runs the tasks of partitions: Dask, Spark, or this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

Task = Callable[[Any, Any, Any], tuple[Any, Any]]


class Backend(Protocol):
    """Runs tasks on partitions and keeps their states: Dask, Spark, or this process."""

    def run(self, task: Task, message: Any, keep: bool) -> list[Any]:
        """Run a task on every partition; return the replies in the order of the partitions.

        With ``keep`` the states that the task returns replace the previous ones.
        """

    def forget(self) -> None:
        """Drop the states of all partitions, and whatever it would take to compute them again."""
