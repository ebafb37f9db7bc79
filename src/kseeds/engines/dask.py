"""The engine on Dask: delayed tasks, states persisted where they were made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import Any

from dask.base import compute, persist
from dask.delayed import Delayed, delayed

from kseeds.engines.partition import Part
from kseeds.engines.rounds import Task


class DaskEngine:
    """Runs tasks on whatever scheduler Dask is set to use.

    Lost results are made again by Dask from the tasks they came from, and the tasks are pure.

    Parameters
    ----------
    parts : sequence of Delayed
        The partitions, as `Part`.
    """

    def __init__(self, parts: Sequence[Delayed]) -> None:
        self._parts = list(parts)
        self._states: list[Any] = [None] * len(self._parts)

    def run(self, task: Task, message: Any, keep: bool) -> list[Any]:
        """Run a task on every partition; return the replies in the order of the partitions."""
        # One node of the graph, so that it travels once and not once a partition.
        shared = delayed(message, pure=False, traverse=False)
        work = delayed(task, pure=False, nout=2)
        pairs = [
            work(part, state, shared) for part, state in zip(self._parts, self._states, strict=True)
        ]
        if keep:
            pairs = list(persist(*pairs))
        replies = list(compute(*(_item(pair, 1) for pair in pairs)))
        if keep:
            self._states = [_item(pair, 0) for pair in pairs]
        return replies

    def close(self) -> None:
        """Let go of everything, so that the cluster can."""
        self._parts, self._states = [], []


def _item(pair: Delayed, place: int) -> Delayed:
    return delayed(itemgetter(place), pure=False)(pair)


@contextmanager
def running(blocks: Sequence[Any], weights: Sequence[Any], cache: bool) -> Iterator[DaskEngine]:
    """Give an engine over blocks of rows; let go of what it keeps afterwards."""
    make = delayed(Part.of, pure=False)
    parts = [
        make(number, block, weight)
        for number, (block, weight) in enumerate(zip(blocks, weights, strict=True))
    ]
    engine = DaskEngine(persist(*parts) if cache else parts)
    try:
        yield engine
    finally:
        engine.close()
