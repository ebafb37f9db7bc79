"""Checks of the arguments that are not data. Errors name the argument, the value and a remedy."""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.distances.metrics import METRICS, Dissimilarity
from kseeds.errors import shown
from kseeds.inputs.containers import to_array
from kseeds.runtime.threads import default_threads
from kseeds.sampling.streams import RandomState, Stream

_MOST = 2**31 - 1
"""The largest int32: labels are of that type, so no count may exceed it."""


def check_count(name: str, value: Any) -> int:
    """Return ``value`` as an int of at least 1."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise TypeError(
            f"{name}={shown(value)} is not an integer; pass a whole number of at least 1."
        )
    if value < 1:
        raise ValueError(f"{name}={shown(value)} is too small; pass a whole number of at least 1.")
    if int(value) > _MOST:
        raise ValueError(f"{name}={shown(value)} is too large; pass at most {_MOST}.")
    return int(value)


def check_positive(name: str, value: Any) -> float:
    """Return ``value`` as a finite float above 0."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name}={shown(value)} is not a number; pass a number above 0.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not (math.isfinite(number) and number > 0.0):
        raise ValueError(f"{name}={shown(value)} is out of range; pass a finite number above 0.")
    return number


def check_choice(name: str, value: Any, choices: Collection[Any]) -> Any:
    """Return ``value`` if it is one of ``choices``."""
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        wanted = " or ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name}={shown(value)} is not possible; use {wanted}.")
    return value


def check_metric(metric: Any) -> str | Dissimilarity:
    """Return the name of a known metric, or a function of two rows."""
    if isinstance(metric, str) and metric in METRICS:
        return metric
    if callable(metric):
        function: Dissimilarity = metric
        return function
    raise ValueError(
        f"metric={shown(metric)} is unknown; use one of {', '.join(METRICS)}, or a function of "
        "two rows."
    )


def check_algorithm(function: str, algorithm: Any, known: Collection[str]) -> str:
    """Return the name of a known algorithm, or "auto"."""
    if isinstance(algorithm, str) and (algorithm == "auto" or algorithm in known):
        return algorithm
    raise ValueError(
        f"algorithm={shown(algorithm)} is unknown to {function}; use one of {', '.join(known)}, "
        "or auto to have the fastest chosen."
    )


def check_threads(n_threads: Any) -> int:
    """Return the number of threads to use; None means every core."""
    if n_threads is None:
        return default_threads()
    return check_count("n_threads", n_threads)


def check_random_state(random_state: Any) -> Stream:
    """Return the random stream of ``random_state``; a generator is advanced by two draws."""
    return Stream.from_random_state(known_random_state(random_state))


def known_random_state(random_state: Any) -> RandomState:
    """Return ``random_state`` if it is of a supported type; draws nothing from it."""
    known = (np.random.Generator, np.random.RandomState, np.random.SeedSequence)
    if random_state is not None and not isinstance(random_state, known):
        if isinstance(random_state, (bool, np.bool_)) or not isinstance(
            random_state, numbers.Integral
        ):
            raise TypeError(
                f"random_state={shown(random_state)} is not a random state; pass None, a whole "
                "number, or a NumPy Generator, RandomState or SeedSequence."
            )
        if random_state < 0:
            raise ValueError(f"random_state={shown(random_state)} is negative; pass 0 or more.")
    state: RandomState = random_state
    return state


def check_radii(radii: Any, n_queries: int) -> npt.NDArray[np.float64]:
    """Return one non-negative radius per query."""
    values = np.asarray(to_array(radii, "radii"), dtype=np.float64)
    if values.ndim == 0:
        values = np.full(n_queries, values)
    if values.shape != (n_queries,):
        raise ValueError(
            f"radii has shape {values.shape}; pass one number or one for each of the "
            f"{n_queries} queries."
        )
    bad = np.flatnonzero(~(values >= 0.0))
    if len(bad):
        raise ValueError(
            f"radii has {values[bad[0]]} at position {bad[0]}; radii must be 0 or more."
        )
    return values
