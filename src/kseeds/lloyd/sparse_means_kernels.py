"""Sums of clusters of sparse rows: see `kseeds.lloyd.sparse_means`.

A bit for each column, 64 to a word, tells which columns a cluster has; the sums of these are kept
in a dense row. Both are empty before and after.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kseeds.runtime.compiler import kernel


@kernel
def count_columns(
    points: Any, order: Any, starts: Any, start: int, stop: int, words: Any, counts: Any
) -> None:
    """Count the columns that the clusters ``start`` to ``stop`` have, cluster c in counts[c + 1].

    Cluster c has the rows ``order[starts[c]]`` to ``order[starts[c + 1]]``.
    """
    for c in range(start, stop):
        total = 0
        for at in range(starts[c], starts[c + 1]):
            i = order[at]
            for p in range(points.indptr[i], points.indptr[i + 1]):
                column = points.indices[p]
                bit = np.uint64(1) << np.uint64(column & 63)
                if words[column >> 6] & bit == np.uint64(0):
                    words[column >> 6] |= bit
                    total += 1
        counts[c + 1] = total
        for at in range(words.shape[0]):
            words[at] = np.uint64(0)


@kernel
def sum_rows(
    points: Any, weights: Any, order: Any, starts: Any, start: int, stop: int, dense: Any,
    words: Any, pointers: Any, columns: Any, values: Any,
) -> None:  # fmt: skip
    """Write the columns of the clusters ``start`` to ``stop``, and the sum of w·x in each."""
    for c in range(start, stop):
        for at in range(starts[c], starts[c + 1]):
            i = order[at]
            weight = weights[i] if weights.shape[0] else 1.0
            for p in range(points.indptr[i], points.indptr[i + 1]):
                column = points.indices[p]
                words[column >> 6] |= np.uint64(1) << np.uint64(column & 63)
                dense[column] += weight * np.float64(points.data[p])
        place = pointers[c]
        for at in range(words.shape[0]):
            word, column = words[at], at << 6
            words[at] = np.uint64(0)
            while word != np.uint64(0):
                if word & np.uint64(255) == np.uint64(0):
                    word >>= np.uint64(8)
                    column += 8
                    continue
                if word & np.uint64(1):
                    columns[place], values[place] = column, dense[column]
                    dense[column] = 0.0
                    place += 1
                word >>= np.uint64(1)
                column += 1
