"""The laws, enumerated: every outcome of a tiny input with its probability.

Written from the definitions, in plain Python, sharing nothing with the package.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import compress, product
from math import log, prod

import numpy as np
from scipy import stats

from tests.harness import oracle

Law = dict[tuple[int, ...], float]
Distance = Callable[[Sequence[float], Sequence[float]], float]

REJECT = 1e-5
"""The p-value below which draws are not from the law."""


def _distance_by(metric: str) -> Distance:
    @cache
    def distance(a: tuple[float, ...], b: tuple[float, ...]) -> float:
        return float(oracle.distances(np.array([a]), np.array([b]), metric)[0, 0])

    return lambda a, b: distance(tuple(a), tuple(b))


DISTANCES = {metric: _distance_by(metric) for metric in oracle.FORMULAS}
euclidean = DISTANCES["euclidean"]


def masses(
    points: Sequence, weights: Sequence[float], centers: Sequence, distance: Distance
) -> list[float]:
    """Return w·α² of every row, α being the distance to its nearest centre; w without centres."""
    nearest = [min((distance(p, c) for c in centers), default=1.0) for p in points]
    mass = [w * alpha**2 for w, alpha in zip(weights, nearest, strict=True)]
    return [0.0 if m < 1e-20 else m for m in mass]  # a rounded zero


def first_drawn(drawn: Sequence[int], gains: Sequence[float]) -> int:
    """Return the candidate that wins a step of greedy k-means++: of equal ones the first drawn."""
    best = max(gains[i] for i in drawn)
    return next(i for i in drawn if gains[i] >= best * (1.0 - 2e-6))


def plusplus_law(
    points: Sequence,
    weights: Sequence[float],
    k: int,
    distance: Distance = euclidean,
    initial_centers: Sequence = (),
) -> Law:
    """Return the probability of every sequence of k seeds of k-means++."""
    law: Law = {(): 1.0}
    for _ in range(k):
        longer: Law = {}
        for seeds, probability in law.items():
            centers = [*initial_centers, *(points[s] for s in seeds)]
            mass = masses(points, weights, centers, distance)
            if sum(mass) == 0.0:  # the distinct points ran out: rows by weight, none twice
                mass = [0.0 if i in seeds else w for i, w in enumerate(weights)]
            for i, m in enumerate(mass):
                if m > 0.0:
                    longer[(*seeds, i)] = probability * m / sum(mass)
        law = longer
    return law


def greedy_law(
    points: Sequence,
    weights: Sequence[float],
    k: int,
    distance: Distance = euclidean,
    initial_centers: Sequence = (),
    n_local_trials: int | None = None,
    first_of: Callable[[Sequence[int], Sequence[float]], int] = first_drawn,
) -> Law:
    """Return the probability of every sequence of k seeds of greedy k-means++."""
    trials = n_local_trials or 2 + int(log(k))
    law: Law = {(): 1.0}
    for _ in range(k):
        longer: Law = defaultdict(float)
        for seeds, probability in law.items():
            centers = [*initial_centers, *(points[s] for s in seeds)]
            mass = masses(points, weights, centers, distance)
            draws = trials if centers else 1  # the first seed is drawn by weight
            if sum(mass) == 0.0:  # the distinct points ran out: rows by weight, none twice
                mass, draws = [0.0 if i in seeds else w for i, w in enumerate(weights)], 1
            left = [sum(masses(points, weights, [*centers, p], distance)) for p in points]
            gains = [sum(mass) - potential for potential in left]
            chance = [m / sum(mass) for m in mass]
            for drawn in product([i for i, m in enumerate(mass) if m > 0.0], repeat=draws):
                p = prod(chance[i] for i in drawn)
                seed = drawn[0] if draws == 1 else first_of(drawn, gains)
                longer[(*seeds, seed)] += probability * p
        law = longer
    return law


def parallel_law(
    points: Sequence,
    weights: Sequence[float],
    k: int,
    distance: Distance = euclidean,
    oversampling: float = 2.0,
    rounds: int = 5,
    reduction: str = "k-means++",
) -> Law:
    """Return the probability of every sequence of k seeds of k-means||."""
    rows = range(len(points))
    # The first candidate is drawn by weight; then each round takes or leaves every row by itself.
    candidates: Law = {(i,): weights[i] / sum(weights) for i in rows if weights[i] > 0.0}
    for _ in range(rounds):
        more: Law = defaultdict(float)
        for taken, probability in candidates.items():
            mass = masses(points, weights, [points[c] for c in taken], distance)
            total = sum(mass) or 1.0
            chance = [min(1.0, oversampling * k * m / total) for m in mass]
            for takes in product((False, True), repeat=len(points)):
                p = prod(c if take else 1.0 - c for c, take in zip(chance, takes, strict=True))
                if p > 0.0:
                    more[(*taken, *compress(rows, takes))] += probability * p
        candidates = more
    # Weighted by the rows nearest to them, the candidates are reduced to k seeds by greedy
    # k-means++; with one trial it is k-means++.
    trials = {"k-means++": 1, "greedy": 2 + int(log(k))}[reduction]
    law: Law = defaultdict(float)
    for taken, probability in candidates.items():
        places = [points[c] for c in taken]
        members = [0.0] * len(taken)
        for i in rows:
            apart = [distance(points[i], place) for place in places]
            members[taken.index(i) if i in taken else apart.index(min(apart))] += weights[i]
        distinct = len({tuple(place) for place in places})
        reduced = greedy_law(places, members, min(k, distinct), distance, n_local_trials=trials)
        for picks, p in reduced.items():
            seeds = tuple(taken[pick] for pick in picks)
            # Too few distinct candidates: all rows are drawn from, around the seeds so far.
            around = [points[s] for s in seeds]
            rest = greedy_law(points, weights, k - len(seeds), distance, around, trials)
            for others, q in rest.items():
                law[seeds + others] += probability * p * q
    return dict(law)


def chi_square_p(law: Law, draws: Iterable[tuple[int, ...]]) -> float:
    """Return the chi-square p-value of the draws under the law; 0 if one was impossible."""
    counts = Counter(draws)
    if set(counts) - set(law):
        return 0.0
    n = sum(counts.values())
    assert abs(sum(law.values()) - 1.0) < 1e-9
    cells = sorted((p * n, counts[outcome]) for outcome, p in law.items())
    expected, observed = [0.0], [0.0]
    for e, o in cells:  # pool the rarest outcomes until a cell is expected five times
        if expected[-1] >= 5.0:
            expected.append(0.0)
            observed.append(0.0)
        expected[-1] += e
        observed[-1] += o
    if expected[-1] < 5.0 and len(expected) > 1:
        expected[-2] += expected.pop()
        observed[-2] += observed.pop()
    if len(expected) == 1:
        return 1.0
    statistic = sum((o - e) ** 2 / e for e, o in zip(expected, observed, strict=True))
    return float(stats.chi2.sf(statistic, len(expected) - 1))
