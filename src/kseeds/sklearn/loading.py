"""When fits have the compiler loaded: as soon as those without it have taken as long as loading.

Each set of kernels asks by itself whether it is worth the wait (`kseeds.runtime.compile_policy`). A
fit uses several, and many short fits none of which repays the wait may follow each other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from kseeds.runtime import compile_policy

_SPENT = {"seconds": 0.0}
"""What fits have taken while the compiler was not loaded."""


@contextmanager
def loaded_if_repaid() -> Iterator[None]:
    """Load the compiler if earlier fits without it have taken as long; count the time of this."""
    if not compile_policy.is_loaded() and _SPENT["seconds"] > compile_policy.LOADING:
        import kseeds.runtime.compiler  # noqa: F401
    started = time.perf_counter()
    yield
    if not compile_policy.is_loaded():
        _SPENT["seconds"] += time.perf_counter() - started
