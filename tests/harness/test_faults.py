"""A call that fails leaves nothing behind, and the same call repeated gives the right answer."""

from __future__ import annotations

import os
import random
import tempfile
import threading

import numpy as np
import pytest

from kseeds import (
    VPTree,
    assign,
    greedy_kmeans_plusplus,
    kmeans_parallel,
    kmeans_plusplus,
    warmup,
)
from tests.harness import everything, faults
from tests.harness.counts import add
from tests.harness.everything import FEW, MANY, WIDE
from tests.harness.faults import ERRORS, Fault, InjectedError, check_fault, faults_of
from tests.harness.profiles import sizes


@pytest.fixture(autouse=True)
def own_temporary_files(tmp_path, monkeypatch):
    """A folder for temporary files in which nobody else is at work."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def labels_of(X, **keywords):
    """Ask one and the same seeding again."""

    def make():
        found = kmeans_plusplus(X, 30, random_state=0, n_threads=2, **keywords)
        return lambda: (found.labels.tobytes(), found.distances.tobytes(), found.potential)

    return make


def labels_of_parallel():
    found = kmeans_parallel(WIDE, 30, random_state=0, n_threads=2)
    return lambda: (found.labels.tobytes(), found.distances.tobytes(), found.potential)


def queries_of_one_tree():
    tree = VPTree(MANY[:200])
    return lambda: tuple(part.tobytes() for part in tree.nearest_in_range(MANY, 0.5, n_threads=2))


def with_a_generator():
    """A call that fails must not use up the caller's random numbers."""
    generator = np.random.default_rng(3)
    return lambda: kmeans_plusplus(FEW, 9, random_state=generator, n_threads=2).indices.tobytes()


def mapped():
    with tempfile.TemporaryFile() as file:
        file.write((WIDE * np.float32(2.0**100)).tobytes("F"))
        file.flush()
        X = np.memmap(file, np.float32, "r", shape=WIDE.shape, order="F")
    return lambda: (
        kmeans_parallel(X, 5, random_state=0, n_threads=2).indices.tobytes(),
        assign(X, X[:20], n_threads=2).labels.tobytes(),
    )


SLOW = ("parallel plain", "parallel paper", "manhattan")


def repeated(job):
    """A job that has nothing to remember."""
    return lambda: job


MAKERS = {
    **{name: repeated(job) for name, job in everything.JOBS.items() if name not in SLOW},
    "labels": labels_of(MANY),
    "labels of a wide seeding": labels_of(WIDE),
    "labels by a function": labels_of(FEW, metric=everything.absolute),
    "labels of k-means||": labels_of_parallel,
    "queries": queries_of_one_tree,
    "mapped": mapped,
}


def all_faults(jobs) -> tuple[list[Fault], dict[str, object]]:
    """Return every possible fault of these jobs, and their right answers."""
    # Kernels that jobs find worth compiling only after a while would be compiled while watched,
    # and find a stand-in in place of a kernel that they call.
    chosen_by_time = ("lloyd_sums", "gemm", "brute", "lazy", "fingerprint", "greedy_columns",
                      "greedy_pool", "greedy_tree")  # fmt: skip
    warmup(*chosen_by_time, dtype="float32")
    found, wanted = [], {}
    for job in jobs:
        wanted[job] = MAKERS[job]()()
        found += faults_of(job, MAKERS[job]())
    return found, wanted


EVERY = 20_000
"""More faults than there are."""


@sizes("how_many", 80, EVERY)
def test_injected_faults(how_many, seed_offset):
    chosen, wanted = all_faults(MAKERS)
    assert 100 <= len(chosen) < EVERY
    if how_many < len(chosen):
        chosen = random.Random(seed_offset).sample(chosen, how_many)
    problems = []
    for fault in chosen:
        try:
            reached = check_fault(fault, MAKERS[fault.job], wanted[fault.job])
        except AssertionError as problem:
            problems.append(f"{fault}: {problem}")
            reached = True
        add("faults", int(reached))
    assert not problems, f"{len(problems)} of {len(chosen)}:\n" + "\n".join(problems[:20])


def test_a_failed_call_does_not_use_up_a_generator():
    """Whatever fails, the next call with the same generator is as if the first had not been."""
    wanted = with_a_generator()()
    for fault in faults_of("generator", with_a_generator()):
        check_fault(fault, with_a_generator, wanted)
        add("faults")


USERS = {
    "lazy": lambda **user: kmeans_plusplus(FEW[:50], 9, random_state=0, **user),
    "naive": lambda **user: kmeans_plusplus(FEW[:50], 9, random_state=0, algorithm="naive", **user),
    "rounds": lambda **user: kmeans_plusplus(
        FEW[:50], 9, random_state=0, algorithm="rounds", **user
    ),
    "greedy": lambda **user: greedy_kmeans_plusplus(FEW[:50], 9, random_state=0, **user),
    "fast": lambda **user: kmeans_parallel(FEW[:50], 9, random_state=0, **user),
    "parallel naive": lambda **user: kmeans_parallel(
        FEW[:50], 9, random_state=0, algorithm="naive", **user
    ),
}


class Moody:
    """A function that fails at its n-th call."""

    def __init__(self, function, turn, error):
        self._function, self.turn, self._error = function, turn, error
        self.calls = 0

    def __call__(self, *args):
        self.calls += 1
        if self.calls == self.turn:
            raise self._error("injected")
        return self._function(*args)


@pytest.mark.parametrize("name", list(USERS))
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("what", ["metric", "progress"])
def test_functions_of_the_user_that_fail(name, error, what):
    call = USERS[name]
    function = everything.absolute if what == "metric" else (lambda done, total: None)
    wanted = call(metric=everything.absolute)
    counting = Moody(function, 0, error)
    call(**{"metric": everything.absolute, what: counting})
    assert counting.calls > 1
    for turn in {1, 2, counting.calls // 2, counting.calls}:
        moody = Moody(function, turn, error)
        with pytest.raises(error, match="injected"):
            call(**{"metric": everything.absolute, what: moody})
        add("faults")
        again = call(**{"metric": everything.absolute, what: moody})
        np.testing.assert_array_equal(again.indices, wanted.indices)
        np.testing.assert_array_equal(again.labels, wanted.labels)


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("function", [kmeans_plusplus, kmeans_parallel])
def test_a_metric_that_fails_while_labels_are_computed(function, error):
    counting = Moody(everything.absolute, 0, error)
    wanted = function(FEW[:50], 9, random_state=0, metric=counting)
    calls = -counting.calls
    _ = wanted.labels
    calls += counting.calls
    assert calls > 1
    for turn in (1, calls // 2, calls):
        moody = Moody(everything.absolute, 0, error)
        found = function(FEW[:50], 9, random_state=0, metric=moody)
        moody.turn = moody.calls + turn
        with pytest.raises(error, match="injected"):
            _ = found.labels
        add("faults")
        np.testing.assert_array_equal(found.labels, wanted.labels)
        np.testing.assert_array_equal(found.distances, wanted.distances)
        assert found.potential == wanted.potential


def test_the_probe_sees_what_is_left_behind(monkeypatch):
    """The check of the checks: a thread, an open file and a wrong answer are found."""
    monkeypatch.setattr(faults, "PATIENCE", 0.1)
    fault = Fault("bad", "nowhere", 1, InjectedError)
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    with pytest.raises(AssertionError, match="threads"):
        check_fault(fault, lambda: thread.start, None)
    stop.set()
    thread.join()
    ends = []
    with pytest.raises(AssertionError, match="files"):
        check_fault(fault, lambda: lambda: ends.extend(os.pipe()), None)
    for end in ends:
        os.close(end)
    with pytest.raises(AssertionError, match="wrong without any fault"):
        check_fault(fault, lambda: lambda: 1, 2)
