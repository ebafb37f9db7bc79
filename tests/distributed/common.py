"""Data on which all sums are exact, so that partitions cannot change an answer."""

from __future__ import annotations

import os

import numpy as np

N = 3000
K = 25


def whole_numbers(n=N, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)) * 50.0)
    return X, rng.integers(0, 4, n).astype(np.float64)


def cuts_of(n, parts, seed=0):
    """Return uneven borders of partitions; some of them may be empty."""
    inner = np.sort(np.random.default_rng(seed).integers(0, n + 1, parts - 1))
    return [0, *inner.tolist(), n]


def one_sentence(caught):
    text = str(caught.value)
    assert "\n" not in text
    assert text.endswith(".")
    assert caught.value.__cause__ is None
    return text


def dies_once(part, state, message):
    """Do a task, but lose the process the first time that partition 1 is at it."""
    task, inner, marker = message
    if part.number == 1 and not os.path.exists(marker):
        open(marker, "w").close()
        os._exit(1)
    return task(part, state, inner)


def dying_at_update(run, marker, names=("update",)):
    """Return the ``run`` of a backend with a process that is lost in the middle of a round."""

    def run_dying(self, task, message, keep):
        if task.__name__ in names:
            return run(self, dies_once, (task, message, marker), keep)
        return run(self, task, message, keep)

    return run_dying


def executor_of_this_task():
    """Return the process of the Spark executor that runs this: the parent of Python's parent."""
    import psutil

    return psutil.Process(os.getppid()).ppid()
