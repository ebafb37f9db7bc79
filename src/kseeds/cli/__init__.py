"""The command line: ``kseeds demo`` and ``kseeds seed``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say how to install it."""
    try:
        try:
            from kseeds.cli.commands import app
        except ModuleNotFoundError as error:
            if error.name not in ("typer", "rich", "click"):
                raise
            sys.exit(
                f"kseeds: the command line needs {error.name}, which is not installed; "
                "run: pip install 'kseeds[cli]'"
            )
        app()
    except KeyboardInterrupt:  # before or after a command; commands see to it themselves
        sys.stderr.write("kseeds: interrupted.\n")
        sys.exit(130)
