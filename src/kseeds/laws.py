"""Which algorithms there are for each law; "auto" takes the first."""

from __future__ import annotations

from importlib import import_module
from typing import Any

PLUSPLUS = {
    "lazy": "kseeds.methods.plusplus.lazy",
    "naive": "kseeds.methods.plusplus.naive",
    "paper": "kseeds.methods.plusplus.paper",
    "rounds": "kseeds.distributed.in_memory",
}
PARALLEL = {
    "fast": "kseeds.methods.parallel.fast",
    "naive": "kseeds.methods.parallel.naive",
    "paper": "kseeds.methods.parallel.paper",
}


def method(table: dict[str, str], algorithm: str) -> Any:
    """Import the module of an algorithm."""
    return import_module(table[algorithm])


def options_of(module: Any) -> dict[str, tuple[Any, ...]]:
    """Return the keywords that only this algorithm has, with their possible values."""
    options: dict[str, tuple[Any, ...]] = getattr(module, "OPTIONS", {})
    return options
