"""What data may contain: one function per kind of trouble.

Every kind is a function of (generator, rows, columns, dtype) that returns finite numbers of that
dtype. The dtype matters, since tiny and huge mean something else in each.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Rng = np.random.Generator

FLOATS = ("float16", "float32", "float64", "longdouble")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = (*FLOATS, *INTEGERS, "bool")


def _info(dtype: np.dtype) -> np.finfo:
    """Return the limits of the numbers to make; long doubles end up as float64."""
    return np.finfo(dtype if dtype in (np.float16, np.float32) else np.float64)


def _random(rng: Rng, n: int, d: int, dtype: np.dtype) -> np.ndarray:
    return rng.normal(size=(n, d))


def _duplicates(rng: Rng, n: int, d: int, dtype: np.dtype) -> np.ndarray:
    few = max(1, n // 4)
    return (rng.normal(size=(few, d)) * 3)[rng.integers(0, few, size=n)]


def _grid(rng: Rng, n: int, d: int, dtype: np.dtype) -> np.ndarray:
    return rng.integers(-2, 3, size=(n, d)).astype(float)


def _tenths(rng: Rng, n: int, d: int, dtype: np.dtype) -> np.ndarray:
    """Ties of numbers that binary fractions cannot hold."""
    return rng.integers(-3, 4, size=(n, d)) / 10.0


def _collinear(rng: Rng, n: int, d: int, dtype: np.dtype) -> np.ndarray:
    return rng.integers(-9, 10, size=(n, 1)) * (1.0 + np.arange(d)) / 4.0


def _constant(rng: Rng, n: int, d: int, dtype: np.dtype) -> np.ndarray:
    return np.tile(rng.normal(size=(1, d)), (n, 1))


def _zeros(rng: Rng, n: int, d: int, dtype: np.dtype) -> np.ndarray:
    return np.where(rng.random((n, d)) < 0.5, 0.0, -0.0)


def _far_offset(rng: Rng, n: int, d: int, dtype: np.dtype) -> np.ndarray:
    return 1e8 + rng.integers(0, 4, size=(n, d)) * rng.choice([1.0, 64.0])


def _outlier(rng: Rng, n: int, d: int, dtype: np.dtype) -> np.ndarray:
    X = rng.normal(size=(n, d))
    X[rng.integers(n)] = 1e12
    return X


def _scaled(share: float) -> Callable[[Rng, int, int, np.dtype], np.ndarray]:
    """Numbers at a share of the exponents, from the smallest (0) to the largest (1)."""

    def make(rng: Rng, n: int, d: int, dtype: np.dtype) -> np.ndarray:
        info = _info(dtype)
        low, high = info.minexp, info.maxexp - 4
        exponent = round(low + share * (high - low))
        X = rng.integers(-6, 7, size=(n, d)) if rng.random() < 0.5 else rng.normal(size=(n, d))
        return np.ldexp(X.astype(np.longdouble), exponent)

    return make


def _subnormal(rng: Rng, n: int, d: int, dtype: np.dtype) -> np.ndarray:
    info = _info(dtype)
    return rng.integers(-40, 41, size=(n, d)) * info.smallest_subnormal.astype(np.longdouble)


def _mixed(rng: Rng, n: int, d: int, dtype: np.dtype) -> np.ndarray:
    """Columns or rows whose scales are far apart."""
    exponents = rng.integers(-20, 21, size=(1, d) if rng.random() < 0.5 else (n, 1))
    return np.ldexp(rng.normal(size=(n, d)), exponents)


def _everywhere(rng: Rng, n: int, d: int, dtype: np.dtype) -> np.ndarray:
    """Every number of an exponent of its own, all exponents alike."""
    info = _info(dtype)
    exponents = rng.integers(info.minexp, info.maxexp - 3, size=(n, d))
    return np.ldexp(rng.normal(size=(n, d)).astype(np.longdouble), exponents)


KINDS: dict[str, Callable[[Rng, int, int, np.dtype], np.ndarray]] = {
    "random": _random,
    "duplicates": _duplicates,
    "grid": _grid,
    "tenths": _tenths,
    "collinear": _collinear,
    "constant": _constant,
    "zeros": _zeros,
    "far offset": _far_offset,
    "outlier": _outlier,
    "tiny": _scaled(0.0),
    "small": _scaled(0.25),
    "large": _scaled(0.75),
    "huge": _scaled(1.0),
    "subnormal": _subnormal,
    "mixed scales": _mixed,
    "all scales": _everywhere,
}


def contents(kind: str, n: int, d: int, dtype: str, seed: int) -> np.ndarray:
    """Return n rows of d columns with one kind of trouble, as the dtype holds them."""
    rng = np.random.default_rng(seed)
    to = np.dtype(dtype)
    values = KINDS[kind](rng, n, d, to)
    if to.kind == "b":
        return values > 0
    if to.kind in "iu":
        info = np.iinfo(to)
        if kind in ("huge", "all scales"):
            return rng.integers(info.min, info.max, size=(n, d), dtype=to, endpoint=True)
        with np.errstate(invalid="ignore", over="ignore"):
            whole = np.rint(np.nan_to_num(values.astype(np.float64) * 4))
        small = max(info.min, -(2**20)), min(info.max, 2**20)
        return np.clip(whole, *small).astype(to)
    most = _info(to).max
    with np.errstate(over="ignore", under="ignore"):
        return np.clip(values, -most, most).astype(to)


def computed_in(values: np.ndarray) -> np.dtype:
    """Return the precision that kseeds promises for values of this dtype."""
    if values.dtype.kind == "f":
        return np.dtype(np.float32 if values.dtype.itemsize <= 4 else np.float64)
    return np.dtype(np.float32 if values.dtype.itemsize <= 2 else np.float64)


WEIGHTS = ("none", "equal", "uniform", "zeros", "wide", "widest", "subnormal", "one heavy")


def weights_of(kind: str, n: int, seed: int) -> np.ndarray | None:
    """Return weights of n rows, of which at least one is positive; None for no weights."""
    if kind == "none":
        return None
    rng = np.random.default_rng([seed, 1])
    if kind == "equal":
        return np.full(n, rng.choice([1.0, 3.0, 1e-300, 1e300]))
    if kind == "zeros":
        w = rng.integers(0, 2, size=n).astype(float) * rng.random(n)
    elif kind == "wide":
        w = 10.0 ** rng.uniform(-100, 100, size=n)
    elif kind == "widest":
        w = np.ldexp(1.0 + rng.random(n), rng.integers(-1080, 1023, size=n))
    elif kind == "subnormal":
        w = rng.integers(0, 5, size=n) * 5e-324
    else:
        w = rng.random(n)
        if kind == "one heavy":
            w[rng.integers(n)] = 1e308
    if not w.any():
        w[rng.integers(n)] = 1.0
    return w
