"""Warnings of kseeds, and how user values are shown in messages: on one line, shortened.

Its errors are those of Python, such as ``ValueError``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_LONGEST = 60


class FewerDistinctPointsWarning(UserWarning):
    """Fewer distinct points than seeds were asked for.

    The remaining seeds are distinct *rows* drawn by weight; they coincide with points
    that are seeds already, so they add nothing to a clustering.
    """


def shown(value: Any) -> str:
    """Return the repr of ``value`` as a message shows it."""
    try:
        plain = value.item() if isinstance(value, np.generic) else value
        return clipped(repr(plain))
    except Exception:  # e.g. Python does not print integers of thousands of digits
        return f"<{type(value).__name__}>"


def clipped(text: str) -> str:
    """Return ``text`` on one line, cut if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."


def kind_of(value: Any) -> str:
    """Return what ``value`` is: "a list", "an object", "None"."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
