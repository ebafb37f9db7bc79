"""The Dask backend: delayed tasks; states are persisted on the workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import Any

from dask.base import compute, get_scheduler, persist
from dask.delayed import Delayed, delayed

from kseeds.distributed.backend import Task
from kseeds.distributed.partition import Part
from kseeds.distributed.preflight import check_version, import_probe

_ALL = "the scheduler and every worker"


class DaskBackend:
    """Runs tasks on the scheduler that Dask is set to use.

    Dask recomputes lost results; the tasks are pure, so they are the same.

    Parameters
    ----------
    parts : sequence of Delayed
        The partitions, as `Part`.
    """

    def __init__(self, parts: Sequence[Delayed]) -> None:
        self._parts = list(parts)
        self.states: list[Any] = [None] * len(self._parts)
        """Those of the partitions, as delayed objects."""

    def run(self, task: Task, message: Any, keep: bool) -> list[Any]:
        """Run a task on every partition; return the replies in the order of the partitions."""
        # One node of the graph, so that it is sent once per worker, not once per partition.
        shared = delayed(message, pure=False, traverse=False)
        work = delayed(task, pure=False, nout=2)
        pairs = [
            work(part, state, shared) for part, state in zip(self._parts, self.states, strict=True)
        ]
        if keep:
            pairs = list(persist(*pairs))
        replies = list(compute(*(_item(pair, 1) for pair in pairs)))
        if keep:
            self.states = [_item(pair, 0) for pair in pairs]
        return replies

    def forget(self) -> None:
        """Drop the states of all partitions; new ones are computed from the rows alone."""
        self.states = [None] * len(self._parts)

    def close(self) -> None:
        """Drop all references, so that the workers can free the memory."""
        self._parts, self.states = [], []


def _item(pair: Delayed, index: int) -> Delayed:
    return delayed(itemgetter(index), pure=False)(pair)


def check_workers() -> None:
    """Reject a cluster whose workers or scheduler lack kseeds, or have another version.

    Dask would wait silently for tasks that no worker can unpickle.
    """
    client: Any = getattr(get_scheduler(), "__self__", None)
    if not hasattr(client, "run_on_scheduler") or client.asynchronous:
        return  # threads or processes on this machine
    probe = import_probe("kseeds.distributed.partition")
    try:
        found = client.run_on_scheduler(probe)
    except Exception:
        pass  # a scheduler that is configured to unpickle nothing does not need kseeds
    else:
        check_version(f"the Dask scheduler {client.scheduler.address}", _ALL, found)
    for address, found in client.run(probe, on_error="return").items():
        if isinstance(found, tuple):  # else the worker is lost, which Dask handles
            check_version(f"the Dask worker {address}", _ALL, found)


@contextmanager
def running(blocks: Sequence[Any], weights: Sequence[Any], cache: bool) -> Iterator[DaskBackend]:
    """Yield a backend over blocks of rows; free what it keeps afterwards."""
    check_workers()
    make = delayed(Part.of, pure=False)
    parts = [
        make(number, block, weight)
        for number, (block, weight) in enumerate(zip(blocks, weights, strict=True))
    ]
    backend = DaskBackend(persist(*parts) if cache else parts)
    try:
        yield backend
    finally:
        backend.close()
