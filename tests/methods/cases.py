"""What is held to its law: method, algorithm and options, input, metric and dtype. One table.

A method is a public function and the enumeration of its law. Algorithms are read from the code,
so that a new one is held to the law from the day it is registered.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from kseeds import (
    FewerDistinctPointsWarning,
    Seeding,
    greedy_kmeans_plusplus,
    kmeans_parallel,
    kmeans_plusplus,
)
from kseeds import laws as table
from kseeds.distances.metrics import METRICS
from kseeds.methods.greedy import fast as greedy
from tests.harness import profiles
from tests.harness.catalogue import STRATEGIES, STRATEGY_OPTION
from tests.harness.profiles import scaled
from tests.methods.laws import DISTANCES, Law, greedy_law, parallel_law, plusplus_law


@dataclass(frozen=True)
class Input:
    """Rows, weights, a number of seeds, and whatever else a law depends on."""

    points: list[list[float]]
    weights: list[float]
    k: int
    others: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Method:
    """A public function, its law, its algorithms, and the inputs they are tried on."""

    function: Callable[..., Seeding]
    law: Callable[..., Law]
    algorithms: tuple[str, ...]
    options: dict[str, tuple[dict[str, Any], ...]]
    """Of an algorithm: options that draw by other code than the defaults do."""
    inputs: dict[str, Input]
    telling: str
    """The input on which every set of options is tried even in the short profile."""
    any_metric: Input
    """Rows that every metric accepts."""

    @property
    def first(self) -> tuple[str, ...]:
        """The default and the definition: tried on every input even in the short profile."""
        return (self.algorithms[0], "naive")


def squared_hop(a: Any, b: Any) -> float:
    """No metric: breaks the triangle inequality."""
    return float(abs(a[0] - b[0]) ** 1.5)


LINE = [[0.0], [1.0], [2.5], [7.0], [7.5], [12.0]]
FOUR = [[0.0], [1.0], [3.0], [7.5]]
PAIRS = [[0.0], [10.0], [11.0], [20.0], [21.0]]
"""Two pairs whose points, once the first row is a seed, help each other and nobody else."""
STAR = [[10, 0], [8, 3], [0, 10], [0, 7], [-10, 0], [0, -10]]
"""Around its middle, a seed lowers its neighbour but little of the sum: proposals from masses of
before, which are accepted or not."""
GLOBE = [[0.1, 0.3], [0.5, -0.4], [-1.0, 0.2], [0.9, 1.1], [-0.3, -0.8]]
HEAVY = [1.0, 0.25, 3.0, 0.5, 2.0, 1.5]

METHODS = {
    "kmeans_plusplus": Method(
        kmeans_plusplus,
        plusplus_law,
        tuple(table.PLUSPLUS.algorithms),
        {
            "paper": ({"queue": False},),
            "lazy": (
                {"kernels": "plain"},
                {"kernels": "compiled"},
                {"refresh": "never", "batch": 1},
                {"refresh": "partial", "batch": 1},
                {"kernels": "plain", "refresh": "partial", "batch": 8},
                {"kernels": "compiled", "refresh": "full", "batch": 1},
            ),
        },
        {
            "line": Input(LINE, [1, 1, 1, 1, 1, 1], 3),
            "weights": Input(LINE, HEAVY, 3),
            "zero weights": Input(LINE, [1, 0, 2, 0, 1, 3], 3),
            "duplicates": Input([[0.0], [0.0], [3.0], [3.0], [3.0], [10.0]], [1, 2, 1, 1, 0, 2], 3),
            "fewer distinct than k": Input(
                [[0.0], [0.0], [4.0], [4.0], [4.0]], [1, 2, 1, 3, 1], 3
            ),
            "plane": Input([[0, 0], [1, 0], [0, 2], [5, 5], [6, 5], [-3, 4]], [1] * 6, 3),
            "around centres": Input(LINE, HEAVY, 2, {"initial_centers": [[6.0], [-1.0]]}),
        },
        "duplicates",
        Input(GLOBE, [1.0, 2.0, 0.5, 1.0, 0.0], 3),
    ),
    "greedy_kmeans_plusplus": Method(
        greedy_kmeans_plusplus,
        greedy_law,
        tuple(table.GREEDY.algorithms),
        {"fast": tuple({"strategy": one} for one in greedy.STRATEGIES)},
        {
            "line": Input(LINE, [1, 1, 1, 1, 1, 1], 3),
            "weights": Input(LINE, HEAVY, 3),
            "zero weights": Input(LINE, [1, 0, 2, 0, 1, 3], 3),
            "duplicates": Input([[0.0], [0.0], [3.0], [3.0], [3.0], [10.0]], [1, 2, 1, 1, 0, 2], 3),
            "fewer distinct than k": Input(
                [[0.0], [0.0], [4.0], [4.0], [4.0]], [1, 2, 1, 3, 1], 3
            ),
            "plane": Input([[0, 0], [1, 0], [0, 2], [5, 5], [6, 5], [-3, 4]], [1] * 6, 3),
            "ties": Input(PAIRS, [1, 1, 1, 1, 1], 3, {"initial_centers": [[0.0]]}),
            "around centres": Input(LINE, HEAVY, 2, {"initial_centers": [[6.0], [-1.0]]}),
            "one trial": Input(LINE, HEAVY, 3, {"n_local_trials": 1}),
            "five trials": Input(FOUR, [1, 2, 1, 3], 3, {"n_local_trials": 5}),
            "old masses": Input(
                STAR, [1, 2, 1, 1, 1, 1], 3, {"initial_centers": [[0, 0]], "n_local_trials": 1}
            ),
        },
        "ties",
        Input(GLOBE, [1.0, 2.0, 0.5, 1.0, 0.0], 3),
    ),
    "kmeans_parallel": Method(
        kmeans_parallel,
        parallel_law,
        tuple(table.PARALLEL.algorithms),
        {
            "paper": ({"in_range": False},),
            "fast": tuple({"strategy": strategy} for strategy in STRATEGIES),
        },
        {
            "line": Input(FOUR, [1, 1, 1, 1], 2, {"oversampling": 0.5, "rounds": 2}),
            "weights": Input(FOUR, [1, 3, 0, 2], 2, {"oversampling": 0.6, "rounds": 2}),
            "too few candidates": Input(
                FOUR, [1, 1, 2, 1], 3, {"oversampling": 0.2, "rounds": 1}
            ),
            "a third": Input(
                [[0.0, 3.0], [3.0, 3.0], [3.0, 3.0], [3.0, 3.0]], [1, 1, 1, 1], 2,
                {"oversampling": 2.0, "rounds": 2},
            ),
            "duplicates": Input(
                [[0.0], [0.0], [3.0], [8.0]], [1, 1, 1, 2], 2, {"oversampling": 0.5, "rounds": 2}
            ),
            "greedy reduction": Input(
                FOUR, [1, 3, 1, 2], 2,
                {"oversampling": 0.8, "rounds": 2, "reduction": "greedy"},
            ),
            "greedy reduction of too few": Input(
                FOUR, [1, 1, 2, 1], 2,
                {"oversampling": 0.2, "rounds": 1, "reduction": "greedy"},
            ),
        },
        "duplicates",  # which of several equal rows is taken is where strategies could differ
        Input(GLOBE[:4], [1.0, 2.0, 0.5, 1.0], 2, {"oversampling": 0.6, "rounds": 2}),
    ),
}  # fmt: skip


_LIKE_NAIVE = {
    ("kmeans_plusplus", "paper"), ("greedy_kmeans_plusplus", "fast"), ("kmeans_parallel", "paper"),
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One algorithm with its options on one input; knows its law and can draw from it."""

    method: str
    algorithm: str
    options: dict[str, Any]
    name: str
    input: Input
    metric: Any = "euclidean"
    dtype: type = np.float64
    is_sparse: bool = False

    def __str__(self) -> str:
        metric = getattr(self.metric, "__name__", self.metric)
        options = [f"{name}={value}" for name, value in self.options.items()]
        form = ["sparse"] if self.is_sparse else []
        return ",".join([self.algorithm, *options, self.name, metric, self.dtype.__name__, *form])

    @property
    def twin(self) -> Case | None:
        """What draws the same seeds from the same random numbers, by its definition.

        Sparse rows of whole numbers, whose distances are exact, draw those of dense ones.
        """
        if self.is_sparse and self.metric == "euclidean":
            is_whole = all(value % 1 == 0 for point in self.input.points for value in point)
            return replace(self, is_sparse=False) if is_whole else None
        if (self.method, self.algorithm) in _LIKE_NAIVE:
            return replace(self, algorithm="naive", options={})
        if STRATEGY_OPTION in self.options:
            return replace(self, options={})
        return None

    def law(self) -> Law:
        """Enumerate the law of the input."""
        rows = self.input
        distance = self.metric if callable(self.metric) else DISTANCES[self.metric]
        law = METHODS[self.method].law
        return law(rows.points, rows.weights, rows.k, distance, **rows.others)

    def draws(self, how_many: int, seed: int) -> Iterator[tuple[int, ...]]:
        """Draw so many sequences of seeds from the package."""
        rows, function = self.input, METHODS[self.method].function
        X, weights = np.array(rows.points, dtype=self.dtype), np.array(rows.weights, dtype=float)
        if self.is_sparse:
            X = sparse.csr_array(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewerDistinctPointsWarning)
            for t in range(how_many):
                found = function(
                    X, rows.k, sample_weight=weights, metric=self.metric, random_state=seed + t,
                    n_threads=1, algorithm=self.algorithm, **self.options, **rows.others,
                )  # fmt: skip
                yield tuple(found.indices.tolist())


def _on_inputs() -> Iterator[tuple[Case, bool]]:
    """Yield every set of options on every input, and whether it is in the short profile."""
    for name, method in METHODS.items():
        for algorithm in method.algorithms:
            for options in ({}, *method.options.get(algorithm, ())):
                for told, rows in method.inputs.items():
                    short = told == method.telling or (algorithm in method.first and not options)
                    yield Case(name, algorithm, options, told, rows), short


def _by_metrics() -> Iterator[tuple[Case, bool]]:
    """Yield every algorithm by every metric in both precisions, and by what is no metric.

    The short profile takes each tier in one precision: that they agree to the last bit in both is
    tested in ``tests/nearest/test_tied_data.py``.
    """
    tiers = {"lazy": ({"kernels": "plain"}, {"kernels": "compiled"})}
    for name, method in METHODS.items():
        rows = method.any_metric
        for algorithm in method.algorithms:
            short = algorithm == "lazy" or name == "greedy_kmeans_plusplus"
            for options in tiers.get(algorithm, ({},)):
                precision = np.float64 if options == {"kernels": "plain"} else np.float32
                for metric in DISTANCES:
                    for dtype in (np.float32, np.float64):
                        often = short and dtype is precision
                        yield Case(name, algorithm, options, "globe", rows, metric, dtype), often
                if algorithm != "paper" and options != {"kernels": "compiled"}:
                    yield Case(name, algorithm, options, "globe", rows, squared_hop), short


def _on_sparse_rows() -> Iterator[tuple[Case, bool]]:
    """Yield whatever takes sparse rows on every input, and by every metric that they have."""
    options_of = {
        "lazy": ({"kernels": "plain"}, {"kernels": "compiled"}, {"refresh": "partial", "batch": 1}),
        "fast": ({}, {"strategy": "plain"}, {"strategy": "tree"}),
    }
    for name, law in zip(METHODS, (table.PLUSPLUS, table.GREEDY, table.PARALLEL), strict=True):
        method = METHODS[name]
        for algorithm in method.algorithms:
            if not law.method(algorithm).takes_sparse:
                continue
            for options in options_of.get(algorithm, ({},)):
                often = options in ({}, {"kernels": "compiled"}, {"strategy": "tree"})
                for told, rows in method.inputs.items():
                    short = often and told == method.telling
                    yield Case(name, algorithm, options, told, rows, is_sparse=True), short
                for metric in DISTANCES:
                    if METRICS[metric].sparse:
                        yield (
                            Case(
                                name, algorithm, options, "globe", method.any_metric, metric,
                                np.float32, is_sparse=True,
                            ),
                            options == {"kernels": "compiled"} and metric != "euclidean",
                        )  # fmt: skip


def _all() -> list[tuple[Case, bool]]:
    return [*_on_inputs(), *_by_metrics(), *_on_sparse_rows()]


def cases(short_draws: int, long_draws: int) -> Any:
    """Run a test with a ``case`` and its number of ``draws``: the long profile tries them all.

    The short one leaves out those that have a twin; see `with_twins`. A part of the long one has
    few draws for cases that the short one tries with many more. Options, which share most of their
    code with the default, get half the draws in the short one.
    """
    params = []
    for case, often in _all():
        short = often and case.twin is None
        few = scaled(short_draws // 2 if case.options else short_draws)
        many = few if short and profiles.SCALE < 1.0 else scaled(long_draws, least=few)
        label = f"{case.method}-{case}"
        if short:
            params.append(pytest.param(case, few, id=f"{label}-short"))
        params.append(pytest.param(case, many, id=f"{label}-long", marks=pytest.mark.long))
    return pytest.mark.parametrize(("case", "draws"), params)


def with_twins() -> Any:
    """Run a test with every ``case`` of the short profile that has a twin.

    That a few hundred draws are the same to the last index tells more than many thousands of which
    only the frequencies are compared, once the twin is known to follow the law.
    """
    often = {str((case.method, case)): case for case, often in _all() if often}
    found = [case for case in often.values() if case.twin is not None]
    for case in found:  # whose law is enumerated
        twin = often[str((case.method, case.twin))]
        assert twin.twin is None or str((twin.method, twin.twin)) in often
    return pytest.mark.parametrize("case", found, ids=lambda case: f"{case.method}-{case}")
