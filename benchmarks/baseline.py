"""Vectorised naive k-means++: one pass over the rows for every seed, on all cores.

The baseline of every comparison of times: not a scalar loop, but the same vector kernels and
threads as ours, with nothing skipped.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kseeds.inputs import prepare_points
from kseeds.nearest import CatchUp
from kseeds.result import Nearest
from kseeds.threads import Workers, default_threads


def naive_plusplus(X: npt.NDArray[np.float32], k: int, seed: int) -> npt.NDArray[np.int64]:
    """Draw k rows by k-means++."""
    rng = np.random.default_rng(seed)
    prepared = prepare_points(X, "euclidean")
    points, nearest = prepared.points, Nearest.unmet(prepared.points)
    rows = [int(rng.integers(len(X)))]
    with Workers(default_threads()) as workers:
        meet = CatchUp(points, prepared.metric, workers, k, way="brute")

        def mass(lo: int, hi: int) -> float:
            return float(nearest.squared[lo:hi].sum(dtype=np.float64))

        for _ in range(k - 1):
            nearest.met = 0
            nearest.labels[:] = 0
            meet.meet(nearest, np.ascontiguousarray(points[rows[-1:]]))
            sums = np.cumsum(workers.over_blocks(mass, len(X), 4096))
            target = rng.random() * sums[-1]
            block = min(int(np.searchsorted(sums, target, side="right")), len(sums) - 1)
            part = nearest.squared[block * 4096 : (block + 1) * 4096].astype(np.float64)
            within = target - (sums[block - 1] if block else 0.0)
            at = min(int(np.searchsorted(np.cumsum(part), within, side="right")), len(part) - 1)
            rows.append(block * 4096 + at)
    return np.array(rows)
