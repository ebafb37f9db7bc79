"""The laws, enumerated: every outcome of a tiny input with its probability.

Written from the definitions, in plain Python, sharing nothing with the package.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import product

import numpy as np
from scipy import stats

Law = dict[tuple[int, ...], float]
Distance = Callable[[Sequence[float], Sequence[float]], float]


def euclidean(a: Sequence[float], b: Sequence[float]) -> float:
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) ** 0.5


def manhattan(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(abs(x - y) for x, y in zip(a, b, strict=True))


def chebyshev(a: Sequence[float], b: Sequence[float]) -> float:
    return max(abs(x - y) for x, y in zip(a, b, strict=True))


def angular(a: Sequence[float], b: Sequence[float]) -> float:
    u, v = np.array(a, dtype=float), np.array(b, dtype=float)
    cosine = u @ v / np.sqrt((u @ u) * (v @ v))
    return float(np.arccos(np.clip(cosine, -1.0, 1.0)))


def haversine(a: Sequence[float], b: Sequence[float]) -> float:
    dlat, dlon = a[0] - b[0], a[1] - b[1]
    h = np.sin(dlat / 2) ** 2 + np.cos(a[0]) * np.cos(b[0]) * np.sin(dlon / 2) ** 2
    return float(2 * np.arcsin(np.sqrt(h)))


DISTANCES: dict[str, Distance] = {
    "euclidean": euclidean,
    "manhattan": manhattan,
    "chebyshev": chebyshev,
    "angular": angular,
    "haversine": haversine,
}


def squared_gap(point: Sequence[float], centers: list, distance: Distance) -> float:
    """α²: the squared distance to the nearest centre; 1 where there is no centre yet."""
    return min((distance(point, c) for c in centers), default=1.0) ** 2


def plusplus_law(
    points: Sequence,
    weights: Sequence[float],
    k: int,
    distance: Distance = euclidean,
    initial: Sequence = (),
) -> Law:
    """Return the probability of every sequence of k seeds."""
    law: Law = defaultdict(float)

    def extend(seeds: tuple[int, ...], probability: float) -> None:
        if len(seeds) == k:
            law[seeds] += probability
            return
        centers = [*initial, *(points[s] for s in seeds)]
        mass = [w * squared_gap(p, centers, distance) for p, w in zip(points, weights, strict=True)]
        mass = [0.0 if m < 1e-20 else m for m in mass]
        if sum(mass) == 0.0:  # the distinct points ran out: rows by weight, none twice
            mass = [0.0 if i in seeds else w for i, w in enumerate(weights)]
        for i, m in enumerate(mass):
            if m > 0.0:
                extend((*seeds, i), probability * m / sum(mass))

    extend((), 1.0)
    return dict(law)


def parallel_law(
    points: Sequence, weights: Sequence[float], k: int, oversampling: float, rounds: int
) -> Law:
    """Return the probability of every sequence of k seeds drawn by k-means||."""
    n = len(points)
    law: Law = defaultdict(float)

    def reduce(candidates: tuple[int, ...], probability: float) -> None:
        members = [0.0] * len(candidates)
        for i in range(n):
            gaps = [euclidean(points[i], points[c]) for c in candidates]
            own = candidates.index(i) if i in candidates else gaps.index(min(gaps))
            members[own] += weights[i]
        places = [points[c] for c in candidates]
        distinct = len({tuple(p) for p in places})
        inner = plusplus_law(places, members, min(k, distinct))
        for picks, p in inner.items():
            chosen = tuple(candidates[pick] for pick in picks)
            if len(chosen) == k:
                law[chosen] += probability * p
                continue
            rest = plusplus_law(
                points, weights, k - len(chosen), initial=[points[c] for c in chosen]
            )
            for more, q in rest.items():
                law[chosen + more] += probability * p * q

    def play(candidates: tuple[int, ...], round_: int, probability: float) -> None:
        if round_ == rounds:
            reduce(candidates, probability)
            return
        mass = [
            w * squared_gap(p, [points[c] for c in candidates], euclidean)
            for p, w in zip(points, weights, strict=True)
        ]
        total = sum(mass)
        chance = [min(1.0, oversampling * k * m / total) if total else 0.0 for m in mass]
        for trial in product((False, True), repeat=n):
            p = float(np.prod([c if t else 1 - c for c, t in zip(chance, trial, strict=True)]))
            if p > 0.0:
                drawn = tuple(i for i in range(n) if trial[i])
                play(candidates + drawn, round_ + 1, probability * p)

    for first in range(n):
        if weights[first] > 0:
            play((first,), 0, weights[first] / sum(weights))
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
