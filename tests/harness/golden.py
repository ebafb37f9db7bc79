"""Indices that must never change: the same random state, the same seeds, for ever.

``python -m tests.harness.golden`` prints the table of ``test_golden.py``. Print it anew only when
a change of seeds is meant, and say so in the changelog.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from tests.harness.catalogue import VARIANTS, Variant


def data() -> tuple[np.ndarray, np.ndarray]:
    """Return rows and weights from bits that NumPy promises never to change."""
    words = np.random.Philox(key=2021).random_raw(9_001 * 4).reshape(-1, 4)
    rows = (words[:, :3] % 4096).astype(np.float32) / np.float32(64.0)
    return rows, (words[:, 3] % 5).astype(np.float64)


def wide() -> np.ndarray:
    """Return rows in many dimensions, some of them duplicates."""
    words = np.random.Philox(key=2022).random_raw(300 * 20).reshape(-1, 20)
    return (words % 1000).astype(np.float64)[np.arange(600) % 300] / 8.0


EUCLIDEAN, OTHER = (0, 1, 2), 3
"""The numbers of the jobs by the Euclidean metric, and that of the job by another one."""
N_JOBS = 4


def indices(
    variant: Variant, order: str = "C", n_threads: int = 1, numbers: Collection[int] = range(N_JOBS)
) -> list[list[int]]:
    """Return the seeds of a few jobs, or of those with these numbers."""
    X, weights = data()
    tall, broad = np.array(X, order=order), np.array(wide(), order=order)
    jobs: list[tuple[np.ndarray, int, dict[str, Any]]] = [
        (tall, 9, {}),
        (tall, 6, {"sample_weight": weights}),
        (broad, 6, {}),
        (broad[:80], 4, {"metric": "manhattan", "initial_centers": broad[:2]}),
    ]
    return [
        variant(rows, k, random_state=7, n_threads=n_threads, **keywords).indices.tolist()
        for rows, k, keywords in (jobs[number] for number in numbers)
    ]


def table(
    order: str = "C", n_threads: int = 1, chosen: Mapping[str, Collection[int]] | None = None
) -> dict[str, list[list[int]]]:
    """Return the seeds of every function, algorithm and option.

    Or of those that are named by ``chosen``, for the jobs with the numbers given there.
    """
    numbers = dict.fromkeys(map(str, VARIANTS), range(N_JOBS)) if chosen is None else chosen
    return {
        str(variant): indices(variant, order, n_threads, numbers[str(variant)])
        for variant in VARIANTS
        if str(variant) in numbers
    }


def main() -> None:
    """Print the table, equal rows once."""
    groups: dict[str, list[str]] = {}
    for name, found in table().items():
        groups.setdefault(repr(found), []).append(name)
    print("GOLDEN = [")
    for found, names in groups.items():
        print("    (")
        print("        (" + "\n         ".join(f'"{name}",' for name in names) + "),")
        print(f"        {found},")
        print("    ),")
    print("]")


if __name__ == "__main__":
    main()
