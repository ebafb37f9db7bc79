"""Whether a job waits for compiled kernels, decided for each set of kernels it could use.

A set costs what compiling it takes, unless it was compiled in this process or is kept on disk from
an earlier one. It is worth that if the job, and the like jobs before it that plain NumPy or slower
kernels have done in this process, take longer without. All give the same results to the last bit,
so the choice may depend on time and on what ran before.
"""

from __future__ import annotations

import functools
import logging
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from kseeds.runtime import kernel_cache

LOADING = 0.3
"""Seconds to import Numba."""
FROM_DISK = 0.1
"""Seconds to load a set that is kept on disk."""
COMPILING = {
    "brute": 0.8,
    "fingerprint": 0.3,
    "gemm": 1.9,
    "greedy_columns": 2.0,
    "greedy_pool": 2.9,
    "greedy_postings": 5.0,
    "greedy_projected_tree": 6.5,
    "greedy_scan": 1.5,
    "greedy_tree": 5.3,
    "inverted": 1.5,
    "lazy": 2.8,
    "lloyd_bounds": 3.2,
    "lloyd_short": 0.9,
    "lloyd_sums": 0.6,
    "lloyd_tree": 6.0,
    "projected_scan": 1.8,
    "projected_tree": 3.5,
    "quantized": 2.0,
    "quantized_scan": 2.6,
    "sparse_lazy": 2.5,
    "sparse_means": 0.8,
    "sparse_sorting": 0.6,
    "tree": 2.8,
    "vantage": 1.7,
}
"""Seconds to compile a set, for one precision: `python -m benchmarks run startup` measures them."""
_WORTH_A_LINE = 2.0
_ASK_AGAIN = 1.0
"""Seconds for which an answer of the disk is good: another process may compile in the meantime."""

_LOGGER = logging.getLogger("kseeds")

_ready: set[str] = set()
_spent: dict[str, float] = {}
"""Seconds that plain NumPy has taken in place of a set."""
_lost: dict[str, float] = {}
"""Seconds that jobs took longer by slower sets than they would have by one that was not ready."""
_answers: dict[str, tuple[float, bool]] = {}
"""What the disk said of a set, and when."""


@functools.cache
def name_of(kernel_set: str, dtype: np.dtype[Any]) -> str:
    """Return the name of a kernel set for a precision."""
    return f"{kernel_set}-{dtype.name}"


def is_loaded() -> bool:
    """Tell whether Numba is imported."""
    return "kseeds.runtime.compiler" in sys.modules


def waiting(kernel_set: str, dtype: np.dtype[Any]) -> float:
    """Return the seconds until the kernels of a set could run."""
    name = name_of(kernel_set, dtype)
    if name in _ready:
        return 0.0
    loading = 0.0 if is_loaded() else LOADING
    return loading + (FROM_DISK if _is_on_disk(name) else COMPILING[kernel_set])


def _is_on_disk(name: str) -> bool:
    """Tell whether a set is kept on disk; asks it now and then only, as that takes a millisecond.

    Many small jobs may be decided before one of them has compiled the set.
    """
    now = time.monotonic()
    asked, answer = _answers.get(name, (-np.inf, False))
    if now - asked > _ASK_AGAIN:
        asked, answer = _answers[name] = now, kernel_cache.is_cached(name)
    return answer


def pays(kernel_set: str, dtype: np.dtype[Any], plain: float, compiled: float) -> bool:
    """Tell whether a job should use a kernel set.

    ``plain`` and ``compiled`` are the seconds it takes without and with it.
    """
    name = name_of(kernel_set, dtype)
    if name in _ready:
        return compiled <= plain
    plain += _spent.get(name, 0.0) + _lost.get(name, 0.0)
    # Most jobs are so short that it is not worth asking the disk.
    return plain > FROM_DISK + compiled and plain > compiled + waiting(kernel_set, dtype)


def first_done(seconds: Mapping[str, float], dtype: np.dtype[Any]) -> str:
    """Return by which kernel set a job is done first, given the seconds it takes by each.

    One that would have to be compiled or loaded is taken once it would have saved as much, had it
    been there for the jobs before (`note_loss`): otherwise many short jobs would never get it.
    """

    def until_done(kernel_set: str) -> float:
        lost = _lost.get(name_of(kernel_set, dtype), 0.0)
        return seconds[kernel_set] + max(0.0, waiting(kernel_set, dtype) - lost)

    return min(seconds, key=until_done)


def note_loss(kernel_set: str, dtype: np.dtype[Any], seconds: float) -> None:
    """Count what a job lost because slower kernels did it in place of a set that is not ready."""
    name = name_of(kernel_set, dtype)
    if name not in _ready and seconds > 0.0:
        _lost[name] = _lost.get(name, 0.0) + seconds


def spent(kernel_set: str, dtype: np.dtype[Any]) -> float:
    """Return the seconds that plain NumPy has taken in place of a set, in this process."""
    return _spent.get(name_of(kernel_set, dtype), 0.0)


@contextmanager
def in_place_of(kernel_sets: Collection[str], dtype: np.dtype[Any]) -> Iterator[None]:
    """Count the time of a job that plain NumPy does instead of one of some kernel sets."""
    started = time.perf_counter()
    try:
        yield
    finally:
        for name in (name_of(kernel_set, dtype) for kernel_set in kernel_sets):
            _spent[name] = _spent.get(name, 0.0) + time.perf_counter() - started


@contextmanager
def using(kernel_set: str, dtype: np.dtype[Any], *, is_whole: bool = True) -> Iterator[None]:
    """Note that a job uses a kernel set, and say so if it has to wait long.

    A job that does not need all of a set leaves no mark on disk (``is_whole``).
    """
    name = name_of(kernel_set, dtype)
    if name in _ready:
        yield
        return
    if kernel_set in COMPILING and waiting(kernel_set, dtype) > _WORTH_A_LINE:
        _LOGGER.info(
            "compiling the %s kernels for %s, which takes about %.0f seconds, once on this "
            "machine: the job would take longer without; kseeds.warmup(%r) compiles them ahead",
            kernel_set, dtype.name, COMPILING[kernel_set], kernel_set,
        )  # fmt: skip
    yield
    _ready.add(name)
    if is_whole:
        kernel_cache.note_cached(name)
