"""What a suite is: cells to measure, and tables and charts of their results."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from benchmarks import data
from benchmarks.charts import Chart, Table

Result = dict[str, Any]
Lines = list[dict[str, Any]]
"""Cell and result of every record of a suite."""
T = TypeVar("T")


@dataclass(frozen=True)
class Run:
    """What the user asked for; ``sets`` and ``ks`` take the place of those of the profile."""

    folder: Path | None = None  # where local data sets are
    full: bool = False  # all that docs/performance.md shows, or a quick selection
    sets: tuple[str, ...] = ()
    rows: int | None = None  # only the first of each set
    ks: tuple[int, ...] = ()

    def either(self, quick: T, full: T) -> T:
        """Return what belongs to the profile."""
        return full if self.full else quick

    def counts(self, quick: list[int], full: list[int]) -> list[int]:
        """Return the numbers of seeds."""
        return list(self.ks) or self.either(quick, full)

    def data_sets(
        self, quick: Sequence[str] = data.QUICK, full: Sequence[str] = data.FULL
    ) -> Iterator[tuple[data.Rows, dict[str, Any]]]:
        """Yield rows, and what a record must say about them."""
        for name in self.sets or self.either(quick, full):
            yield data.load(name, self.folder, self.rows)


@dataclass(frozen=True)
class Cell:
    """One measurement: what names it, and how to make it."""

    key: dict[str, Any]
    measure: Callable[[], Result]


Cells = Generator[Cell, Result, None]
"""Yields cells and is sent the result of each, measured now or earlier."""


@dataclass
class Section:
    """A part of the report; shown where one of its tables has rows, or there are charts."""

    title: str
    text: str = ""
    tables: list[Table] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.charts) or any(table.rows for table in self.tables)


@dataclass(frozen=True)
class Suite:
    """A benchmark: its summary in the list, how to measure and how to show it."""

    summary: str
    cells: Callable[[Run], Cells]
    sections: Callable[[Lines], list[Section]]


def times(ratio: float | None, digits: int = 1) -> str:
    """Return a ratio in few digits."""
    return "–" if ratio is None else f"{ratio:.{digits if ratio < 9.95 else 0}f}×"


def over(above: float | None, below: float | None) -> float | None:
    """Return a quotient; None where one of the two was not measured."""
    return above / below if above and below else None
