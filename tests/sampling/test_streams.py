"""Random streams: keyed by seed, purpose, round and row; never by how rows are split."""

from __future__ import annotations

import numpy as np
import pytest

from kseeds import kmeans_parallel, kmeans_plusplus
from kseeds.sampling.streams import Purpose, Stream, maxima_of

FUNCTIONS = [kmeans_plusplus, kmeans_parallel]
ALGORITHMS = ["naive", "paper"]


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
    """Shares far below and just below what 16 bits tell apart are kept, too."""
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
def test_equal_random_states_draw_equal_seeds(function):
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
def test_golden_indices_of_naive_and_paper_stay(function, algorithm):
    """Same state, same seeds, from one version to the next."""
    X = (np.arange(3000) * 7919 % 1009).reshape(1000, 3).astype(np.float64)
    found = function(X, 8, random_state=0, algorithm=algorithm)
    assert found.indices.tolist() == GOLDEN[function]


def test_rounds_in_any_order_are_those_of_their_own_generators():
    stream = Stream.from_random_state(3)
    by_round = stream.by_round(Purpose.GREEDY)
    for round_, count in ((0, 5), (7, 1), (7, 9), (0, 5), (2**40, 4), (1, 0)):
        wanted = stream.uniforms(Purpose.GREEDY, round_, 0, count)
        assert by_round(round_, count).tolist() == wanted.tolist()
        for start in range(count):
            assert by_round(round_, count - start, start).tolist() == wanted[start:].tolist()
