"""Faults: exceptions raised at chosen places inside kseeds while a job runs.

No list of places is kept here. A first run records every function of kseeds that is entered, in
any thread, every compiled kernel that is called from Python, and every array that kseeds
allocates; a fault is one of these places, which of its calls, and what is raised there.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_info

import kseeds

HOME = str(Path(kseeds.__file__).parent)
ALLOCATE = ("empty", "empty_like", "full", "zeros", "concatenate", "ascontiguousarray")
GENERATOR = 0x20
TIDYING = ("__exit__", "__del__", "close", "leave", "_restore", "_let_others_set")
"""What runs after a fault is not where a fault is put: no code survives being stopped there."""


PATIENCE = 5.0
"""Seconds that threads have to leave."""


class InjectedError(Exception):
    """An exception that nobody can expect."""


ERRORS: tuple[type[BaseException], ...] = (InjectedError, KeyboardInterrupt, MemoryError)


@dataclass(frozen=True)
class Fault:
    """``error`` is raised at the ``turn``-th call of ``place`` while ``job`` runs."""

    job: str
    place: str
    turn: int
    error: type[BaseException]

    def __str__(self) -> str:
        return f"{self.job}: {self.error.__name__} at call {self.turn} of {self.place}"


class Probe:
    """Counts calls of all places, and raises at one of them if there is a fault."""

    def __init__(self, fault: Fault | None = None) -> None:
        self.calls: Counter[str] = Counter()
        self.fired = False
        self._fault = fault
        self._lock = threading.Lock()

    def note(self, place: str) -> None:
        """Count a call of a place; raise if its turn has come."""
        with self._lock:
            self.calls[place] += 1
            fault = self._fault
            due = fault and fault.place == place and fault.turn == self.calls[place]
            self.fired = self.fired or bool(due)
        if due and fault:
            raise fault.error("injected")

    def _enter(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(HOME) and _may_fail(code):
            inside = code.co_filename[len(HOME) + 1 :]
            self.note(f"{inside}:{code.co_firstlineno} {code.co_name}")

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Count, and perhaps raise, until the end of the block."""
        with ExitStack() as stack:
            _replace_kernels(stack, self.note)
            for name in ALLOCATE:
                stack.enter_context(mock.patch.object(np, name, _noted(name, self.note)))
            threading.setprofile(self._enter)
            sys.setprofile(self._enter)
            try:
                yield
            finally:
                sys.setprofile(None)
                threading.setprofile(None)  # type: ignore[arg-type]


def _may_fail(code: CodeType) -> bool:
    return not (code.co_flags & GENERATOR or code.co_name in TIDYING)


def _replace_kernels(stack: ExitStack, note: Callable[[str], None]) -> None:
    """Make compiled kernels notice that they are called from Python."""
    for name, module in list(sys.modules.items()):
        if not name.startswith("kseeds"):
            continue
        for attribute, value in list(vars(module).items()):
            if hasattr(value, "py_func"):
                stack.enter_context(
                    mock.patch.object(module, attribute, _kernel(attribute, value, note))
                )


def _kernel(name: str, kernel: Callable[..., Any], note: Callable[[str], None]) -> Any:
    def call(*args: Any) -> Any:
        note(f"kernel {name}")
        return kernel(*args)

    return call


def _noted(name: str, note: Callable[[str], None]) -> Any:
    allocate = getattr(np, name)

    def call(*args: Any, **keywords: Any) -> Any:
        if sys._getframe(1).f_code.co_filename.startswith(HOME):
            note(f"numpy.{name}")
        return allocate(*args, **keywords)

    return call


def faults_of(job: str, action: Callable[[], Any]) -> list[Fault]:
    """Run a job and return every fault it can have: first, middle and last call of each place."""
    probe = Probe()
    with probe.watching():
        action()
    found = []
    for number, (place, calls) in enumerate(sorted(probe.calls.items())):
        for at, turn in enumerate(sorted({1, (calls + 1) // 2, calls})):
            found.append(Fault(job, place, turn, ERRORS[(number + at) % len(ERRORS)]))
    return found


def left_behind() -> dict[str, Any]:
    """Return what a call must leave as it was."""
    files = "/proc/self/fd"
    return {
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "files": len(os.listdir(files)) if os.path.isdir(files) else 0,
        "temporary files": sorted(os.listdir(tempfile.gettempdir())),
        "threads of BLAS": [
            (pool["filepath"], pool["num_threads"])
            for pool in threadpool_info()
            if pool["user_api"] == "blas"
        ],
        "floating-point errors": np.geterr(),
        "warnings": list(warnings.filters),
    }


def check_left_behind(before: dict[str, Any]) -> None:
    """Refuse anything that was left behind; threads may take a moment to leave."""
    patience = time.monotonic() + PATIENCE
    while (after := left_behind()) != before and time.monotonic() < patience:
        time.sleep(0.01)
        gc.collect()
    for what, was in before.items():
        assert after[what] == was, f"{what}: {was} became {after[what]}"


def check_fault(fault: Fault, make: Callable[[], Callable[[], Any]], wanted: Any) -> bool:
    """Inject a fault; refuse what it leaves behind and a wrong answer afterwards.

    ``make`` returns an action that can be repeated, on the same objects. Returns whether the
    place was reached (with several threads, how often it is may vary).
    """
    action = make()
    before, probe = left_behind(), Probe(fault)
    raised, story = None, ""
    try:
        with probe.watching():
            found = action()
    except BaseException as error:  # not kept: its traceback holds on to maps and arrays
        raised, story = type(error), repr(error)
    check_left_behind(before)
    if not probe.fired:
        assert raised is None, story
        assert found == wanted, "wrong without any fault"
        return False
    assert raised is fault.error, f"should have raised {fault.error.__name__}, not {story}"
    assert action() == wanted, "wrong when asked again"
    check_left_behind(before)
    return True
