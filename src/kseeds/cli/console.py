"""Where results are printed."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

# File names are printed as they are: brackets and colons are not markup.
out = Console(markup=False, emoji=False)


def printable(path: Path) -> str:
    """Return a path in the encoding of the terminal; file names may contain any bytes."""
    return str(path).encode(out.encoding, "backslashreplace").decode(out.encoding)
