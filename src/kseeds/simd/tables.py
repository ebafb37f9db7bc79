"""Least and largest of values that stand 64 side by side.

As instructions, because in a loop the compiler would first check, every time, that the arrays do
not overlap.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from kseeds.runtime.block_sizes import COLUMNS, LANES
from kseeds.runtime.compiler import JIT_DISABLED, intrinsic, ir, types
from kseeds.simd import interpreted
from kseeds.simd.instructions import INDEX, Vectors


def keep_nearer() -> Callable[..., Any]:
    """Return a kernel function ``f(sums, number, squared, labels)`` of 64 values each.

    Where ``sums[c] < squared[c]``, those become the squared distance and ``number`` the label.
    """
    if JIT_DISABLED:
        return interpreted.keep_nearer

    @intrinsic
    def compiled(typingctx: Any, sums: Any, number: Any, squared: Any, labels: Any) -> Any:
        return types.void(sums, types.intp, squared, labels), _emit_keep_nearer

    return compiled


def keep_two_nearest() -> Callable[..., Any]:
    """Return a kernel function ``f(sums, number, squared, labels, second)`` of 64 values each.

    Where ``sums[c] < squared[c]``, or as much and ``number`` is below the label, those become the
    squared distance and the label. ``second`` is the least of all others.
    """
    if JIT_DISABLED:
        return interpreted.keep_two_nearest

    @intrinsic
    def compiled(
        typingctx: Any, sums: Any, number: Any, squared: Any, labels: Any, second: Any
    ) -> Any:
        result = types.void(sums, types.intp, squared, labels, second)
        return result, _emit_keep_two_nearest

    return compiled


def largest_of_lesser() -> Callable[..., Any]:
    """Return a kernel function ``f(a, b)``: the largest of the lesser of 64 pairs of values."""
    if JIT_DISABLED:
        return interpreted.largest_of_lesser

    @intrinsic
    def compiled(typingctx: Any, a: Any, b: Any) -> Any:
        return a.dtype(a, b), _emit_largest_of_lesser

    return compiled


def _emit_keep_nearer(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    vectors = Vectors(sig.args[0].dtype, context, builder)
    numbers = Vectors(types.int32, context, builder)
    sums, squared, labels = (
        context.make_array(sig.args[place])(context, builder, args[place]) for place in (0, 2, 3)
    )
    number = numbers.spread(builder.trunc(args[1], ir.IntType(32)))
    for part in range(COLUMNS // LANES):
        at = INDEX(part * LANES)
        value, so_far = vectors.load(sums.data, at), vectors.load(squared.data, at)
        is_nearer = builder.fcmp_ordered("<", value, so_far)
        vectors.store(builder.select(is_nearer, value, so_far), squared.data, at)
        label = builder.select(is_nearer, number, numbers.load(labels.data, at))
        numbers.store(label, labels.data, at)
    return context.get_dummy_value()


def _emit_keep_two_nearest(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    vectors = Vectors(sig.args[0].dtype, context, builder)
    numbers = Vectors(types.int32, context, builder)
    sums, squared, labels, second = (
        context.make_array(sig.args[place])(context, builder, args[place]) for place in (0, 2, 3, 4)
    )
    number = numbers.spread(builder.trunc(args[1], ir.IntType(32)))
    for part in range(COLUMNS // LANES):
        at = INDEX(part * LANES)
        value, best = vectors.load(sums.data, at), vectors.load(squared.data, at)
        label = numbers.load(labels.data, at)
        as_near = builder.and_(
            builder.fcmp_ordered("==", value, best), builder.icmp_signed("<", number, label)
        )
        is_nearer = builder.or_(builder.fcmp_ordered("<", value, best), as_near)
        other = builder.select(is_nearer, best, value)
        vectors.store(vectors.smaller(other, vectors.load(second.data, at)), second.data, at)
        vectors.store(builder.select(is_nearer, value, best), squared.data, at)
        numbers.store(builder.select(is_nearer, number, label), labels.data, at)
    return context.get_dummy_value()


def _emit_largest_of_lesser(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    vectors = Vectors(sig.args[0].dtype, context, builder)
    a, b = (context.make_array(sig.args[i])(context, builder, args[i]) for i in range(2))
    lesser = [
        vectors.smaller(vectors.load(a.data, at), vectors.load(b.data, at))
        for at in (INDEX(part * LANES) for part in range(COLUMNS // LANES))
    ]
    largest = functools.reduce(vectors.larger, lesser)
    return vectors.fold_in_halves(largest, vectors.larger)
