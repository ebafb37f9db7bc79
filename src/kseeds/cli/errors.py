"""Errors of the command line: one line on stderr, and an exit code."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer

ERROR = 1
INTERRUPTED = 130
EXTRA = ("matplotlib", "pyarrow", "rich", "typer")


def say(message: object) -> None:
    """Print a message on stderr as one line."""
    typer.echo(f"kseeds: {' '.join(str(message).split())}", err=True)


def missing(module: str) -> str:
    """Return the message for a package that is not installed."""
    return (
        f"the command line needs {module}, which is not installed; run: pip install 'kseeds[cli]'"
    )


def reason(error: Exception) -> str:
    """Return the message of an error, short enough for one line and without a full stop."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return shortened(text).rstrip(".")


def shortened(text: object, most: int = 160) -> str:
    """Return a text on one line, shortened: files may contain fields of any size."""
    line = " ".join(str(text)[: 4 * most].split())
    return line if len(line) <= most else f"{line[:most]}…"


@contextmanager
def reporting_errors() -> Iterator[None]:
    """Turn errors and Ctrl-C into one line and an exit code, and warnings into one line each."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = lambda message, *_, **__: say(message)
        try:
            yield
        except KeyboardInterrupt as error:
            say("interrupted.")
            raise typer.Exit(INTERRUPTED) from error
        except BrokenPipeError:
            raise  # the reader of stdout has closed it: not an error
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] not in EXTRA:
                raise
            _exit(missing(error.name.partition(".")[0]), error)
        except MemoryError as error:
            _exit("there is not enough memory for this file; use fewer rows, or .npy.", error)
        except (OSError, ValueError, TypeError) as error:
            _exit(error, error)


def _exit(message: object, error: Exception) -> None:
    say(message)
    raise typer.Exit(ERROR) from error
