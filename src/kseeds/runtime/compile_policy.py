"""Whether to wait for the compiler.

Loading it costs about a second, and the first time on a machine some more. A job that plain
NumPy does quickly does not wait, until such jobs have together taken as long as loading would
have; from then on, and once it is loaded for any reason, the compiler is used. Both ways give
the same results, so this choice may depend on time and on what ran before.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

_SECONDS = 1.0

_spent = 0.0


def can_do_without(seconds: float) -> bool:
    """Tell whether a job of so many seconds in plain NumPy should not wait for the compiler."""
    return "kseeds.runtime.compiler" not in sys.modules and _spent + seconds < _SECONDS


@contextmanager
def without_compiler() -> Iterator[None]:
    """Count the time of a job done in plain NumPy."""
    global _spent
    started = time.perf_counter()
    try:
        yield
    finally:
        _spent += time.perf_counter() - started
