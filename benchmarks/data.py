"""Data for the benchmarks: local .npz files with the key X, or synthetic rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

SETS = ("phishing", "cod-rna", "skin", "covtype", "mnist", "sensor", "flights")


def load(folder: Path, name: str) -> npt.NDArray[np.float32]:
    """Return a data set in float32, C-contiguous."""
    with np.load(folder / f"{name}.npz") as archive:
        return np.ascontiguousarray(archive["X"].astype(np.float32))


def clustered(n: int, d: int, clusters: int = 20_000) -> npt.NDArray[np.float32]:
    """Return rows around random centres, made in blocks so that they fit."""
    rng = np.random.default_rng(0)
    centers = 3.0 * rng.normal(size=(clusters, d)).astype(np.float32)
    rows = np.empty((n, d), dtype=np.float32)
    for lo in range(0, n, 100_000):
        part = rows[lo : lo + 100_000]
        part[:] = centers[rng.integers(0, clusters, len(part))]
        part += rng.normal(size=part.shape).astype(np.float32)
    return rows
