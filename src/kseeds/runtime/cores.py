"""Which cores a helping thread may run on, where the system lets us say.

Where Linux knows of no cache that cores share, as in many virtual machines, it wakes a thread on
the core of the one that wakes it. There the thread waits for the next tick, up to four
milliseconds, while another core is idle. So those that help are kept off the core of the one they
help.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable


@functools.cache
def _current_core() -> Callable[[], int] | None:
    """Return what tells the core of the calling thread, if the system does."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    try:
        import ctypes  # of which some builds of Python have nothing

        found: Callable[[], int] = ctypes.CDLL(None).sched_getcpu
    except (ImportError, OSError, AttributeError):
        return None
    return found


def other_cores() -> set[int]:
    """Return the cores that the calling thread may use but is not on; none if that is unknown.

    All that it may use if there are no others.
    """
    current = _current_core()
    if current is None:
        return set()
    try:
        allowed = os.sched_getaffinity(0)
    except OSError:
        return set()
    return allowed - {current()} or allowed


def keep_to(native_id: int, cores: set[int]) -> None:
    """Have a thread of this process run on some cores, if the system allows it."""
    if cores:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(native_id, cores)
