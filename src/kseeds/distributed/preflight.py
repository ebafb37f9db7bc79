"""Whether other machines can run our tasks: asked of them before any task is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kseeds.version import __version__

Seen: TypeAlias = tuple[str | None, str]
"""The version of kseeds, or None and why it cannot be imported."""


def looker(module: str) -> Callable[[], Seen]:
    """Return a function that tells whether ``module`` can be imported where it is called.

    It travels by value, since it is not a function of a module: kseeds may be missing there.
    """

    def look() -> tuple[str | None, str]:
        import importlib

        try:
            importlib.import_module(module)
            return importlib.import_module("kseeds").__version__, ""
        except Exception as error:
            return None, str(error)

    return look


def check_seen(where: str, everywhere: str, seen: Seen) -> None:
    """Refuse a place that lacks kseeds or has another version of it."""
    theirs, why = seen
    ours = __version__
    if theirs is None:
        raise missing(where, everywhere, why)
    if theirs != ours:
        raise RuntimeError(
            f"kseeds is {theirs} on {where} but {ours} here; install the same version on "
            f"{everywhere}: pip install kseeds=={ours}."
        )


def missing(where: str, everywhere: str, why: str) -> RuntimeError:
    """Return the error for a place that cannot import kseeds."""
    reason = " ".join(why.split())
    return RuntimeError(
        f"kseeds cannot be imported on {where} ({reason}); install it on {everywhere}: "
        f"pip install kseeds=={__version__}."
    )
