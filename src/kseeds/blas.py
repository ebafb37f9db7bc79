"""Threads of BLAS, which are not ours to waste."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager
from typing import Any

from threadpoolctl import ThreadpoolController


@functools.cache
def _controller() -> Any:
    return ThreadpoolController()  # looks at all loaded libraries: once will do


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep BLAS to one thread a call, while our own threads make the calls.

    Its threads would not only compete with ours: they go on spinning after a call.
    """
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit
