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
def _controllers() -> tuple[list[Any], list[Any], Any]:
    """Return the controls of all BLAS libraries, of those that count for each thread, and of none.

    What threadpoolctl does with its own blocks of limits takes a tenth of a millisecond, most of it
    for finding out about libraries what is not asked here: as long as many a small job.
    """
    blas = ThreadpoolController().select(user_api="blas")  # looks at all loaded libraries
    by_thread = blas.select(threading_layer="openmp")
    return blas.lib_controllers, by_thread.lib_controllers, blas.select(user_api="none of these")


def _limited(libraries: list[Any], number: int) -> list[int]:
    """Let each library have so many threads; return how many each has had."""
    found = [library.get_num_threads() for library in libraries]
    for library in libraries:
        library.set_num_threads(number)
    return found


def _restore(libraries: list[Any], found: list[int]) -> None:
    for library, number in zip(libraries, found, strict=True):
        library.set_num_threads(number)


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
        self._found: list[int] = []
        self._found_by_thread: list[int] = []

    def enter(self) -> int:
        """Come in; return what to leave with."""
        libraries, by_thread, _ = _controllers()
        with self._lock:
            if self._inside == 0:
                self._found_by_thread = [library.get_num_threads() for library in by_thread]
                self._found = _limited(libraries, 1)
                self._let_others_set()
            else:
                _limited(by_thread, 1)
            self._inside += 1
            return self._age

    def leave(self, age: int) -> None:
        """Leave; do nothing in a process that was forked since."""
        with self._lock:
            if age != self._age:
                return
            self._inside -= 1
            if self._inside:
                _restore(_controllers()[1], self._found_by_thread)
                return
            try:
                self._lift()
            except BaseException:
                self._lift()  # or an interrupt at this moment would leave the limit for good
                raise

    def _lift(self) -> None:
        _restore(_controllers()[0], self._found)
        self._let_others_set()

    @staticmethod
    def _let_others_set() -> None:
        """Give up the sole right to set limits.

        Some versions of threadpoolctl give it to the thread that sets one, until that thread
        leaves a block of limits, and silently ignore all others; here any of them may be
        the last one out.
        """
        with _controllers()[2].limit(limits=None):
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
            self._lift()


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
