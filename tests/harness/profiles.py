"""The short and the long profile of a test."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import hypothesis
import pytest
from hypothesis import HealthCheck, given, settings

from tests.harness.counts import add

SCALE = 1.0
"""What ``--scale`` says: how much is tried, as a multiple of what each profile tries."""


def scaled(number: int, least: int = 1) -> int:
    """Return the number of draws, cases, faults or turns after ``--scale``."""
    return max(least, round(number * SCALE))


def sizes(name: str, short: Any, long: Any) -> Any:
    """Run a test with ``name`` = short in the normal suite and long with ``-m long``.

    Numbers are scaled by ``--scale``; the long profile never tries less than the short one. Of a
    list or tuple, a part of the long profile takes what the short one has not. It leaves out tests
    that would do again what the short one does: those of no more turns, with no random seed.
    """
    again = False
    if isinstance(short, int):
        again = SCALE < 1.0 and scaled(long) <= short
        short = scaled(short)
        long = scaled(long, least=short)
    elif isinstance(short, (list, tuple)) and SCALE < 1.0:
        long = [each for each in long if each not in short]

    def decorate(test: Callable[..., None]) -> Any:
        params = [pytest.param(short, id="short")]
        if not again or "seed_offset" in inspect.signature(test).parameters:
            params.append(pytest.param(long, id="long", marks=pytest.mark.long))
        return pytest.mark.parametrize(name, params)(test)

    return decorate


def generated(short: int, long: int, **strategies: Any) -> Callable[[Callable[..., None]], Any]:
    """Make a property a test of so many generated cases in either profile.

    Cases are the same in every run, unless ``--seed-offset`` asks for others.
    """

    def decorate(holds: Callable[..., None]) -> Any:
        @functools.wraps(holds)
        def counted(**drawn: Any) -> None:
            add("cases")
            holds(**drawn)

        @sizes("n_cases", short, long)
        def test(n_cases: int, seed_offset: int) -> None:
            run = given(**strategies)(counted)
            if seed_offset:
                run = hypothesis.seed(seed_offset)(run)
            settings(
                max_examples=n_cases,
                deadline=None,
                database=None,
                derandomize=seed_offset == 0,
                suppress_health_check=list(HealthCheck),
            )(run)()

        test.__name__, test.__doc__, test.__module__ = (
            holds.__name__, holds.__doc__, holds.__module__,
        )  # fmt: skip
        return test

    return decorate
