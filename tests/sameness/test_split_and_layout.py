"""Threads, memory order, containers and precision of integers change nothing."""

from __future__ import annotations

import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from kseeds import kmeans_parallel, kmeans_plusplus
from kseeds import laws as table
from kseeds.nearest.choice import STRATEGIES
from kseeds.runtime.threads import BLOCK_ROWS, Workers, blocks_of
from kseeds.sampling.streams import Purpose, Stream, maxima_of

FUNCTIONS = [kmeans_plusplus, kmeans_parallel]
ALGORITHMS = ["naive", "paper"]


@pytest.fixture
def threads(monkeypatch):
    """Collect, for every piece of work that was split among threads, which threads took part.

    A first block waits for a second thread to take one: a machine that is busy may otherwise leave
    everything to the calling thread, and nothing would have been tested.
    """
    collected = []
    over_blocks = Workers.over_blocks

    def recorded(workers, task, n_rows, block_rows=BLOCK_ROWS):
        if workers.n_threads == 1 or len(blocks_of(n_rows, block_rows)) == 1:
            return over_blocks(workers, task, n_rows, block_rows)
        here, several = set(), threading.Event()
        collected.append(here)

        def watched(start, stop):
            here.add(threading.current_thread().name)
            if len(here) > 1:
                several.set()
            several.wait(10)
            return task(start, stop)

        return over_blocks(workers, watched, n_rows, block_rows)

    monkeypatch.setattr(Workers, "over_blocks", recorded)
    return collected


@pytest.mark.parametrize(
    ("function", "algorithm", "options"),
    [
        (function, algorithm, options)
        for function, algorithms in (
            (kmeans_plusplus, table.PLUSPLUS.algorithms),
            (kmeans_parallel, table.PARALLEL.algorithms),
        )
        for algorithm in algorithms
        # Plain kernels use one thread, and so small a job may get them; the others are asked for.
        for options in {
            "lazy": [{"kernels": "compiled"}],
            "fast": [{"strategy": strategy} for strategy in STRATEGIES],
        }.get(algorithm, [{}])
    ],
)  # fmt: skip
def test_threads_change_nothing(function, algorithm, options, threads):
    columns = 32 if algorithm == "lazy" else 8  # lazy k-means++ leaves small work to one thread
    X = np.random.default_rng(0).normal(size=(2 * BLOCK_ROWS + 19_000, columns)).astype(np.float32)
    keywords = {"random_state": 3, "algorithm": algorithm, **options}
    if function is kmeans_parallel:
        keywords["rounds"] = 2
    one = function(X, 6, n_threads=1, **keywords)
    one_potential = one.potential
    assert not threads
    three = function(X, 6, n_threads=3, **keywords)
    assert threads
    assert one.indices.tolist() == three.indices.tolist()
    assert one.work == three.work
    assert one_potential == three.potential
    np.testing.assert_array_equal(one.labels, three.labels)
    np.testing.assert_array_equal(one.distances, three.distances)
    assert all(len(names) > 1 for names in threads)


def _containers(X):
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    memory = np.asfortranarray(X)
    frozen = X.copy()
    frozen.flags.writeable = False
    return {
        "fortran": memory,
        "read-only": frozen,
        "strided": np.repeat(X, 2, axis=0)[::2],
        "reversed twice": X[::-1].copy()[::-1],
        "list": X.tolist(),
        "csr": sparse.csr_matrix(X),
        "csr array": sparse.csr_array(X),
        "pandas": frame,
        "pandas nullable": frame.astype("Float64"),
        "polars": pl.from_pandas(frame),
        "arrow": pa.Table.from_pandas(frame),
        "arrow batch": pa.RecordBatch.from_pandas(frame),
        "big-endian": X.astype(X.dtype.newbyteorder(">")),
    }


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("container", _containers(np.zeros((1, 1))))
def test_containers_and_orders(function, container):
    X = np.random.default_rng(1).normal(size=(90, 5))
    plain = function(X, 9, random_state=2)
    other = function(_containers(X)[container], 9, random_state=2)
    assert other.indices.tolist() == plain.indices.tolist()
    np.testing.assert_array_equal(other.centers, plain.centers)


def test_memory_map(tmp_path):
    X = np.random.default_rng(1).normal(size=(500, 5))
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for algorithm in ALGORITHMS:
        plain = kmeans_plusplus(X, 9, random_state=2, algorithm=algorithm)
        found = kmeans_plusplus(mapped, 9, random_state=2, algorithm=algorithm)
        assert found.indices.tolist() == plain.indices.tolist()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "bool", "float16"])
def test_whole_numbers_become_floats_that_hold_them(dtype):
    X = np.random.default_rng(1).integers(0, 2, size=(60, 8)).astype(dtype)
    small = np.dtype(dtype).itemsize <= 2
    wanted = np.float32 if small else np.float64
    found = kmeans_plusplus(X, 5, random_state=0)
    assert found.centers.dtype == wanted
    plain = kmeans_plusplus(X.astype(wanted), 5, random_state=0)
    assert found.indices.tolist() == plain.indices.tolist()


def test_weights_in_any_container():
    X, w = np.arange(20.0)[:, None] ** 1.5, np.arange(20) % 4
    plain = kmeans_plusplus(X, 4, sample_weight=w, random_state=0)
    for other in (w.tolist(), pd.Series(w), pl.Series(w), pa.array(w), pa.chunked_array([w])):
        found = kmeans_plusplus(X, 4, sample_weight=other, random_state=0)
        assert found.indices.tolist() == plain.indices.tolist()


def test_draws_of_a_row_do_not_depend_on_the_split():
    stream = Stream.from_random_state(11)
    whole = stream.exponentials(Purpose.CLOCK, 4, 0, 1000)
    for cut in (1, 2, 3, 4, 5, 129, 998):
        parts = [
            stream.exponentials(Purpose.CLOCK, 4, 0, cut),
            stream.exponentials(Purpose.CLOCK, 4, cut, 1000),
        ]
        np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_trials_of_a_row_do_not_depend_on_the_split():
    stream, shares = Stream.from_random_state(11), np.random.default_rng(0).random(1000) ** 4
    whole = stream.trials(3, 0, 1000, np.ones(4), lambda rows: shares[rows])
    for cut in (1, 3, 4, 15, 16, 17, 129, 998):
        parts = [stream.trials(3, 0, cut, np.ones(4), lambda rows: shares[rows])]
        most = maxima_of(shares[cut:])
        parts.append(stream.trials(3, cut, 1000, most, lambda rows: shares[rows]))
        np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert (
        whole.tolist() != stream.trials(4, 0, 1000, np.ones(4), lambda rows: shares[rows]).tolist()
    )


@pytest.mark.parametrize("share", [0.0, 3e-6, 0.3, 1.0 - 2.0**-18, 1.0, 7.0, np.inf])
def test_trials_succeed_as_often_as_they_should(share):
    """Shares far below and just below what 16 bits tell apart are met, too."""
    n, count = 1_000_000, 0
    most = maxima_of(np.full(n, share))
    for seed in range(4):
        stream = Stream.from_random_state(seed)
        count += len(stream.trials(0, 0, n, most, lambda rows: np.full(len(rows), share)))
    expected = 4.0 * n * min(share, 1.0)
    assert abs(count - expected) <= 5.0 * np.sqrt(expected * max(0.0, 1.0 - min(share, 1.0)))


def test_ties_of_trials_are_broken_by_further_bits(monkeypatch):
    """With all first bits zero, a share of 0.3 of the smallest step succeeds 0.3 of the time."""
    stream = Stream.from_random_state(5)
    monkeypatch.setattr(Stream, "_random_bits", lambda _, __, lo, hi: np.zeros(hi - lo, np.uint16))
    share = 0.3 / 65_536
    found = stream.trials(0, 0, 2000, np.full(8, share), lambda rows: np.full(len(rows), share))
    assert abs(len(found) - 600) < 5 * np.sqrt(2000 * 0.3 * 0.7)


def test_streams_differ_by_seed_purpose_and_round():
    streams = [Stream.from_random_state(seed) for seed in (1, 2)]
    drawn = [
        tuple(stream.uniforms(purpose, round_, 0, 4))
        for stream in streams
        for purpose in (Purpose.CLOCK, Purpose.CANDIDATE)
        for round_ in (0, 1)
    ]
    assert len(set(drawn)) == len(drawn)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_random_states(function):
    X = np.random.default_rng(1).normal(size=(90, 5))

    def run(state):
        return function(X, 9, random_state=state).indices.tolist()

    assert run(7) == run(np.int64(7)) == run(np.random.SeedSequence(7))
    assert run(np.random.default_rng(7)) == run(np.random.default_rng(7))
    assert run(np.random.RandomState(7)) == run(np.random.RandomState(7))
    generator = np.random.default_rng(7)
    assert run(generator) != run(generator), "a generator must move on"
    assert run(None) != run(None)


GOLDEN = {
    kmeans_plusplus: [305, 522, 178, 642, 118, 93, 824, 265],
    kmeans_parallel: [127, 745, 364, 603, 882, 88, 555, 644],
}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_golden_indices(function, algorithm):
    """Same state, same seeds, from one version to the next."""
    X = (np.arange(3000) * 7919 % 1009).reshape(1000, 3).astype(np.float64)
    found = function(X, 8, random_state=0, algorithm=algorithm)
    assert found.indices.tolist() == GOLDEN[function]
