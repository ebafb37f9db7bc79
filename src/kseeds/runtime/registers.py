"""How wide the registers of this machine are, asked without loading the compiler."""

from __future__ import annotations

import importlib

_FEATURES: dict[str, bool] = getattr(
    importlib.import_module("numpy._core._multiarray_umath"), "__cpu_features__", {}
)

ARE_WIDE = _FEATURES.get("AVX512F", False)
"""Whether they hold 64 bytes. May decide how fast something is done, never what comes out."""
