"""The fingerprint of `kseeds.inputs.fingerprint`, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from kseeds.runtime.block_sizes import BLOCK
from kseeds.runtime.compiler import JIT_DISABLED, inlined, kernel
from kseeds.simd import interpreted


def _fingerprint_words(words: Any, start: int, stop: int, factors: Any) -> Any:
    """Return the fingerprint of one block: the words ``start`` to ``stop``."""
    # Unsigned indices need no test for negative values, and slices would make threads contend
    # for reference counts.
    first = np.uint64(start)
    total, sixteen = np.uint32(0), np.uint32(16)
    for at in range(np.uint64(stop - start)):
        word = words[first + at]
        mixed = np.uint32(word ^ np.uint32(word >> sixteen))
        total = np.uint32(total + np.uint32(mixed * factors[at]))
    return total


# Interpreted, the loop would be slow and warn of every overflow.
fingerprint_words = interpreted.fingerprint_words if JIT_DISABLED else inlined(_fingerprint_words)


@kernel
def fingerprint_blocks(
    words: Any, width: int, first: int, last: int, factors: Any, sums: Any
) -> None:
    """Write the fingerprints of the blocks ``first`` to ``last`` of rows of ``width`` words."""
    for block in range(first, last):
        start = block * BLOCK * width
        stop = min(start + BLOCK * width, words.shape[0])
        sums[block] = fingerprint_words(words, start, stop, factors)
