"""Vectorised naive k-means++: one pass over the rows for every seed, on all cores.

The baseline of every comparison of times: not a scalar loop, but the same vector kernels and
threads as ours, with nothing skipped.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.inputs import prepare_points
from kseeds.nearest.gemm_kernels import squared_gaps_to
from kseeds.runtime.threads import Workers, default_threads

_ROWS = 16_384


def naive_plusplus(X: npt.NDArray[np.float32], k: int, seed: int) -> npt.NDArray[np.int64]:
    """Draw k rows by k-means++."""
    rng = np.random.default_rng(seed)
    points = prepare_points(X, "euclidean").points
    squared = np.full(len(X), np.inf, dtype=points.dtype)
    new = np.empty_like(squared)
    rows = [int(rng.integers(len(X)))]
    with Workers(default_threads()) as workers:
        for _ in range(k - 1):
            center = points[rows[-1] : rows[-1] + 1]

            def meet(lo: int, hi: int, center: npt.NDArray[np.float32] = center) -> float:
                squared_gaps_to(points[lo:hi], center, new[lo:hi])
                np.minimum(squared[lo:hi], new[lo:hi], out=squared[lo:hi])
                return float(squared[lo:hi].sum(dtype=np.float64))

            sums = np.cumsum(workers.over_blocks(meet, len(X), _ROWS))
            target = rng.random() * sums[-1]
            block = min(int(np.searchsorted(sums, target, side="right")), len(sums) - 1)
            part = squared[block * _ROWS : (block + 1) * _ROWS].astype(np.float64)
            within = target - (sums[block - 1] if block else 0.0)
            at = min(int(np.searchsorted(np.cumsum(part), within, side="right")), len(part) - 1)
            rows.append(block * _ROWS + at)
    return np.array(rows)
