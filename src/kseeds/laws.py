"""The laws: the distributions that seeds are drawn from, and the algorithms that draw each.

The public functions, the command line, the tests and the harness read this table. A new algorithm
is a file with a `METHOD`, and a line here.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from importlib import import_module

from kseeds.methods.base import Method, Options


@dataclass(frozen=True)
class Law:
    """A distribution of seeds.

    Attributes
    ----------
    name : str
        What the field calls it.
    function : str
        The public function that draws from it.
    modules : dict
        Where the `METHOD` of each algorithm is; "auto" takes the first.
    """

    name: str
    function: str
    modules: dict[str, str]

    @property
    def algorithms(self) -> Collection[str]:
        """The names of the algorithms; all draw from this law."""
        return self.modules.keys()

    def method(self, algorithm: str) -> Method:
        """Import an algorithm."""
        found: Method = import_module(self.modules[self.named(algorithm)]).METHOD
        return found

    def named(self, algorithm: str) -> str:
        """Return the name of an algorithm, that of the default for "auto"."""
        return next(iter(self.modules)) if algorithm == "auto" else algorithm

    def options_of(self, algorithm: str) -> Options:
        """Return the keywords that an algorithm has, with their possible values."""
        return self.method(algorithm).options


PLUSPLUS = Law(
    "k-means++",
    "kmeans_plusplus",
    {
        "lazy": "kseeds.methods.plusplus.lazy",
        "naive": "kseeds.methods.plusplus.naive",
        "paper": "kseeds.methods.plusplus.paper",
        "rounds": "kseeds.distributed.in_memory",
    },
)
GREEDY = Law(
    "greedy k-means++",
    "greedy_kmeans_plusplus",
    {
        "fast": "kseeds.methods.greedy.fast",
        "naive": "kseeds.methods.greedy.naive",
    },
)
PARALLEL = Law(
    "k-means||",
    "kmeans_parallel",
    {
        "fast": "kseeds.methods.parallel.fast",
        "naive": "kseeds.methods.parallel.naive",
        "paper": "kseeds.methods.parallel.paper",
    },
)
RANDOM = Law("random rows", "kmeans", {"by_weight": "kseeds.methods.by_weight"})
"""A start of `kmeans`; has no function of its own."""
LAWS = {law.function: law for law in (PLUSPLUS, GREEDY, PARALLEL)}
