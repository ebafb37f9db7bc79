"""Results that must never change: of every algorithm, on any threads, in any order, both tiers."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest

from kseeds import kmeans
from kseeds.lloyd.choice import ALGORITHMS
from tests.harness.golden import data, wide

GOLDEN = {
    "tall": "74fae679b6a0fb2c",
    "weighted": "ea3379345446cd93",
    "broad": "781932ea3bd44e12",
    "directions": "92f262591f69cf88",
}
"""Digests of centres, labels and the number of iterations."""


def job_of(name):
    """Return rows, their weights, the number of clusters and the options of a job."""
    X, weights = data()
    options = {"init": "random", "random_state": 7, "tol": 0, "max_iter": 12}
    rows, k = (wide(), 11) if name in ("broad", "directions") else (X, 23)
    if name == "directions":
        options["metric"] = "cosine"
        rows = rows + 1.0
    return rows, weights if name == "weighted" else None, k, options


def digest_of(centers, labels, n_iter):
    parts = centers.tobytes() + labels.tobytes() + bytes([n_iter])
    return hashlib.blake2b(parts, digest_size=8).hexdigest()


def digest(job, order="C", **keywords):
    rows, weights, k, options = job_of(job)
    found = kmeans(np.array(rows, order=order), k, sample_weight=weights, **options, **keywords)
    return digest_of(found.centers, found.labels, found.n_iter)


@pytest.mark.parametrize("job", GOLDEN)
@pytest.mark.parametrize("algorithm", ["auto", *ALGORITHMS])
def test_no_algorithm_thread_or_order_changes_the_result(job, algorithm):
    for order, threads in (("C", 1), ("F", 2), ("C", 5)):
        found = digest(job, order, n_threads=threads, algorithm=algorithm)
        assert found == GOLDEN[job], (order, threads)


@pytest.mark.parametrize("job", GOLDEN)
def test_plain_numpy_gives_the_same(job):
    """In a process that imports no compiler."""
    code = (
        "import sys; sys.modules['numba'] = None\n"
        "from tests.lloyd.test_golden import digest\n"
        f"print(digest({job!r}, algorithm='auto'), digest({job!r}, algorithm='naive'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ
    )
    assert done.stdout.split() == [GOLDEN[job]] * 2, done.stderr
