"""Progress of long work: nothing, a callback, a rich bar, or a plain line on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

from kseeds.errors import shown


class Progress(Protocol):
    """What methods report to."""

    def update(self, done: int, total: int, unit: str) -> None:
        """Tell that ``done`` of ``total`` units of work are done."""

    def close(self) -> None:
        """Leave the screen tidy, whether the work ended or failed."""


class _Silent:
    def update(self, done: int, total: int, unit: str) -> None:
        pass

    def close(self) -> None:
        pass


SILENT: Progress = _Silent()


class _Callback:
    def __init__(self, function: Callable[[int, int], object]) -> None:
        self._function = function

    def update(self, done: int, total: int, unit: str) -> None:
        self._function(done, total)

    def close(self) -> None:
        pass


class _Line:
    """A rewritten line on stderr, at most ten times a second; nothing for quick work."""

    def __init__(self) -> None:
        self._start = self._shown = time.perf_counter()
        self._open = False
        self._pending: tuple[int, int, str] | None = None

    def update(self, done: int, total: int, unit: str) -> None:
        self._pending = (done, total, unit)
        if time.perf_counter() - self._shown >= 0.1:
            self._show(done, total, unit)

    def _show(self, done: int, total: int, unit: str) -> None:
        now = time.perf_counter()
        self._shown, self._open, self._pending = now, True, None
        rate = max(done, 1) / max(now - self._start, 1e-9)
        left = (total - done) / rate
        text = f"\rkseeds: {done}/{total} {unit}, {rate:.3g}/s, {left:.0f} s left "
        sys.stderr.write(text.ljust(70))
        sys.stderr.flush()

    def close(self) -> None:
        if not self._open:
            return
        if self._pending is not None:  # the last step came too soon after the one before it
            self._show(*self._pending)
        sys.stderr.write("\n")


class _RichBar:
    def __init__(self, rich_progress: Any) -> None:
        columns = rich_progress
        self._bar = columns.Progress(
            columns.TextColumn("[bold]kseeds[/]"),
            columns.BarColumn(),
            columns.MofNCompleteColumn(),
            columns.TextColumn("{task.description}"),
            columns.TextColumn("{task.fields[rate]}"),
            columns.TimeElapsedColumn(),
            columns.TimeRemainingColumn(),
            console=_stderr_console(),
            transient=False,
        )
        self._task: Any = None

    def update(self, done: int, total: int, unit: str) -> None:
        if self._task is None:
            self._bar.start()
            self._task = self._bar.add_task(unit, total=total, rate="")
        speed = self._bar.tasks[self._task].speed
        rate = f"{speed:,.0f}/s" if speed else ""
        self._bar.update(self._task, completed=done, total=total, description=unit, rate=rate)

    def close(self) -> None:
        if self._task is not None:
            self._bar.stop()


def _stderr_console() -> Any:
    from rich.console import Console

    return Console(stderr=True)


def progress_for(progress: Any) -> Progress:
    """Return what ``progress`` asks for.

    Parameters
    ----------
    progress : bool or callable
        False for silence; True for a bar on stderr (by rich, where it is installed); or a
        function that is called with (done, total).
    """
    if progress is False or progress is None:
        return SILENT
    if progress is True:
        try:
            import rich.progress as rich_progress
        except ImportError:
            return _Line()
        return _RichBar(rich_progress)
    if callable(progress):
        return _Callback(progress)
    raise TypeError(
        f"progress={shown(progress)} is not possible; use True, False or a function of "
        "(done, total)."
    )
