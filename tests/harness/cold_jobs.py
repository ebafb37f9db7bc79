"""Jobs that are interrupted while their kernels are compiled.

``python -m tests.harness.cold_jobs NAME ATTEMPTS SEED`` wants an empty NUMBA_CACHE_DIR. It calls a
function, sends itself the signal of Ctrl-C at a moment that is chosen by the progress of the
compiler, and tries again with other moments; then it lets the function finish and prints a digest
of the answer. What an interruption has compiled to the end is not compiled again, so many attempts
take little longer than one.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from kseeds import assign, kmeans_parallel, kmeans_plusplus
from kseeds.runtime import compile_policy
from tests.harness.long_jobs import PATIENCE, now, seconds_since


def _seeds(function: Callable[..., Any], k: int) -> Callable[[np.ndarray], tuple[Any, ...]]:
    def job(X: np.ndarray) -> tuple[Any, ...]:
        found = function(X, k, random_state=0, n_threads=2)
        return found.indices, found.labels, found.potential

    return job


def _assigned(X: np.ndarray) -> tuple[Any, ...]:
    found = assign(X, X[:300], n_threads=2)
    return found.labels, found.distances, found.potential


JOBS: dict[str, Callable[[np.ndarray], tuple[Any, ...]]] = {
    "assign": _assigned,
    "parallel": _seeds(kmeans_parallel, 50),
    "plusplus": _seeds(kmeans_plusplus, 1000),
}


@contextmanager
def _as_if_compiling_cost_nothing() -> Iterator[None]:
    """Have jobs compiled that are too small to repay it."""
    prices = dict.fromkeys(compile_policy.COMPILING, 0.0)
    with (
        patch.multiple(compile_policy, LOADING=0.0, FROM_DISK=0.0),
        patch.dict(compile_policy.COMPILING, prices),
    ):
        yield


def digest(name: str) -> str:
    """Return the answer of a job in short."""
    X = np.random.default_rng(0).random((300_000, 16), dtype=np.float32)
    with _as_if_compiling_cost_nothing():
        parts = [np.ascontiguousarray(part).tobytes() for part in JOBS[name](X)]
    return hashlib.sha256(b"".join(parts)).hexdigest()


class Sender:
    """Sends the signal so many seconds after so many passes of the compiler have begun."""

    def __init__(self, passes: int, seconds: float) -> None:
        self.sent: tuple[float, float] | None = None
        self._left, self._seconds = passes, seconds
        self._called_off = threading.Event()
        self._now = threading.Event()
        self._thread = threading.Thread(target=self._send, daemon=True)

    def start(self) -> None:
        """Begin to count."""
        if self._left:
            _count_passes_for(self)
        else:
            self._now.set()  # while the compiler is imported, if it has not been yet
        self._thread.start()

    def call_off(self) -> None:
        """Send no signal any more."""
        _count_passes_for(None)
        self._called_off.set()
        self._now.set()
        self._thread.join()

    def pass_begins(self) -> None:
        """Count a pass."""
        self._left -= 1
        if self._left == 0:
            self._now.set()

    def _send(self) -> None:
        self._now.wait()
        if not self._called_off.wait(self._seconds):
            self.sent = now()
            os.kill(os.getpid(), signal.SIGINT)


_listening: list[Sender | None] = []


def _count_passes_for(sender: Sender | None) -> None:
    if not _listening:
        if sender is None:
            return
        import numba  # noqa: F401 - waits for a thread that is importing it
        from numba.core import event

        class Count(event.Listener):
            def on_start(self, event: Any) -> None:
                if _listening[0] is not None:
                    _listening[0].pass_begins()

            def on_end(self, event: Any) -> None:
                pass

        _listening.append(None)
        event.register("numba:run_pass", Count())
    _listening[0] = sender


def interrupt(name: str, passes: int, seconds: float) -> float | None:
    """Return how long KeyboardInterrupt took, by `seconds_since`; None if the job was faster."""
    sender = Sender(passes, seconds)
    sender.start()
    try:
        digest(name)
        sender.call_off()
    except KeyboardInterrupt:
        assert sender.sent is not None
        took = seconds_since(sender.sent)
        sender.call_off()
        return took
    assert sender.sent is None, f"no notice of Ctrl-C after {passes} passes + {seconds:.3f} s"
    return None


def gone(seconds: float) -> list[str]:
    """Return the threads that are still there after so many seconds."""
    until = time.monotonic() + seconds
    while (left := threading.enumerate()[1:]) and time.monotonic() < until:
        time.sleep(0.01)
    return [thread.name for thread in left]


def main(name: str, attempts: int, seed: int) -> None:
    """Interrupt one job again and again, then let it finish."""
    draw = random.Random(seed)
    for turn in range(attempts):
        passes = draw.choice([0, 1, 2, 5, 10, 20, 40, 80]) if turn or seed % 2 else 0
        seconds = draw.uniform(0.0, 0.6)
        took = interrupt(name, passes, seconds)
        if took is not None:
            print(f"{took:.3f} {passes} {seconds:.3f}", flush=True)
            assert took < PATIENCE, f"{name} worked on for {took:.1f} s after Ctrl-C"
        if turn % 2:  # otherwise the next call has to get along with a thread that is leaving
            assert not (left := gone(PATIENCE)), f"threads were left: {left}"
    answer = digest(name)
    assert not (left := gone(PATIENCE)), f"threads were left: {left}"
    print(answer)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
