"""How wide the registers of this machine are, asked without loading the compiler."""

from __future__ import annotations

import importlib
import os

_FEATURES: dict[str, bool] = getattr(
    importlib.import_module("numpy._core._multiarray_umath"), "__cpu_features__", {}
)

ARE_WIDE = _FEATURES.get("AVX512F", False)
"""Whether they hold 64 bytes. May decide how fast something is done, never what comes out."""

_OTHERS = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_ENABLE_AVX")
_IS_TARGET = not any(os.environ.get(name) for name in _OTHERS)

MULTIPLY_BYTES = ARE_WIDE and _IS_TARGET and _FEATURES.get("AVX512VNNI", False)
"""Whether one instruction multiplies 64 bytes and adds the products (AVX-512 VNNI), and the
environment has Numba compile for this machine as it is. The same holds."""
