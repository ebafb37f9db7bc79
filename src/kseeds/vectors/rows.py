"""Sums over rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kseeds.compile import JIT_DISABLED, cgutils, intrinsic, ir, types
from kseeds.layout import LANES
from kseeds.vectors import interpreted
from kseeds.vectors.instructions import INDEX, Terms, Vectors


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
        return interpreted.lane_sum(term)

    @intrinsic
    def compiled(typingctx: Any, A: Any, i: Any, B: Any, j: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _emit_lane_sum(term, context, builder, sig, args)

        return A.dtype(A, types.intp, B, types.intp), generate

    return compiled


def weighted_sum() -> Callable[..., Any]:
    """Return a kernel function ``f(values, weights, start, stop)``: Σ values·weights in float64.

    ``weights`` of length 0 stand for ones. Summed in lanes, as explicit vector instructions.
    """
    if JIT_DISABLED:
        return interpreted.weighted_sum

    @intrinsic
    def compiled(typingctx: Any, values: Any, weights: Any, start: Any, stop: Any) -> Any:
        return types.float64(values, weights, types.intp, types.intp), _emit_weighted_sum

    return compiled


def _emit_lane_sum(term: str, context: Any, builder: Any, sig: Any, args: Any) -> Any:
    terms, vectors = Terms(term, builder), Vectors(sig.args[0].dtype, context, builder)
    a = context.make_array(sig.args[0])(context, builder, args[0])
    b = context.make_array(sig.args[2])(context, builder, args[2])
    columns = builder.extract_value(a.shape, 1)
    row_a = builder.gep(a.data, [builder.mul(args[1], columns)])
    row_b = builder.gep(b.data, [builder.mul(args[3], columns)])
    full = builder.and_(columns, INDEX(-LANES))
    total = cgutils.alloca_once_value(builder, ir.Constant(vectors.scalar, 0.0))
    with builder.if_then(builder.icmp_signed(">", full, INDEX(0))):
        lanes = cgutils.alloca_once_value(builder, vectors.zeros)
        with cgutils.for_range_slice(builder, INDEX(0), full, INDEX(LANES), INDEX) as (at, _):
            value = terms.of(vectors.load(row_a, at), vectors.load(row_b, at), vectors.zeros)
            builder.store(terms.combine(builder.load(lanes), value), lanes)
        builder.store(vectors.fold(builder.load(lanes), terms.combine), total)
    with cgutils.for_range_slice(builder, full, columns, INDEX(1), INDEX) as (at, _):
        x, y = builder.load(builder.gep(row_a, [at])), builder.load(builder.gep(row_b, [at]))
        value = terms.of(x, y, ir.Constant(vectors.scalar, 0.0))
        builder.store(terms.combine(builder.load(total), value), total)
    return builder.load(total)


def _emit_weighted_sum(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    narrow = Vectors(sig.args[0].dtype, context, builder)
    wide = Vectors(types.float64, context, builder)
    q = context.make_array(sig.args[0])(context, builder, args[0])
    w = context.make_array(sig.args[1])(context, builder, args[1])
    start, stop = args[2], args[3]
    weighted = builder.icmp_signed(">", builder.extract_value(w.shape, 0), INDEX(0))
    full = builder.add(start, builder.and_(builder.sub(stop, start), INDEX(-LANES)))

    def widened(value: Any, kind: Any) -> Any:
        return value if sig.args[0].dtype == types.float64 else builder.fpext(value, kind)

    lanes = cgutils.alloca_once_value(builder, wide.zeros)
    total = cgutils.alloca_once_value(builder, ir.Constant(wide.scalar, 0.0))

    def emit(use_weights: bool) -> None:
        with cgutils.for_range_slice(builder, start, full, INDEX(LANES), INDEX) as (at, _):
            value = widened(narrow.load(q.data, at), wide.kind)
            if use_weights:
                value = builder.fmul(value, wide.load(w.data, at))
            builder.store(builder.fadd(builder.load(lanes), value), lanes)
        builder.store(wide.fold(builder.load(lanes), builder.fadd), total)
        with cgutils.for_range_slice(builder, full, stop, INDEX(1), INDEX) as (at, _):
            value = widened(builder.load(builder.gep(q.data, [at])), wide.scalar)
            if use_weights:
                value = builder.fmul(value, builder.load(builder.gep(w.data, [at])))
            builder.store(builder.fadd(builder.load(total), value), total)

    with builder.if_else(weighted) as (then, otherwise):
        with then:
            emit(True)
        with otherwise:
            emit(False)
    return builder.load(total)
