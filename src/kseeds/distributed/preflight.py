"""A check, before any task is sent, that the workers can import kseeds in the same version."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kseeds.version import __version__

Probed: TypeAlias = tuple[str | None, str]
"""The version of kseeds, or None; and the error if it cannot be imported."""


def import_probe(module: str) -> Callable[[], Probed]:
    """Return a function that tries to import ``module`` where it is called.

    It is a nested function, which is pickled by value: kseeds may be missing on the worker.
    """

    def probe() -> tuple[str | None, str]:
        import importlib

        try:
            importlib.import_module(module)
            return importlib.import_module("kseeds").__version__, ""
        except Exception as error:
            return None, str(error)

    return probe


def check_version(where: str, everywhere: str, probed: Probed) -> None:
    """Raise if a machine lacks kseeds or has another version of it."""
    theirs, why = probed
    ours = __version__
    if theirs is None:
        raise missing(where, everywhere, why)
    if theirs != ours:
        raise RuntimeError(
            f"kseeds is {theirs} on {where} but {ours} here; install the same version on "
            f"{everywhere}: pip install kseeds=={ours}."
        )


def missing(where: str, everywhere: str, why: str) -> RuntimeError:
    """Return the error for a machine that cannot import kseeds."""
    reason = " ".join(why.split())
    return RuntimeError(
        f"kseeds cannot be imported on {where} ({reason}); install it on {everywhere}: "
        f"pip install kseeds=={__version__}."
    )
