"""The one door to the compiler.

No other module imports Numba; `kseeds.simd` writes instructions with what this one hands on.
Importing this one costs what importing Numba costs, so only
the kernels do, and the kernels are imported by the call that first needs them.

``KSEEDS_CACHE=0`` turns the on-disk cache of compiled kernels off. Where no folder can be
written (a read-only install without a home), kernels are compiled afresh in every process.
Numba's own ``NUMBA_CACHE_DIR``, ``NUMBA_BOUNDSCHECK`` and ``NUMBA_DISABLE_JIT`` work as usual.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

__all__ = ["JIT_DISABLED", "cgutils", "inlined", "intrinsic", "ir", "kernel", "types"]

F = TypeVar("F", bound=Callable[..., Any])


JIT_DISABLED = bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]


def kernel(function: F) -> F:
    """Compile ``function`` on its first call: no GIL, strict arithmetic, cached on disk."""
    return _compiled(function, {"nogil": True})


def inlined(function: F) -> F:
    """Compile a small function into its callers: a call with arrays costs some 20 ns."""
    return _compiled(function, {"nogil": True, "forceinline": True})


def _compiled(function: F, options: dict[str, Any]) -> F:
    if os.environ.get("KSEEDS_CACHE", "1") != "0":
        try:
            return cast(F, numba.njit(cache=True, **options)(function))
        except RuntimeError as error:
            # Raised while decorating when there is nowhere to keep the cache (numba #4908).
            if "cannot cache" not in str(error):
                raise
    return cast(F, numba.njit(**options)(function))
