"""Every algorithm of every method against the enumerated law, and laws that are a little wrong."""

from __future__ import annotations

import numpy as np
import pytest

from kseeds.distances.metrics import METRICS
from tests.harness.profiles import scaled
from tests.methods.cases import FOUR, HEAVY, LINE, PAIRS, cases, with_twins
from tests.methods.laws import (
    DISTANCES,
    REJECT,
    chi_square_p,
    euclidean,
    first_drawn,
    greedy_law,
    parallel_law,
    plusplus_law,
)

SHORT, LONG = 2_000, 6_000
TWINS = 250


@cases(SHORT, LONG)
def test_every_sequence_of_seeds_has_its_probability(case, draws, seed_offset):
    assert chi_square_p(case.law(), case.draws(draws, seed_offset)) > REJECT


@with_twins()
def test_whoever_has_a_twin_draws_its_seeds(case, seed_offset):
    draws = scaled(TWINS, least=50)
    assert list(case.draws(draws, seed_offset)) == list(case.twin.draws(draws, seed_offset))


def test_the_table_knows_every_metric():
    assert set(DISTANCES) == set(METRICS)


def root(a, b):
    """Distances whose squares are the distances: what a forgotten square would draw by."""
    return euclidean(a, b) ** 0.5


def uniform_start():
    """Return the law of k-means++ whose first seed ignores the weights."""
    law = {}
    for i, point in enumerate(LINE):
        rest = plusplus_law(LINE, HEAVY, 2, initial_centers=[point])
        law |= {(i, *seeds): p / len(LINE) for seeds, p in rest.items()}
    return law


def stale_centres():
    """Return the law of k-means++ whose third seed has not heard of the second."""
    law = {}
    for (i, j), p in plusplus_law(LINE, HEAVY, 2).items():
        third = plusplus_law(LINE, HEAVY, 1, initial_centers=[LINE[i]])
        law |= {(i, j, m): p * q for (m,), q in third.items()}
    return law


def lowest_index(drawn, gains):
    """Return the winner if of equal candidates the first row is kept, not the first drawn."""
    return first_drawn(sorted(drawn), gains)


def by_rounding(drawn, gains):
    """Return the winner if the last bits of gains decide, of which one row always has more."""
    return max(drawn, key=lambda i: gains[i] * (1.0 + 1e-15 * i))


def least_gain(drawn, gains):
    """Return the candidate that lowers the potential least."""
    return min(drawn, key=lambda i: gains[i])


def ties_by(first_of):
    """Return the law of greedy k-means++ on rows with many ties, by another rule for them."""
    return greedy_law(PAIRS, [1] * 5, 3, initial_centers=[[0.0]], first_of=first_of)


PLUSPLUS = plusplus_law(LINE, HEAVY, 3)
GREEDY = greedy_law(LINE, HEAVY, 3)
TIES = ties_by(first_drawn)
PARALLEL = parallel_law(FOUR, [1, 3, 0.5, 2], 2, oversampling=0.6, rounds=2)
WRONG = {
    "distances not squared": (PLUSPLUS, plusplus_law(LINE, HEAVY, 3, root)),
    "first seed ignores weights": (PLUSPLUS, uniform_start()),
    "third seed ignores the second": (PLUSPLUS, stale_centres()),
    "one weight a half too large": (PLUSPLUS, plusplus_law(LINE, [*HEAVY[:4], 3.0, 1.5], 3)),
    "greedy, draws of k-means++": (GREEDY, PLUSPLUS),
    "greedy, one trial too few": (GREEDY, greedy_law(LINE, HEAVY, 3, n_local_trials=2)),
    "greedy, the least gain wins": (GREEDY, greedy_law(LINE, HEAVY, 3, first_of=least_gain)),
    "greedy, the first row of equal ones wins": (TIES, ties_by(lowest_index)),
    "greedy, rounding decides between equal ones": (TIES, ties_by(by_rounding)),
    "parallel, reduced by k-means++ in place of greedily": (
        parallel_law(FOUR, [1, 3, 0.5, 2], 2, oversampling=1.5, rounds=2, reduction="greedy"),
        parallel_law(FOUR, [1, 3, 0.5, 2], 2, oversampling=1.5, rounds=2),
    ),
    "parallel, distances not squared": (
        PARALLEL, parallel_law(FOUR, [1, 3, 0.5, 2], 2, root, oversampling=0.6, rounds=2),
    ),
    "parallel, one weight twice too large": (
        PARALLEL, parallel_law(FOUR, [1, 3, 0.5, 4], 2, oversampling=0.6, rounds=2),
    ),
}  # fmt: skip
"""The law and what a mistake would draw by. Of 200 runs of SHORT draws, 199 or all refuse each."""


def draws_from(law, how_many, seed):
    sequences = list(law)
    p = np.array(list(law.values()))
    picks = np.random.default_rng(seed).choice(len(sequences), how_many, p=p / p.sum())
    return [sequences[pick] for pick in picks]


@pytest.mark.parametrize("name", WRONG)
def test_so_many_draws_tell_the_law_from_a_wrong_one(name):
    law, wrong = WRONG[name]
    assert chi_square_p(law, draws_from(law, SHORT, seed=0)) > REJECT
    assert chi_square_p(law, draws_from(wrong, SHORT, seed=0)) < REJECT
