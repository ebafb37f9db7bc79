"""A fingerprint (hash) of the data, to detect that it has changed since it was seeded.

For every block of 64 rows: the sum modulo 2³² of its 32-bit words, each mixed by x ^ (x >> 16) so
that round numbers use all bits, and multiplied by odd factors of its row and of its column. A
single changed word always changes the sum; other changes are missed with a probability of about
2⁻³² per block. The compiled first pass of lazy k-means++ computes the same sums on the way.
"""

from __future__ import annotations

import functools
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import FloatArray
from kseeds.distances.sparse_rows import Points, SparseRows
from kseeds.runtime import compile_policy
from kseeds.runtime.block_sizes import BLOCK
from kseeds.runtime.threads import Workers

Words: TypeAlias = npt.NDArray[np.uint32]
Fingerprint: TypeAlias = npt.NDArray[np.uint32]

_FEW = 256
"""Rows of at most this many words have their factors cached, for many small jobs in a row."""
_WORDS = 1 << 16
"""Words processed at a time, so that temporaries stay in cache."""


def fingerprint_of(points: Points, workers: Workers) -> Fingerprint:
    """Return the fingerprint of C-contiguous rows: one number per block of 64 rows.

    Of sparse rows: that of their entries, of the columns of these, and of where rows begin.

    Examples
    --------
    >>> import numpy as np
    >>> from kseeds.inputs.fingerprint import fingerprint_of
    >>> from kseeds.runtime.threads import Workers
    >>> X = np.arange(300.0).reshape(100, 3)
    >>> before = fingerprint_of(X, Workers(1))
    >>> X[70, 1] = -X[70, 1]
    >>> (before == fingerprint_of(X, Workers(1))).tolist()
    [True, False]
    """
    if isinstance(points, SparseRows):
        arrays = (points.entries, points.columns.view(np.float32), points.indptr.view(np.float64))
        parts = [part for array in arrays for part in _folded(array)]
        return np.concatenate([fingerprint_of(part, workers) for part in parts if len(part)])
    seconds = 1e-9 * points.nbytes / 4
    if compile_policy.pays("fingerprint", points.dtype, seconds, 0.2 * seconds):
        with compile_policy.using("fingerprint", points.dtype):
            return fingerprint_by_kernels(points, workers)
    with compile_policy.in_place_of(["fingerprint"], points.dtype):
        return _fingerprint_plainly(points, workers)


def _folded(array: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return numbers in a row as rows of 64, and as one of the rest."""
    whole = len(array) - len(array) % BLOCK
    rest = array[whole:].reshape(-1, max(len(array) - whole, 1))
    return array[:whole].reshape(-1, BLOCK), rest


def _fingerprint_plainly(points: FloatArray, workers: Workers) -> Fingerprint:
    flat, width, factors, sums = _words_of(points)

    def task(start: int, stop: int) -> None:
        whole = flat[start * width : (stop - stop % BLOCK) * width].reshape(-1, len(factors))
        rest = flat[(stop - stop % BLOCK) * width : stop * width]
        first = start // BLOCK
        sums[first : first + len(whole)] = _sums(whole, factors)
        if len(rest):
            sums[first + len(whole)] = _sums(rest[None, :], factors[: len(rest)])[0]

    workers.over_blocks(task, len(points), max(1, _WORDS // (width * BLOCK)) * BLOCK)
    return sums


def fingerprint_by_kernels(points: FloatArray, workers: Workers) -> Fingerprint:
    """Return what `fingerprint_of` returns, by compiled kernels."""
    from kseeds.inputs.fingerprint_kernels import fingerprint_blocks

    flat, width, factors, sums = _words_of(points)

    def task(start: int, stop: int) -> None:
        fingerprint_blocks(flat, width, start // BLOCK, -(-stop // BLOCK), factors, sums)

    workers.over_blocks(task, len(points), max(1, 16 * _WORDS // (width * BLOCK)) * BLOCK)
    return sums


def _words_of(points: FloatArray) -> tuple[Words, int, Words, Fingerprint]:
    """Return the words of all rows, how many a row has, their factors, and where sums go."""
    words = points.view(np.uint32)
    words.flags.writeable = False  # kernels are compiled for one kind of array only
    sums = np.empty(-(-len(points) // BLOCK), dtype=np.uint32)
    return words.reshape(-1), words.shape[1], factors_for(points), sums


def factors_for(points: FloatArray) -> npt.NDArray[np.uint32]:
    """Return the factor of every word of a block: that of its row times that of its column.

    The factors of row 0 and of column 0 are 1, so the first row holds the column factors and the
    first column the row factors.
    """
    words = points.shape[1] * (points.itemsize // 4)
    return _factors_of_few(words) if words <= _FEW else _factors(words)


def _factors(words: int) -> npt.NDArray[np.uint32]:
    factors = np.multiply.outer(_odd_numbers(0, BLOCK), _odd_numbers(BLOCK, words)).reshape(-1)
    factors.flags.writeable = False  # kernels are compiled for read-only arrays
    return factors


_factors_of_few = functools.lru_cache(maxsize=16)(_factors)


def _odd_numbers(start: int, count: int) -> npt.NDArray[np.uint32]:
    """Return ``count`` hashed odd numbers; the first is replaced by 1."""
    numbers = np.arange(start, start + count, dtype=np.uint32)
    for shift, factor in ((16, 0x9E3779B1), (15, 0x85EBCA6B), (13, 0xC2B2AE35)):
        numbers ^= numbers >> np.uint32(shift)
        numbers *= np.uint32(factor)
    numbers |= np.uint32(1)
    numbers[:1] = 1
    return numbers


def _sums(words: npt.NDArray[np.uint32], factors: npt.NDArray[np.uint32]) -> Fingerprint:
    mixed = words >> np.uint32(16)
    mixed ^= words
    mixed *= factors
    sums: Fingerprint = mixed.sum(axis=1, dtype=np.uint32)
    return sums
