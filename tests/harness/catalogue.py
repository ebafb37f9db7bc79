"""Every way of calling the seeding functions, read from the code.

Nothing here names an algorithm that the code does not offer, and whatever it offers is found.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import kseeds
from kseeds import Seeding
from kseeds.laws import LAWS

FUNCTIONS: dict[str, Callable[..., Seeding]] = {name: getattr(kseeds, name) for name in LAWS}
ALGORITHMS = {function: law.algorithms for function, law in LAWS.items()}


@dataclass(frozen=True)
class Variant:
    """One way of calling one function."""

    function: str
    algorithm: str
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, *args: Any, **keywords: Any) -> Seeding:
        chosen = {"algorithm": self.algorithm, **self.options, **keywords}
        return FUNCTIONS[self.function](*args, **chosen)

    def __str__(self) -> str:
        options = "".join(f",{name}={value}" for name, value in self.options.items())
        return f"{self.function}({self.algorithm}{options})"

    def takes(self, metric: Any) -> bool:
        """Tell whether the algorithm can do without the triangle inequality, if need be."""
        return not (callable(metric) and self.algorithm == "paper")


def options_of(function: str, algorithm: str) -> dict[str, tuple[Any, ...]]:
    """Return the options of an algorithm with their possible values."""
    return LAWS[function].options_of(algorithm)


def one_by_one() -> list[Variant]:
    """Return every algorithm with every value of every option, one option at a time.

    The biased keys that the paper prints are left out: they have no law to be held to.
    """
    found = []
    for function, algorithms in ALGORITHMS.items():
        found.append(Variant(function, "auto"))
        for algorithm in algorithms:
            found.append(Variant(function, algorithm))
            found += [
                Variant(function, algorithm, {name: value})
                for name, values in options_of(function, algorithm).items()
                for value in values
                if value != "printed"
            ]
    return found


def combinations(function: str, algorithm: str, **fixed: Any) -> list[Variant]:
    """Return an algorithm with all combinations of its options; ``fixed`` ones stay."""
    options = {
        name: tuple(value for value in values if value != "printed")
        for name, values in options_of(function, algorithm).items()
        if name not in fixed
    }
    return [
        Variant(function, algorithm, {**fixed, **dict(zip(options, values, strict=True))})
        for values in itertools.product(*options.values())
    ]


VARIANTS = one_by_one()
STRATEGY_OPTION = next(iter(options_of("kmeans_parallel", "fast")))
"""What the choice of strategy is called."""
STRATEGIES = options_of("kmeans_parallel", "fast")[STRATEGY_OPTION]
