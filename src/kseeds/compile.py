"""The one door to the compiler.

No other module imports Numba. Importing this one costs what importing Numba costs, so only
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
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from kseeds.distances import LANES

F = TypeVar("F", bound=Callable[..., Any])

JIT_DISABLED = bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]


def kernel(function: F) -> F:
    """Compile ``function`` on its first call: no GIL, strict arithmetic, cached on disk."""
    if os.environ.get("KSEEDS_CACHE", "1") != "0":
        try:
            return cast(F, numba.njit(nogil=True, cache=True)(function))
        except RuntimeError as error:
            # Raised while decorating when there is nowhere to keep the cache (numba #4908).
            if "cannot cache" not in str(error):
                raise
    return cast(F, numba.njit(nogil=True)(function))


def lane_sum(term: str) -> Callable[..., Any]:
    """Return a kernel function ``f(A, i, B, j)`` that sums a term over two rows.

    The sum runs in the lanes that `kseeds.distances` defines, as explicit vector
    instructions: without fastmath the compiler may not find them by itself, and with it the
    order of the sum, hence the last digit, would depend on the machine.

    Parameters
    ----------
    term : {"square", "abs", "square_of_sum", "max_abs"}
        (a − b)², |a − b|, (a + b)², or the running maximum of |a − b| in place of a sum.
    """
    if JIT_DISABLED:
        return _interpreted_lane_sum(term)
    return _compiled_lane_sum(term)


def _interpreted_lane_sum(term: str) -> Callable[..., Any]:
    from kseeds.distances import _lane_sum

    terms = {
        "square": lambda a, b: np.square(a - b),
        "abs": lambda a, b: np.abs(a - b),
        "square_of_sum": lambda a, b: np.square(a + b),
        "max_abs": lambda a, b: np.abs(a - b),
    }[term]

    def interpreted(A: Any, i: int, B: Any, j: int) -> Any:
        values = terms(A[i], B[j])
        return values.max() if term == "max_abs" else _lane_sum(values[None, :])[0]

    return interpreted


def _compiled_lane_sum(term: str) -> Callable[..., Any]:
    @intrinsic
    def compiled(typingctx: Any, A: Any, i: Any, B: Any, j: Any) -> Any:
        element = A.dtype
        signature = element(A, types.intp, B, types.intp)

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _emit_lane_sum(term, context, builder, sig, args)

        return signature, generate

    return compiled


def _emit_lane_sum(term: str, context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """Write the LLVM instructions of one lane sum."""
    element = sig.args[0].dtype
    scalar = context.get_value_type(element)
    vector = ir.VectorType(scalar, LANES)
    index = ir.IntType(64)
    alignment = element.bitwidth // 8
    a = context.make_array(sig.args[0])(context, builder, args[0])
    b = context.make_array(sig.args[2])(context, builder, args[2])
    columns = builder.extract_value(a.shape, 1)
    row_a = builder.gep(a.data, [builder.mul(args[1], columns)])
    row_b = builder.gep(b.data, [builder.mul(args[3], columns)])
    full = builder.and_(columns, index(-LANES))

    def combine(total: Any, value: Any) -> Any:
        if term == "max_abs":
            return builder.select(builder.fcmp_ordered(">", value, total), value, total)
        return builder.fadd(total, value)

    def value_of(x: Any, y: Any, zero: Any) -> Any:
        difference = builder.fadd(x, y) if term == "square_of_sum" else builder.fsub(x, y)
        if term in ("abs", "max_abs"):
            negative = builder.fcmp_ordered("<", difference, zero)
            return builder.select(negative, builder.fneg(difference), difference)
        return builder.fmul(difference, difference)

    def load_lanes(row: Any, at: Any) -> Any:
        pointer = builder.bitcast(builder.gep(row, [at]), vector.as_pointer())
        loaded = builder.load(pointer)
        loaded.align = alignment
        return loaded

    zeros = ir.Constant(vector, [0.0] * LANES)
    lanes = cgutils.alloca_once_value(builder, zeros)
    with cgutils.for_range_slice(builder, index(0), full, index(LANES), index) as (at, _):
        value = value_of(load_lanes(row_a, at), load_lanes(row_b, at), zeros)
        builder.store(combine(builder.load(lanes), value), lanes)
    folded = builder.load(lanes)
    width = LANES
    while width > 1:
        half = width // 2
        undefined = ir.Constant(ir.VectorType(scalar, width), ir.Undefined)
        picks = ir.VectorType(ir.IntType(32), half)
        low = builder.shuffle_vector(folded, undefined, ir.Constant(picks, list(range(half))))
        high = builder.shuffle_vector(
            folded, undefined, ir.Constant(picks, list(range(half, width)))
        )
        folded, width = combine(low, high), half
    first = builder.extract_element(folded, ir.IntType(32)(0))
    total = cgutils.alloca_once_value(builder, first)
    with cgutils.for_range_slice(builder, full, columns, index(1), index) as (at, _):
        x = builder.load(builder.gep(row_a, [at]))
        y = builder.load(builder.gep(row_b, [at]))
        builder.store(combine(builder.load(total), value_of(x, y, ir.Constant(scalar, 0.0))), total)
    return builder.load(total)
