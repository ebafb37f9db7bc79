"""k-means|| round by round: inclusions of rows, independence, and the number of candidates."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest
from scipy import stats

from kseeds import kmeans_parallel
from kseeds.inputs.problem import prepare_problem
from kseeds.methods.parallel.schedule import Schedule, sample_candidates
from kseeds.nearest.state import Nearest
from kseeds.runtime.threads import Workers
from tests.methods.laws import REJECT


def _problem(X, k, weights, seed):
    problem, _, _ = prepare_problem(
        X, k, sample_weight=weights, metric="euclidean", initial_centers=None,
        random_state=seed, n_threads=1, progress=False,
    )  # fmt: skip
    return problem


def test_every_row_is_included_with_its_probability(seed_offset):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 2))
    X[5] *= 50.0  # far enough to be included with certainty
    weights = rng.integers(0, 3, size=40).astype(float)
    weights[5] = 2.0
    problem = _problem(X, 4, weights, 0)
    squared = ((X - X[0]) ** 2).sum(axis=1)
    nearest = Nearest(squared, np.zeros(40, dtype=np.int32), 1)
    chance = np.minimum(1.0, 8.0 * weights * squared / (weights * squared).sum())
    assert chance[5] == 1.0
    trials, counts = 4_000, np.zeros(40)
    for t in range(trials):
        problem = _problem(X, 4, weights, seed_offset + t)
        counts[sample_candidates(problem, nearest, Schedule(2.0, 1), t % 7, Workers(1))] += 1
    certain = (chance == 0.0) | (chance == 1.0)
    assert (counts[certain] == trials * chance[certain]).all()
    p_values = [
        stats.binomtest(int(c), trials, q).pvalue
        for c, q in zip(counts[~certain], chance[~certain], strict=True)
    ]
    assert min(p_values) > REJECT / len(p_values)


@pytest.mark.parametrize("algorithm", ["naive", "paper", "fast"])
def test_a_round_draws_as_many_candidates_as_expected(algorithm):
    """Every round draws ℓ in expectation while no row is certain (erratum 5 gave 1.9ℓ)."""
    X = np.random.default_rng(0).normal(size=(5_000, 3))
    found = [
        kmeans_parallel(X, 20, rounds=5, random_state=t, algorithm=algorithm).work.candidates
        for t in range(20)
    ]
    # 1 + 5 rounds of 40, each a sum of independent trials: standard deviation below √200.
    assert abs(np.mean(found) - 201) < 5 * np.sqrt(200 / 20)


def test_rounds_do_not_share_randomness():
    """The trials of one row in two rounds are independent."""
    problem = _problem(np.arange(6.0)[:, None], 1, None, 0)
    nearest = Nearest(np.ones(6), np.zeros(6, dtype=np.int32), 1)
    schedule = Schedule(3.0, 2)  # a probability of one half for every row
    table = np.zeros((2, 2))
    for t in range(1_500):
        problem = _problem(np.arange(6.0)[:, None], 1, None, t)
        in_round = [
            set(sample_candidates(problem, nearest, schedule, r, Workers(1))) for r in (0, 1)
        ]
        for row in range(6):
            table[int(row in in_round[0]), int(row in in_round[1])] += 1
    assert stats.chi2_contingency(table).pvalue > REJECT


def test_oversampling_beyond_all_rows_takes_them_all():
    X = np.random.default_rng(0).normal(size=(20, 3))
    done = []

    def run():
        for algorithm in ("fast", "naive", "paper"):
            for weights in (None, np.arange(20.0)):
                for amount in (1e30, 1e308):
                    done.append(
                        kmeans_parallel(
                            X, 5, oversampling=amount, rounds=2, algorithm=algorithm,
                            sample_weight=weights, random_state=0,
                        )
                    )  # fmt: skip

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        thread = threading.Thread(target=run)
        thread.start()
        thread.join(120)
    assert not thread.is_alive()
    assert len(done) == 12
    assert [found.work.candidates for found in done] == [20, 20, 19, 19] * 3
