"""What a measurement was made on, in words: stand-ins and cuts must show wherever it does."""

from __future__ import annotations

from typing import Any

from benchmarks.registry import SETS


def is_stand_in(line: dict[str, Any]) -> bool:
    """Tell whether synthetic rows took the place of a data set."""
    return line.get("origin") == "synthetic"


def rows_in_all(line: dict[str, Any]) -> int | None:
    """Return how many rows the data set has if fewer were used, else None.

    A run that cut the rows recorded how many there were (``of``); a file that holds fewer rows
    than the registry says is a cut, too.
    """
    used = line.get("n")
    known = SETS[line["data"]].rows if line["data"] in SETS else 0
    whole = max(line.get("of", 0), known)
    return whole if used is not None and used < whole else None


def is_as_published(line: dict[str, Any]) -> bool:
    """Tell whether published figures may stand beside a result: same data, all of it."""
    return not is_stand_in(line) and rows_in_all(line) is None


def label(line: dict[str, Any]) -> str:
    """Return the name of the data set, and what is not as that name says."""
    notes = []
    if line["data"] == "mixture":
        notes.append("synthetic")
    if is_stand_in(line):
        notes.append("synthetic stand-in")
    whole = rows_in_all(line)
    if whole is not None:
        notes.append(f"{count(line['n'])} of {count(whole)} rows")
    return line["data"] + (f" ({', '.join(notes)})" if notes else "")


def caution(lines: list[dict[str, Any]]) -> str:
    """Say in a sentence how many of these results are of stand-ins or cuts; "" if none is."""
    stand_ins = sum(is_stand_in(line) for line in lines)
    cuts = sum(rows_in_all(line) is not None for line in lines)
    parts = []
    if stand_ins:
        parts.append(f"{_are(stand_ins)} of synthetic stand-ins, not of the data named")
    if cuts:
        parts.append(f"{_are(cuts)} of some of the rows only")
    return f"Of the results here, {len(lines)} in all, {' and '.join(parts)}." if parts else ""


def _are(number: int) -> str:
    return f"{number} {'is' if number == 1 else 'are'}"


def count(number: int) -> str:
    """Return a number with its thousands apart."""
    return f"{number:,}".replace(",", "\N{NO-BREAK SPACE}")
