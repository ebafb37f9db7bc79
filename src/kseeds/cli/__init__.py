"""The command line: ``kseeds demo`` and ``kseeds seed``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; exit with a hint if its packages are not installed."""
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
    except KeyboardInterrupt:  # outside a command; commands handle it themselves
        sys.stderr.write("kseeds: interrupted.\n")
        sys.exit(130)
