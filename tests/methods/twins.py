"""In the short profile, what draws the seeds of another algorithm is compared with it.

A few draws that are the same to the last index tell more than many of which only the frequencies
are compared; those are for the other algorithm, and for all in the long profile.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.harness.profiles import scaled
from tests.methods.cases import Case, Input
from tests.methods.laws import REJECT, Law, chi_square_p

_DRAWS = 120


def variants_and_draws(
    method: str, variants: Iterable[tuple[str, dict[str, Any]]], short: int, long: int
) -> Any:
    """Run a test with ``algorithm``, ``options`` and ``draws``, which is None for a comparison."""
    params = []
    for algorithm, options in variants:
        few = scaled(short)
        many = scaled(long, least=few)
        has_twin = Case(method, algorithm, options, "", Input([], [], 1)).twin is not None
        label = f"{algorithm}-{options}"
        first = None if has_twin else few
        params.append(pytest.param(algorithm, options, first, id=f"{label}-short"))
        params.append(
            pytest.param(algorithm, options, many, id=f"{label}-long", marks=pytest.mark.long)
        )
    return pytest.mark.parametrize(("algorithm", "options", "draws"), params)


def check(
    case: Case, law: Law, draws: int | None, seed: int, same: dict[int, int] | None = None
) -> None:
    """Hold a case to its law, or to its twin if ``draws`` is None.

    The law knows some rows by the number of the ``same`` row that comes before them.
    """
    if draws is None:
        few = scaled(_DRAWS, least=20)
        assert list(case.draws(few, seed)) == list(case.twin.draws(few, seed))
        return
    names = same or {}
    drawn = (tuple(names.get(i, i) for i in seeds) for seeds in case.draws(draws, seed))
    assert chi_square_p(law, drawn) > REJECT
