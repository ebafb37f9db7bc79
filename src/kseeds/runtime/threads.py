"""Fixed blocks of rows on a pool of threads.

Blocks whose results are rounded depend on the number of rows only, and are reduced in block order,
so no result depends on the number of threads; those of `rows_to_share` change no result. A pool
lives as long as one call. Its threads stay for a moment, because starting one may take as long as a
small job; a forked child forgets them.

Small jobs take a fraction of a millisecond, and so does waking a core. So nobody waits for a thread
to start, nor for one that has not begun when the work is done: it finds nothing left to do. Where
to wake them: `kseeds.runtime.cores`.

Python sees an interrupt between two blocks, so blocks are a fraction of a second's work at most:
see `rows_for`. What takes longer than that and cannot be interrupted, like compiling the kernel
of a block, is done `elsewhere`.
"""

from __future__ import annotations

import _thread
import contextlib
import itertools
import os
import threading
import weakref
from collections.abc import Callable
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import TypeVar, cast

from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.cores import keep_to, other_cores

T = TypeVar("T")

BLOCK_ROWS = 1 << 16

_BLOCK_NANOSECONDS = 4e7
_SHARING_NANOSECONDS = 3e5
_UNDIVIDED_NANOSECONDS, _SHARES = 2e6, 4
"""What a thread does in one block, and in how many it does more."""

_IDLE_SECONDS = 1.0
_LOOK_UP_SECONDS = 0.05
_LEAVE_SECONDS = 0.3

_OF_THREAD = threading.local()

ELSEWHERE = "kseeds elsewhere"
"""The name of threads that may stay for a moment after an interruption."""


class GivenUp(BaseException):
    """Raised in a thread whose work nobody waits for any more; never seen by a caller."""


def default_threads() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def stop_flag() -> threading.Event | None:
    """Return what is set when the work of this thread is given up, if it can be."""
    return getattr(_OF_THREAD, "stop", None)


def heed(stop: threading.Event) -> None:
    """Let `stop_flag` return ``stop`` on this thread from now on."""
    _OF_THREAD.stop = stop


def on_main_thread() -> bool:
    """Tell whether this is the thread on which Python raises KeyboardInterrupt."""
    return threading.get_ident() == threading.main_thread().ident


def elsewhere(task: Callable[[], T], stop: threading.Event, patience: float = _LEAVE_SECONDS) -> T:
    """Run ``task`` on a thread of its own, and leave if this one is interrupted or has to stop.

    What is left behind after so many seconds of ``patience`` finds ``stop`` set; Python does not
    end before it has ended.
    """
    found: list[T] = []
    errors: list[BaseException] = []
    # Not `Thread.join`: an interrupted join of Python 3.11 takes the thread for ended.
    running = threading.Lock()

    def work() -> None:
        try:
            heed(stop)
            found.append(task())
        except BaseException as error:
            errors.append(error)
        finally:
            running.release()

    running.acquire()
    try:
        threading.Thread(target=work, name=ELSEWHERE, daemon=False).start()
        # Looking up now and then hears a signal that another thread has caught, and the flag.
        while not running.acquire(timeout=_LOOK_UP_SECONDS):
            if stop.is_set():
                raise GivenUp
    except BaseException:
        stop.set()
        running.acquire(timeout=patience)  # mostly it ends at once, and nothing is left
        raise
    if errors:
        raise errors[0]
    return found[0]


def blocks_of(n_rows: int, block_rows: int = BLOCK_ROWS) -> list[tuple[int, int]]:
    """Return the fixed blocks of ``n_rows`` rows as (start, stop) pairs."""
    return [(lo, min(lo + block_rows, n_rows)) for lo in range(0, n_rows, block_rows)]


def is_worth_sharing(nanoseconds: float) -> bool:
    """Tell whether so much work is done sooner by several threads: waking one takes its time."""
    return nanoseconds > _SHARING_NANOSECONDS


def rows_for(nanoseconds: float, least: int = COLUMNS, most: int = BLOCK_ROWS) -> int:
    """Return how many rows make a block of some tens of milliseconds, a multiple of 64.

    ``nanoseconds`` is what a row costs, roughly.

    Examples
    --------
    >>> from kseeds.runtime.threads import rows_for
    >>> rows_for(10.0), rows_for(1e4), rows_for(1e9)
    (65536, 3968, 64)
    """
    rows = int(_BLOCK_NANOSECONDS / max(nanoseconds, 1e-3)) // COLUMNS * COLUMNS
    return max(least, min(most, rows))


def rows_to_share(n_rows: int, nanoseconds: float, n_threads: int) -> int:
    """Return how many rows make a block whose size changes no result: all, or a multiple of 64.

    All rows if they are not worth sharing, and otherwise one block for each thread, or a few: who
    has done a block needs Python's lock to get another, and may wait for it much longer than it
    is held. ``nanoseconds`` is what a row costs, roughly.

    Examples
    --------
    >>> from kseeds.runtime.threads import rows_to_share
    >>> rows_to_share(1000, 10.0, 2), rows_to_share(10_000, 100.0, 2), rows_to_share(10_000, 1e4, 2)
    (1000, 5056, 1280)
    """
    if n_threads == 1 or not is_worth_sharing(n_rows * nanoseconds):
        return max(COLUMNS, min(n_rows, rows_for(nanoseconds, most=n_rows + COLUMNS)))
    per_thread = n_rows * nanoseconds / n_threads
    blocks = n_threads * (1 if per_thread <= _UNDIVIDED_NANOSECONDS else _SHARES)
    return min(-(-n_rows // (blocks * COLUMNS)) * COLUMNS, rows_for(nanoseconds, most=n_rows))


class _Helper:
    """A thread that does one job after the other, until nobody has had one for a while.

    Not a `threading.Thread`, whose start waits until it runs: a third of a millisecond at times.
    """

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._process = os.getpid()
        self.native_id: int | None = None  # until it runs, on a core that the system found idle
        self._cores: set[int] = set()
        _thread.start_new_thread(_serve, (self._jobs, weakref.ref(self)))

    @classmethod
    def any(cls) -> _Helper:
        """Return one that is idle, or a new one."""
        try:
            return _IDLE.pop()  # atomic, like append and remove
        except IndexError:
            return cls()

    def give(self, job: _Job, cores: set[int]) -> None:
        """Have a job done on some cores, when the thread gets round to it."""
        is_here = self.native_id is not None and self._process == os.getpid()
        if is_here and cores != self._cores:
            keep_to(cast(int, self.native_id), cores)
            self._cores = cores
        self._jobs.put(job)

    def let_go(self) -> None:
        """Have other calls use it; does not wait for its jobs."""
        if self._process == os.getpid():  # its thread is not in a child that was forked since
            _IDLE.append(self)


def _serve(jobs: SimpleQueue[_Job], of: weakref.ref[_Helper]) -> None:
    if (helper := of()) is not None:
        helper.native_id = _thread.get_native_id()
    del helper
    while True:
        try:
            job = jobs.get(timeout=_IDLE_SECONDS)
        except Empty:
            helper = of()
            if helper is None:  # whose call was interrupted before it could let it go
                return
            try:
                _IDLE.remove(helper)
            except ValueError:  # a call has it, and may have a job soon
                del helper
                continue
            return
        job.run()
        del job  # what it holds is not kept until the next one


_IDLE: list[_Helper] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_IDLE.clear)  # a child has none of the threads


class _Job:
    """Work for a helper, unless it is called off before it has begun.

    Each side says what it does before it looks at what the other has said, so one of them sees
    it: nothing is done that nobody waits for. An interrupt at any place changes nothing of that.
    The work, and with it the data, is let go before the caller goes on.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self._work: Callable[[], None] | None = work
        self._is_off = self._has_begun = False
        self._running = _thread.allocate_lock()
        self._running.acquire()
        self._error: BaseException | None = None

    def run(self) -> None:
        """Do the work, on the thread of a helper."""
        if self._is_off:
            return
        self._has_begun = True
        try:
            if not self._is_off and self._work is not None:
                self._work()
        except BaseException as error:
            self._error = error
        finally:
            self._work = None
            self._running.release()

    def end(self) -> BaseException | None:
        """Call the work off, or wait until it is done; return its error, if there is one."""
        self._is_off = True
        if self._has_begun:
            with self._running:
                return self._error
        self._work = None
        return None


class Workers:
    """A pool of threads that is started when it is first worth it.

    Examples
    --------
    >>> from kseeds.runtime.threads import Workers
    >>> with Workers(2) as workers:
    ...     sums = workers.over_blocks(lambda lo, hi: sum(range(lo, hi)), 100, block_rows=30)
    >>> sums
    [435, 1335, 2235, 945]
    """

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        self._helpers: list[_Helper] = []

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        while self._helpers:
            self._helpers.pop().let_go()

    def over_blocks(
        self, task: Callable[[int, int], T], n_rows: int, block_rows: int = BLOCK_ROWS
    ) -> list[T]:
        """Run ``task(start, stop)`` on every block and return the results in block order."""
        blocks = blocks_of(n_rows, block_rows)
        if self.n_threads == 1 or len(blocks) <= 1:
            return [task(lo, hi) for lo, hi in blocks]
        while len(self._helpers) < min(self.n_threads, len(blocks)) - 1:
            self._helpers.append(_Helper.any())  # the calling thread works, too
        results: list[T | None] = [None] * len(blocks)
        turns = itertools.count()  # handing out numbers is atomic
        given_up = threading.Event()

        def work() -> None:
            try:
                while not given_up.is_set() and (turn := next(turns)) < len(blocks):
                    results[turn] = task(*blocks[turn])
            except BaseException:
                given_up.set()  # nobody starts on another block
                raise

        def help_out() -> None:
            heed(given_up)
            with contextlib.suppress(GivenUp):  # whoever gave up tells why
                work()

        jobs: list[_Job] = []
        try:
            cores = other_cores()
            for helper in self._helpers:
                jobs.append(_Job(help_out))
                helper.give(jobs[-1], cores)
            work()
            for error in [job.end() for job in jobs]:
                if error is not None:
                    raise error
        except BaseException:
            given_up.set()
            for job in jobs:
                job.end()  # at most the block that each is working on
            raise
        return cast(list[T], results)
