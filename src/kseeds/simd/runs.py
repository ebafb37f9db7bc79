"""Sums of scaled runs: rows of a table, added to as many sums as they have columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kseeds.runtime.block_sizes import COLUMNS, LANES
from kseeds.runtime.compiler import JIT_DISABLED, cgutils, intrinsic, ir, types
from kseeds.simd import interpreted
from kseeds.simd.instructions import INDEX, Vectors


def add_runs() -> Callable[..., Any]:
    """Return a kernel function ``f(runs, which, factors, count, sums)``.

    ``sums[c]`` grows by the sum of ``factors[r] · runs[which[r], c]`` over the first ``count``
    places r, for every column c; there are a multiple of 64 of them. The last digits depend on the
    machine, so the result may only rule pairs out.
    """
    if JIT_DISABLED:
        return interpreted.add_runs

    @intrinsic
    def compiled(typingctx: Any, runs: Any, which: Any, factors: Any, count: Any, sums: Any) -> Any:
        return types.void(runs, which, factors, types.intp, sums), _emit_add_runs

    return compiled


def least_gap() -> Callable[..., Any]:
    """Return a kernel function ``f(a, b)``: the least of ``a[c] - b[c]``."""
    if JIT_DISABLED:
        return interpreted.least_gap

    @intrinsic
    def compiled(typingctx: Any, a: Any, b: Any) -> Any:
        return a.dtype(a, b), _emit_least_gap

    return compiled


def gaps_within() -> Callable[..., Any]:
    """Return a kernel function ``f(a, b, start, most)``.

    Bit l of the result tells whether ``a[start + l] - b[start + l]`` is at most ``most``, for 16
    places.
    """
    if JIT_DISABLED:
        return interpreted.gaps_within

    @intrinsic
    def compiled(typingctx: Any, a: Any, b: Any, start: Any, most: Any) -> Any:
        return types.intp(a, b, types.intp, a.dtype), _emit_gaps_within

    return compiled


def prefetch() -> Callable[..., Any]:
    """Return a kernel function ``f(array, place)``: the cache line of a place is read ahead.

    For rows that are looked at in no order, of which the machine guesses none.
    """
    if JIT_DISABLED:
        return interpreted.prefetch

    @intrinsic
    def compiled(typingctx: Any, array: Any, place: Any) -> Any:
        return types.void(array, types.intp), _emit_prefetch

    return compiled


def _arrays(places: tuple[int, ...], context: Any, builder: Any, sig: Any, args: Any) -> list[Any]:
    return [context.make_array(sig.args[place])(context, builder, args[place]) for place in places]


def _emit_add_runs(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    runs, which, factors, sums = _arrays((0, 1, 2, 4), context, builder, sig, args)
    element = sig.args[0].dtype
    vectors = Vectors(element, context, builder)
    fused = ir.FunctionType(vectors.kind, [vectors.kind] * 3)
    name = f"llvm.fmuladd.v{LANES}f{element.bitwidth}"
    multiply_add = cgutils.get_or_insert_function(builder.module, fused, name)
    width = builder.extract_value(sums.shape, 0)
    parts = range(COLUMNS // LANES)
    totals = [cgutils.alloca_once(builder, vectors.kind) for _ in parts]
    with cgutils.for_range_slice(builder, INDEX(0), width, INDEX(COLUMNS), INDEX) as (first, _):
        places = [builder.add(first, INDEX(part * LANES)) for part in parts]
        for place, total in zip(places, totals, strict=True):
            builder.store(vectors.load(sums.data, place), total)
        with cgutils.for_range_slice(builder, INDEX(0), args[3], INDEX(1), INDEX) as (r, _):
            row = builder.load(builder.gep(which.data, [r]))
            start = builder.mul(builder.sext(row, INDEX), width)
            factor = vectors.spread(builder.load(builder.gep(factors.data, [r])))
            for place, total in zip(places, totals, strict=True):
                run = vectors.load(runs.data, builder.add(start, place))
                builder.store(builder.call(multiply_add, [factor, run, builder.load(total)]), total)
        for place, total in zip(places, totals, strict=True):
            vectors.store(builder.load(total), sums.data, place)
    return context.get_dummy_value()


def _emit_least_gap(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    a, b = _arrays((0, 1), context, builder, sig, args)
    vectors = Vectors(sig.args[0].dtype, context, builder)
    infinite = ir.Constant(vectors.kind, [float("inf")] * LANES)
    least = cgutils.alloca_once_value(builder, infinite)
    width = builder.extract_value(a.shape, 0)
    with cgutils.for_range_slice(builder, INDEX(0), width, INDEX(LANES), INDEX) as (c, _):
        gap = builder.fsub(vectors.load(a.data, c), vectors.load(b.data, c))
        builder.store(vectors.smaller(gap, builder.load(least)), least)

    def smaller(x: Any, y: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", x, y), x, y)

    return vectors.fold_in_halves(builder.load(least), smaller)


def _emit_gaps_within(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    a, b = _arrays((0, 1), context, builder, sig, args)
    vectors = Vectors(sig.args[0].dtype, context, builder)
    gap = builder.fsub(vectors.load(a.data, args[2]), vectors.load(b.data, args[2]))
    within = builder.fcmp_ordered("<=", gap, vectors.spread(args[3]))
    return builder.zext(builder.bitcast(within, ir.IntType(LANES)), INDEX)


def _emit_prefetch(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    (array,) = _arrays((0,), context, builder, sig, args)
    place = builder.bitcast(builder.gep(array.data, [args[1]]), ir.IntType(8).as_pointer())
    number = ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
    # To be read, and kept in all caches; data, not code.
    builder.call(function, [place, number(0), number(3), number(1)])
    return context.get_dummy_value()
