"""Threads of BLAS, which are not ours to waste."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController


@functools.cache
def _controllers() -> tuple[Any, Any]:
    """Return the control of all BLAS libraries, and of those that count for each thread."""
    blas = ThreadpoolController().select(user_api="blas")  # looks at all loaded libraries
    return blas, blas.select(threading_layer="openmp")


class _Limit:
    """One thread a call, from when the first comes in until the last has left.

    The number of threads of a BLAS belongs to the process. If everyone set it and put back
    what they found, those who leave in another order than they came would put back the limit
    of others, for good. So the first one in sets it, and the last one out puts back what the
    first one found.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._inside = 0
        self._age = 0
        self._found: Any = None
        self._found_by_thread: Any = None

    def enter(self) -> int:
        """Come in; return what to leave with."""
        blas, by_thread = _controllers()
        with self._lock:
            if self._inside == 0:
                self._found_by_thread = by_thread.limit(limits=None)
                self._found = blas.limit(limits=1, user_api="blas")
                self._let_others_set()
            elif by_thread.lib_controllers:
                by_thread.limit(limits=1, user_api="blas")
            self._inside += 1
            return self._age

    def leave(self, age: int) -> None:
        """Leave; do nothing in a process that was forked since."""
        with self._lock:
            if age != self._age:
                return
            self._inside -= 1
            if self._inside == 0:
                self._restore()
            elif _controllers()[1].lib_controllers:
                self._found_by_thread.restore_original_limits()

    def _restore(self) -> None:
        self._found.restore_original_limits()
        self._let_others_set()
        self._found = self._found_by_thread = None

    @staticmethod
    def _let_others_set() -> None:
        """Give up the sole right to set limits.

        Some versions of threadpoolctl give it to the thread that sets one, until that thread
        leaves a block of limits, and silently ignore all others; here any of them may be
        the last one out.
        """
        with _controllers()[0].limit(limits=None):
            pass

    def before_fork(self) -> None:
        """See to it that the child finds nothing half done."""
        self._lock.acquire()

    def after_fork(self) -> None:
        """Go on, in the parent."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Forget those who were inside: they are not in this process."""
        self._lock = threading.RLock()
        self._age += 1
        if self._inside:
            self._inside = 0
            self._restore()


_LIMIT = _Limit()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_LIMIT.before_fork,
        after_in_parent=_LIMIT.after_fork,
        after_in_child=_LIMIT.after_fork_in_child,
    )


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread a call, while our own threads make the calls.

    Its threads would not only compete with ours: they go on spinning after a call. Any number
    of threads may be inside at a time, and leave in any order.
    """
    age = _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave(age)
