"""Checks of keywords: options of single algorithms, and hints for unknown names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from kseeds.errors import shown
from kseeds.inputs.arguments import check_choice

_P = ParamSpec("_P")
_T = TypeVar("_T")

_COMMON = (
    "sample_weight", "metric", "initial_centers", "random_state", "algorithm", "n_threads",
    "progress",
)  # fmt: skip
KEYWORDS: dict[str, Collection[str]] = {
    "kmeans_plusplus": _COMMON,
    "greedy_kmeans_plusplus": ("n_local_trials", *_COMMON),
    "kmeans_parallel": ("oversampling", "rounds", "reduction", *_COMMON),
}
"""The keywords of the public functions; `with_hints` adds those of the functions it decorates."""

_ALIASES = {
    "n_jobs": "n_threads",
    "threads": "n_threads",
    "num_threads": "n_threads",
    "n_workers": "n_threads",
    "sample_weights": "sample_weight",
    "weights": "sample_weight",
    "weight": "sample_weight",
    "seed": "random_state",
    "rng": "random_state",
    "generator": "random_state",
    "init": "initial_centers",
    "centers": "initial_centers",
    "oversampling_factor": "oversampling",
    "n_trials": "n_local_trials",
    "trials": "n_local_trials",
    "distance": "metric",
    "method": "algorithm",
    "verbose": "progress",
    "k": "n_clusters",
    "n_centers": "n_clusters",
    "x": "frame",
    "data": "frame",
    "df": "frame",
}
"""Names that other libraries, or kseeds functions for other data, use for a keyword."""

_IN_MEMORY_ONLY = {
    "n_threads": "leave it out, Dask and Spark set the number of threads.",
    "algorithm": "leave it out, there is one algorithm for data in partitions.",
}
"""Keywords that the functions of kseeds.dask and kseeds.spark do not have, and why."""


def check_options(
    function: str,
    algorithm: str,
    options: Mapping[str, Any],
    algorithms: Collection[str],
    options_of: Callable[[str], Mapping[str, Collection[Any]]],
) -> None:
    """Check the keywords of a public function that are options of single algorithms.

    Parameters
    ----------
    function : str
        Its name.
    algorithm : str
        The algorithm asked for, or "auto".
    options : mapping
        The keywords, with their values.
    algorithms : collection of str
        All algorithms of the function.
    options_of : callable
        Returns the options of an algorithm; called only if there is a keyword to check.
    """
    for name, value in options.items():
        owners = [one for one in algorithms if name in options_of(one)]
        if not owners:
            known = [word for one in algorithms for word in options_of(one)]
            raise _unknown(function, name, known)
        if algorithm not in owners:
            reason = _not_its_option(algorithm, owners, options_of)
            raise TypeError(f"{name}={shown(value)} {reason}.")
        check_choice(name, value, options_of(algorithm)[name])


def _not_its_option(
    algorithm: str,
    owners: Collection[str],
    options_of: Callable[[str], Mapping[str, Collection[Any]]],
) -> str:
    """Return the end of the message for an option that only the ``owners`` have."""
    holders = " and ".join(f"algorithm={owner!r}" for owner in owners)
    if algorithm == "auto":
        return f"is an option of {holders} only; pass that, too"
    offer = ", ".join(options_of(algorithm)) or "none"
    return f"is not an option of algorithm={algorithm!r}, which has {offer}; {holders} has it"


def with_hints(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Make a public function suggest the right name when a keyword is unknown."""
    home = function.__module__
    prefix = f"{home}." if home in ("kseeds.dask", "kseeds.spark") else ""
    title = f"{prefix}{function.__name__}"
    KEYWORDS[title] = tuple(signature(function).parameters)

    @wraps(function)
    def checked(*args: _P.args, **keywords: _P.kwargs) -> _T:
        for name in keywords:
            if name not in KEYWORDS[title]:
                raise _unknown(title, name)
        return function(*args, **keywords)

    return checked


def _unknown(function: str, name: str, options: Collection[str] = ()) -> TypeError:
    own = [*KEYWORDS[function], *options]
    prefix = function.rpartition(".")[0]
    siblings = [one for one in KEYWORDS if one.rpartition(".")[0] == prefix]
    other = next((one for one in siblings if name in KEYWORDS[one]), None)
    meant = _ALIASES.get(name.lower(), name)
    close = get_close_matches(name.lower(), own, n=1)
    if meant in own:
        remedy = f"use {meant}."
    elif prefix and meant in _IN_MEMORY_ONLY:
        remedy = _IN_MEMORY_ONLY[meant]
    elif other is not None:
        remedy = f"it is a keyword of {other}."
    elif close:
        remedy = f"use {close[0]}."
    else:
        remedy = f"it takes {', '.join(own)}."
    return TypeError(f"{name} is unknown to {function}; {remedy}")
