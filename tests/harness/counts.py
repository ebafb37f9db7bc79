"""How much was tried; printed at the end of a run."""

from __future__ import annotations

from collections import Counter

COUNTS: Counter[str] = Counter()


def add(what: str, how_many: int = 1) -> None:
    """Count what was tried: "cases" that were generated, "faults" that were injected."""
    COUNTS[what] += how_many
