"""How users hold data: memory layouts, tables, sparse matrices.

Every container takes a plain array and returns what is handed to kseeds together with the
arrays whose bytes must be the same afterwards. Containers that hold missing values say so.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse

Rng = np.random.Generator


@dataclass
class Held:
    """Data as a user holds it."""

    given: Any
    watched: list[np.ndarray]
    refused: type[Exception] | None = None


def _plain(given: np.ndarray) -> Held:
    return Held(given, [given if given.base is None else given.base])


def _swapped(values: np.ndarray, rng: Rng) -> Held:
    return _plain(values.astype(values.dtype.newbyteorder("S")))


def _unaligned(values: np.ndarray, rng: Rng) -> Held:
    buffer = np.zeros(values.nbytes + 1, dtype=np.uint8)
    view = buffer[1:].view(values.dtype).reshape(values.shape)
    view[...] = values
    return Held(view, [buffer])


def _strided(values: np.ndarray, rng: Rng) -> Held:
    n, d = values.shape
    wide = np.zeros((2 * n, 3 * d), dtype=values.dtype)
    wide[::2, ::3] = values
    return Held(wide[::2, ::3], [wide])


def _backwards(values: np.ndarray, rng: Rng) -> Held:
    turned = np.ascontiguousarray(values[::-1, ::-1])
    return Held(turned[::-1, ::-1], [turned])


def _field(values: np.ndarray, rng: Rng) -> Held:
    """One field of a packed record: rows whose stride is no multiple of the item."""
    n, d = values.shape
    record = np.zeros(n, dtype=np.dtype([("flag", "u1"), ("x", values.dtype, (d,))]))
    record["x"] = values
    return Held(record["x"], [record])


def _read_only(values: np.ndarray, rng: Rng) -> Held:
    frozen = values.copy()
    frozen.flags.writeable = False
    return _plain(frozen)


def _broadcast(values: np.ndarray, rng: Rng) -> Held:
    """Rows that are one row, with a stride of 0 (the values change with it)."""
    row = values[:1].copy()
    return Held(np.broadcast_to(row, values.shape), [row])


def _mapped(mode: str) -> Callable[[np.ndarray, Rng], Held]:
    def hold(values: np.ndarray, rng: Rng) -> Held:
        order = "F" if rng.random() < 0.3 else "C"
        with tempfile.TemporaryFile() as file:
            file.write(values.tobytes(order))
            file.flush()
            mapped = np.memmap(file, values.dtype, mode, shape=values.shape, order=order)
        return Held(mapped, [mapped])

    return hold


def _masked(values: np.ndarray, rng: Rng) -> Held:
    mask = rng.random(values.shape) < 0.2
    mask.flat[0] = True  # a mask that hides nothing is no matter
    return Held(np.ma.masked_array(values, mask=mask), [values], TypeError)


def _names(d: int) -> list[str]:
    return [f"c{j}" for j in range(d)]


def _pandas(values: np.ndarray, rng: Rng) -> Held:
    frame = pd.DataFrame(values.copy(), columns=_names(values.shape[1]))
    return Held(frame, [frame.to_numpy()])


_NULLABLE = {"bool": "boolean", "float32": "Float32", "float64": "Float64"} | {
    f"{sign}int{bits}": f"{sign.upper()}Int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}


def _pandas_nullable(missing: bool) -> Callable[[np.ndarray, Rng], Held]:
    def hold(values: np.ndarray, rng: Rng) -> Held:
        frame = pd.DataFrame(values.copy(), columns=_names(values.shape[1]))
        frame = frame.astype(_NULLABLE[str(values.dtype)])
        if missing:
            frame.iloc[int(rng.integers(len(frame))), 0] = pd.NA
        return Held(frame, [], ValueError if missing else None)

    return hold


def _polars(missing: bool) -> Callable[[np.ndarray, Rng], Held]:
    def hold(values: np.ndarray, rng: Rng) -> Held:
        frame = pl.DataFrame(
            {name: values[:, j].copy() for j, name in enumerate(_names(values.shape[1]))}
        )
        if missing:
            at = int(rng.integers(len(frame)))
            hole = pl.when(pl.int_range(pl.len()) == at).then(None).otherwise(pl.col("c0"))
            frame = frame.with_columns(hole.alias("c0"))
        elif len(frame) > 1:
            cut = len(frame) // 2
            frame = pl.concat([frame[:cut], frame[cut:]], rechunk=False)
        return Held(frame, [], ValueError if missing else None)

    return hold


def _arrow(missing: bool) -> Callable[[np.ndarray, Rng], Held]:
    def hold(values: np.ndarray, rng: Rng) -> Held:
        n, d = values.shape
        cut = int(rng.integers(0, n + 1))
        columns = []
        for j in range(d):
            mask = np.zeros(n, dtype=bool)
            mask[rng.integers(n)] = missing and j == 0
            parts = [slice(0, cut), slice(cut, n)]
            chunks = [pa.array(values[part, j].copy(), mask=mask[part]) for part in parts]
            columns.append(pa.chunked_array(chunks))
        table = pa.table(columns, names=_names(d))
        return Held(table, [], ValueError if missing else None)

    return hold


def _sparse(form: str) -> Callable[[np.ndarray, Rng], Held]:
    """Unsorted entries, some of them twice (as a value and a 0), and stored zeros."""

    def hold(values: np.ndarray, rng: Rng) -> Held:
        at = np.argwhere(np.ones(values.shape, dtype=bool))
        at = at[(values[tuple(at.T)] != 0) | (rng.random(len(at)) < 0.3)]
        again = at[rng.random(len(at)) < 0.3]
        entries = np.concatenate([values[tuple(at.T)], np.zeros(len(again), values.dtype)])
        at = np.concatenate([at, again])
        order = rng.permutation(len(at))
        at, entries = at[order], entries[order]
        if form in ("csr", "csc"):
            return _compressed(form, at, entries, values.shape)
        matrix = sparse.coo_array((entries, tuple(at.T)), shape=values.shape)
        if form != "coo":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", sparse.SparseEfficiencyWarning)
                matrix = matrix.asformat(form)
        elif rng.random() < 0.5:
            matrix = sparse.coo_matrix(matrix)
        watched = [matrix.data] if isinstance(getattr(matrix, "data", None), np.ndarray) else []
        return Held(matrix, watched if form in ("coo", "bsr", "dia") else [])

    return hold


def _compressed(form: str, at: np.ndarray, entries: np.ndarray, shape: tuple[int, int]) -> Held:
    """Compressed by hand: SciPy would sort the entries and add up those of one place."""
    major, minor = (0, 1) if form == "csr" else (1, 0)
    order = np.argsort(at[:, major], kind="stable")
    starts = np.zeros(shape[major] + 1, dtype=np.int32)
    np.cumsum(np.bincount(at[:, major], minlength=shape[major]), out=starts[1:])
    parts = (entries[order], at[order, minor].astype(np.int32), starts)
    made = (sparse.csr_array if form == "csr" else sparse.csc_array)(parts, shape=shape)
    return Held(made, [made.data, made.indices, made.indptr])


CONTAINERS: dict[str, Callable[[np.ndarray, Rng], Held]] = {
    "C order": lambda values, rng: _plain(values.copy()),
    "F order": lambda values, rng: _plain(np.asfortranarray(values)),
    "backwards": _backwards,
    "strided": _strided,
    "field of records": _field,
    "byte-swapped": _swapped,
    "unaligned": _unaligned,
    "read-only": _read_only,
    "broadcast": _broadcast,
    "memory map": _mapped("r"),
    "writable memory map": _mapped("r+"),
    "list": lambda values, rng: Held(values.tolist(), []),
    "masked array": _masked,
    "pandas": _pandas,
    "pandas nullable": _pandas_nullable(missing=False),
    "pandas missing": _pandas_nullable(missing=True),
    "polars": _polars(missing=False),
    "polars missing": _polars(missing=True),
    "arrow": _arrow(missing=False),
    "arrow missing": _arrow(missing=True),
    **{
        f"sparse {form}": _sparse(form)
        for form in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
    },
}


def fits(container: str, dtype: str) -> bool:
    """Tell whether a container can hold a dtype at all."""
    if dtype == "longdouble":
        return container.split()[0] not in ("pandas", "polars", "arrow", "sparse", "list")
    if dtype == "float16":
        return container.split()[0] not in ("polars", "sparse") and "pandas " not in container
    return True


def hold(container: str, values: np.ndarray, seed: int) -> Held:
    """Return ``values`` as a user would hold them."""
    return CONTAINERS[container](values, np.random.default_rng([seed, 2]))
