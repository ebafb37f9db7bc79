"""The types of arguments that kernels were compiled for in this process."""

from __future__ import annotations

import re
import sys
from collections import Counter
from typing import Any

_WRITABLE = re.compile(r"readonly (?=array)|(?<='C'), (True|False)(?=, aligned)")


def _kernels() -> dict[str, Any]:
    """Return all kernels that are kept on disk, by name; not those that only kernels call."""
    return {
        f"{name}.{function}": compiled
        for name, module in sorted(sys.modules.items())
        if name.startswith("kseeds.")
        for function, compiled in vars(module).items()
        if not function.startswith("_")
        and type(getattr(compiled, "_cache", None)).__name__ == "_KernelCache"
        and compiled.py_func.__module__ == name
    }


def never_compiled() -> list[str]:
    """Return the kernels that were not compiled for any types."""
    return [name for name, compiled in _kernels().items() if not compiled.signatures]


def compiled_twice() -> list[str]:
    """Return the kernels that were compiled for read-only and for writable arrays.

    Such a kernel is compiled by a job that counted on finding it on disk.
    """
    found = []
    for name, compiled in _kernels().items():
        counts = Counter(_WRITABLE.sub("", str(types)) for types in compiled.signatures)
        found += [f"{name}{types}" for types, count in counts.items() if count > 1]
    return found
