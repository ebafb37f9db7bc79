"""How a command ends when it cannot go on: one line on stderr, and an exit code."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer

REFUSED = 1
INTERRUPTED = 130
EXTRA = ("matplotlib", "pyarrow", "rich", "typer")


def say(sentence: object) -> None:
    """Print one line on stderr, whatever the sentence quotes."""
    typer.echo(f"kseeds: {' '.join(str(sentence).split())}", err=True)


def missing(module: str) -> str:
    """Return the sentence for a package of the command line that is not installed."""
    return (
        f"the command line needs {module}, which is not installed; run: pip install 'kseeds[cli]'"
    )


def reason(error: Exception) -> str:
    """Return why an error happened, short enough for one line and without a full stop."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return shortened(text).rstrip(".")


def shortened(text: object, most: int = 160) -> str:
    """Return a text on one line, cut where it is long: files may hold fields of any size."""
    line = " ".join(str(text)[: 4 * most].split())
    return line if len(line) <= most else f"{line[:most]}…"


@contextmanager
def refusing() -> Iterator[None]:
    """Turn errors and Ctrl-C into one line and an exit code, and warnings into lines."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = lambda message, *_, **__: say(message)
        try:
            yield
        except KeyboardInterrupt as error:
            say("interrupted.")
            raise typer.Exit(INTERRUPTED) from error
        except BrokenPipeError:
            raise  # whoever reads our output has gone: not a refusal
        except ModuleNotFoundError as error:
            if error.name is None or error.name.partition(".")[0] not in EXTRA:
                raise
            _refuse(missing(error.name.partition(".")[0]), error)
        except MemoryError as error:
            _refuse("there is not enough memory for this file; use fewer rows, or .npy.", error)
        except (OSError, ValueError, TypeError) as error:
            _refuse(error, error)


def _refuse(sentence: object, error: Exception) -> None:
    say(sentence)
    raise typer.Exit(REFUSED) from error
