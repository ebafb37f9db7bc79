"""Distances to points that are stored as columns, 64 at a time."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from kseeds.runtime.block_sizes import COLUMNS, LANES
from kseeds.runtime.compiler import JIT_DISABLED, cgutils, intrinsic, ir, types
from kseeds.simd import interpreted
from kseeds.simd.instructions import INDEX, Terms, Vectors

_STRETCH = 16
"""About how many coordinates are added between two comparisons of the sums with their limits."""


def column_sums(together: int = COLUMNS) -> Callable[..., Any]:
    """Return a kernel function ``f(A, i, T, first, limits, out)`` for one row against 64 columns.

    Or against so many ``together``, a multiple of 16.

    ``out[c]`` becomes the squared distance of row i of ``A`` and column ``first + c`` of ``T``,
    whose row ``place_of(j, d)`` holds coordinate j; ``first`` may exceed the width of ``T``, to
    select a later group of d rows. Sums are in the order of `kseeds.simd.lane_order`. Returns
    whether any ``out[c] < limits[c]``. All sums stay in registers.

    Terms are not negative and rounding is monotone, so sums only grow: the function stops early,
    with partial sums in ``out``, as soon as every sum has reached its limit.
    """
    if JIT_DISABLED:
        return interpreted.column_sums

    @intrinsic
    def compiled(typingctx: Any, A: Any, i: Any, T: Any, first: Any, limits: Any, out: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _emit_column_sums(together, context, builder, sig, args)

        return types.boolean(A, types.intp, T, types.intp, limits, out), generate

    return compiled


def box_sums() -> Callable[..., Any]:
    """Return a kernel function ``f(lower, upper, t, T, row, first, added, near, far)``.

    For the 64 points in the columns of ``T`` from ``first`` on, its rows from ``row`` on: the
    squared distances to the nearest and to the farthest point of box t. If ``added`` is 1, the
    last coordinate is a norm (of the part that a projection leaves out), and norms add up in the
    farthest case. Returns the least of the 64 farthest distances.
    """
    if JIT_DISABLED:
        return interpreted.box_sums

    @intrinsic
    def compiled(
        typingctx: Any, lower: Any, upper: Any, t: Any, T: Any, row: Any, first: Any, added: Any,
        near: Any, far: Any,
    ) -> Any:  # fmt: skip
        whole = types.intp
        result = lower.dtype(lower, upper, whole, T, whole, whole, whole, near, far)
        return result, _emit_box_sums

    return compiled


def compare_pair() -> Callable[..., Any]:
    """Return a kernel function ``f(A, i, k, T, first, number_i, number_k, best, near)``.

    Compares two centres, rows i and k of ``A``, with 64 points, columns of ``T`` that are stored
    and summed as for `column_sums`: where a centre is nearer than ``best[c]``, or as near and of
    a smaller number than ``near[c]``, those become its squared distance and number. Branch-free,
    as the outcome is unpredictable, and without early exit: for fewer than 16 coordinates.
    """
    if JIT_DISABLED:
        return interpreted.compare_pair

    @intrinsic
    def compiled(
        typingctx: Any, A: Any, i: Any, k: Any, T: Any, first: Any, number_i: Any, number_k: Any,
        best: Any, near: Any,
    ) -> Any:  # fmt: skip
        whole = types.intp
        result = types.void(A, whole, whole, T, whole, whole, whole, best, near)
        return result, _emit_compare_pair

    return compiled


def compare_with_gap() -> Callable[..., Any]:
    """Return a kernel function ``f(A, i, T, first, number, best, near, roots)``.

    Compares row i of ``A`` with 64 points as `compare_pair` does; ``roots`` are the roots of
    ``best``, before and after. Returns the least of the 64 distances less the roots before: by how
    much the centre is farther from every point than what that had. For fewer than 16 coordinates.
    """
    if JIT_DISABLED:
        return interpreted.compare_with_gap

    @intrinsic
    def compiled(
        typingctx: Any, A: Any, i: Any, T: Any, first: Any, number: Any, best: Any, near: Any,
        roots: Any,
    ) -> Any:  # fmt: skip
        whole = types.intp
        result = A.dtype(A, whole, T, whole, whole, best, near, roots)
        return result, _emit_compare_with_gap

    return compiled


def group_minima() -> Callable[..., Any]:
    """Return a kernel function ``f(tile, T, first, limits, all, least, g)``: 64 rows, 16 centres.

    ``all[16 g + k, c]`` becomes the squared distance of column c of the tile to column
    ``first + k`` of ``T``, and ``least[g, c]`` the least of these 16. Two centres at a time, with
    fused multiply-adds where the machine has them: the last digits depend on the machine, so the
    result may only rule pairs out. Sums that exceed the limits of all 64 columns are not completed.
    """
    if JIT_DISABLED:
        return interpreted.group_minima

    @intrinsic
    def compiled(
        typingctx: Any, tile: Any, T: Any, first: Any, limits: Any, all: Any, least: Any, g: Any
    ) -> Any:
        result = types.void(tile, T, types.intp, limits, all, least, types.intp)
        return result, _emit_group_minima

    return compiled


def _emit_column_sums(together: int, context: Any, builder: Any, sig: Any, args: Any) -> Any:
    terms, vectors = Terms("square", builder), Vectors(sig.args[0].dtype, context, builder)
    a, t, limits, out = (
        context.make_array(sig.args[place])(context, builder, args[place]) for place in (0, 2, 4, 5)
    )
    columns = builder.extract_value(a.shape, 1)
    width = builder.extract_value(t.shape, 1)
    row = builder.gep(a.data, [builder.mul(args[1], columns)])
    parts = range(together // LANES)
    totals, fours, lane_sums = (
        [cgutils.alloca_once_value(builder, vectors.zeros) for _ in parts] for _ in range(3)
    )
    below = cgutils.alloca_once_value(builder, ir.Constant(ir.IntType(1), 1))

    def squares_of(j: Any, place: Any) -> list[Any]:
        x = vectors.spread(builder.load(builder.gep(row, [j])))
        start = builder.add(builder.mul(place, width), args[3])
        at = [builder.add(start, INDEX(part * LANES)) for part in parts]
        return [terms.of(x, vectors.load(t.data, part), vectors.zeros) for part in at]

    def values_of(sums: list[Any]) -> list[Any]:
        return [builder.load(total) for total in sums]

    def put(values: list[Any], sums: list[Any]) -> None:
        for value, total in zip(values, sums, strict=True):
            builder.store(value, total)

    def added(values: list[Any], sums: list[Any]) -> list[Any]:
        return [terms.combine(x, y) for x, y in zip(values_of(sums), values, strict=True)]

    def compare(reached: list[Any]) -> None:
        under = [
            builder.fcmp_ordered("<", value, vectors.load(limits.data, INDEX(part * LANES)))
            for part, value in enumerate(reached)
        ]
        builder.store(_any(builder, under), below)

    full = builder.and_(columns, INDEX(-LANES))
    length = builder.sdiv(full, INDEX(LANES))
    every_lane = builder.icmp_signed(">=", length, INDEX(_STRETCH // 2))
    every_four = builder.icmp_signed(">=", length, INDEX(_STRETCH // 4 - 1))
    with (
        builder.if_then(builder.icmp_signed(">", full, INDEX(0))),
        cgutils.for_range_slice(builder, INDEX(0), INDEX(4), INDEX(1), INDEX) as (first, _),
    ):
        for turn in range(4):
            with builder.if_then(builder.load(below)):
                lane = builder.add(first, INDEX(4 * turn))
                number = builder.add(builder.mul(first, INDEX(4)), INDEX(turn))
                place = builder.mul(number, length)
                put(squares_of(lane, place), lane_sums)
                with cgutils.for_range_slice(builder, INDEX(1), length, INDEX(1), INDEX) as (at, _):
                    j = builder.add(lane, builder.mul(at, INDEX(LANES)))
                    put(added(squares_of(j, builder.add(place, at)), lane_sums), lane_sums)
                four = added(values_of(lane_sums), fours) if turn else values_of(lane_sums)
                put(four, fours)
                if turn < 3:
                    with builder.if_then(every_lane):
                        # Sums can only grow, so partial sums may be compared already.
                        compare(added(four, totals))
                else:
                    put(added(four, totals), totals)
                    is_last = builder.icmp_signed("==", first, INDEX(3))
                    with builder.if_then(builder.or_(is_last, every_four)):
                        compare(values_of(totals))
    is_rest = builder.icmp_signed("<", full, columns)
    with builder.if_then(builder.and_(is_rest, builder.load(below))):
        with cgutils.for_range_slice(builder, full, columns, INDEX(1), INDEX) as (j, _):
            put(added(squares_of(j, j), totals), totals)
        compare(values_of(totals))
    for part, total in enumerate(totals):
        vectors.store(builder.load(total), out.data, INDEX(part * LANES))
    return builder.load(below)


def _emit_group_minima(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    vectors = Vectors(sig.args[0].dtype, context, builder)
    tile, t, limits, whole, table = (
        context.make_array(sig.args[place])(context, builder, args[place])
        for place in (0, 1, 3, 4, 5)
    )
    d, width = builder.extract_value(tile.shape, 0), builder.extract_value(t.shape, 1)
    parts, pair = range(COLUMNS // LANES), range(2)
    name = f"llvm.fmuladd.v{LANES}f{sig.args[0].dtype.bitwidth}"
    fused = ir.FunctionType(vectors.kind, [vectors.kind] * 3)
    multiply_add = cgutils.get_or_insert_function(builder.module, fused, name)
    infinite = ir.Constant(vectors.kind, [float("inf")] * LANES)
    minima = [cgutils.alloca_once_value(builder, infinite) for _ in parts]
    with cgutils.for_range_slice(builder, INDEX(0), INDEX(LANES), INDEX(2), INDEX) as (k, _):
        sums = [[cgutils.alloca_once_value(builder, vectors.zeros) for _ in parts] for _ in pair]
        open_ = cgutils.alloca_once_value(builder, ir.IntType(1)(1))
        with cgutils.for_range_slice(builder, INDEX(0), d, INDEX(_STRETCH), INDEX) as (lo, _):
            hi = builder.add(lo, INDEX(_STRETCH))
            more = builder.icmp_signed("<", hi, d)
            with builder.if_then(builder.load(open_)):
                last = builder.select(more, hi, d)
                with cgutils.for_range_slice(builder, lo, last, INDEX(1), INDEX) as (j, _):
                    start = builder.add(builder.add(builder.mul(j, width), args[2]), k)
                    ours = builder.mul(j, INDEX(COLUMNS))
                    rows = [
                        vectors.load(tile.data, builder.add(ours, INDEX(part * LANES)))
                        for part in parts
                    ]
                    for which in pair:
                        at = builder.gep(t.data, [builder.add(start, INDEX(which))])
                        center = vectors.spread(builder.load(at))
                        for row, total in zip(rows, sums[which], strict=True):
                            delta = builder.fsub(center, row)
                            value = builder.call(multiply_add, [delta, delta, builder.load(total)])
                            builder.store(value, total)
                with builder.if_then(more):
                    within = [
                        builder.fcmp_ordered("<=", builder.load(totals[part]), limit)
                        for part in parts
                        for limit in [vectors.load(limits.data, INDEX(part * LANES))]
                        for totals in sums
                    ]
                    builder.store(_any(builder, within), open_)
        for which, totals in enumerate(sums):
            number = builder.add(builder.mul(args[6], INDEX(LANES)), builder.add(k, INDEX(which)))
            for part, least in enumerate(minima):
                value = builder.load(totals[part])
                at = builder.add(builder.mul(number, INDEX(COLUMNS)), INDEX(part * LANES))
                vectors.store(value, whole.data, at)
                builder.store(vectors.smaller(value, builder.load(least)), least)
    start = builder.mul(args[6], INDEX(COLUMNS))
    for part, least in enumerate(minima):
        vectors.store(builder.load(least), table.data, builder.add(start, INDEX(part * LANES)))
    return context.get_dummy_value()


def _any(builder: Any, lanes: list[Any]) -> Any:
    """Return whether any lane of any of these vectors of booleans is set."""
    bits = builder.bitcast(functools.reduce(builder.or_, lanes), ir.IntType(LANES))
    return builder.icmp_unsigned("!=", bits, ir.IntType(LANES)(0))


def _emit_compare_pair(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    terms, vectors = Terms("square", builder), Vectors(sig.args[0].dtype, context, builder)
    labels = Vectors(types.int32, context, builder)
    a, t, best, near = (
        context.make_array(sig.args[place])(context, builder, args[place]) for place in (0, 3, 7, 8)
    )
    d, width = builder.extract_value(a.shape, 1), builder.extract_value(t.shape, 1)
    rows = [builder.gep(a.data, [builder.mul(args[place], d)]) for place in (1, 2)]
    parts = range(COLUMNS // LANES)
    sums = [[cgutils.alloca_once_value(builder, vectors.zeros) for _ in parts] for _ in rows]
    with cgutils.for_range_slice(builder, INDEX(0), d, INDEX(1), INDEX) as (j, _):
        start = builder.add(builder.mul(j, width), args[4])
        spread = [vectors.spread(builder.load(builder.gep(row, [j]))) for row in rows]
        for part in parts:
            y = vectors.load(t.data, builder.add(start, INDEX(part * LANES)))
            for x, totals in zip(spread, sums, strict=True):
                total = terms.combine(builder.load(totals[part]), terms.of(x, y, vectors.zeros))
                builder.store(total, totals[part])
    numbers = [labels.spread(builder.trunc(args[place], ir.IntType(32))) for place in (5, 6)]
    ties = []
    for part in parts:
        at = INDEX(part * LANES)
        least, label = vectors.load(best.data, at), labels.load(near.data, at)
        for number, totals in zip(numbers, sums, strict=True):
            total = builder.load(totals[part])
            ties.append(builder.fcmp_ordered("==", total, least))
            is_nearer = builder.fcmp_ordered("<", total, least)
            least = builder.select(is_nearer, total, least)
            label = builder.select(is_nearer, number, label)
        vectors.store(least, best.data, at)
        labels.store(label, near.data, at)
    with builder.if_then(_any(builder, ties), likely=False):
        for part in parts:
            at = INDEX(part * LANES)
            least, label = vectors.load(best.data, at), labels.load(near.data, at)
            for number, totals in zip(numbers, sums, strict=True):
                as_near = builder.fcmp_ordered("==", builder.load(totals[part]), least)
                earlier = builder.icmp_signed("<", number, label)
                label = builder.select(builder.and_(as_near, earlier), number, label)
            labels.store(label, near.data, at)
    return context.get_dummy_value()


def _emit_compare_with_gap(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    terms, vectors = Terms("square", builder), Vectors(sig.args[0].dtype, context, builder)
    labels = Vectors(types.int32, context, builder)
    a, t, best, near, roots = (
        context.make_array(sig.args[place])(context, builder, args[place])
        for place in (0, 2, 5, 6, 7)
    )
    d, width = builder.extract_value(a.shape, 1), builder.extract_value(t.shape, 1)
    row = builder.gep(a.data, [builder.mul(args[1], d)])
    places = [INDEX(part * LANES) for part in range(COLUMNS // LANES)]
    sums = [cgutils.alloca_once_value(builder, vectors.zeros) for _ in places]
    with cgutils.for_range_slice(builder, INDEX(0), d, INDEX(1), INDEX) as (j, _):
        start = builder.add(builder.mul(j, width), args[3])
        x = vectors.spread(builder.load(builder.gep(row, [j])))
        for at, total in zip(places, sums, strict=True):
            y = vectors.load(t.data, builder.add(start, at))
            value = terms.combine(builder.load(total), terms.of(x, y, vectors.zeros))
            builder.store(value, total)
    name = f"llvm.sqrt.v{LANES}f{sig.args[0].dtype.bitwidth}"
    root_of = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(vectors.kind, [vectors.kind]), name
    )
    totals = [builder.load(total) for total in sums]
    lengths = [builder.call(root_of, [total]) for total in totals]
    gaps = [
        builder.fsub(length, vectors.load(roots.data, at))
        for at, length in zip(places, lengths, strict=True)
    ]
    within = [
        builder.fcmp_ordered("<=", total, vectors.load(best.data, at))
        for at, total in zip(places, totals, strict=True)
    ]
    with builder.if_then(_any(builder, within)):
        number = labels.spread(builder.trunc(args[4], ir.IntType(32)))
        for at, total, length in zip(places, totals, lengths, strict=True):
            least, label = vectors.load(best.data, at), labels.load(near.data, at)
            as_near = builder.and_(
                builder.fcmp_ordered("==", total, least), builder.icmp_signed("<", number, label)
            )
            is_nearer = builder.or_(builder.fcmp_ordered("<", total, least), as_near)
            root = vectors.load(roots.data, at)
            vectors.store(builder.select(is_nearer, total, least), best.data, at)
            vectors.store(builder.select(is_nearer, length, root), roots.data, at)
            labels.store(builder.select(is_nearer, number, label), near.data, at)
    return vectors.fold_in_halves(functools.reduce(vectors.smaller, gaps), vectors.smaller)


def _emit_box_sums(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    vectors = Vectors(sig.args[0].dtype, context, builder)
    scalar = vectors.scalar
    lower, upper, columns, near, far = (
        context.make_array(sig.args[place])(context, builder, args[place])
        for place in (0, 1, 3, 7, 8)
    )
    d = builder.extract_value(lower.shape, 1)
    width = builder.extract_value(columns.shape, 1)
    row = builder.mul(args[2], d)
    parts = range(COLUMNS // LANES)
    nears = [cgutils.alloca_once_value(builder, vectors.zeros) for _ in parts]
    fars = [cgutils.alloca_once_value(builder, vectors.zeros) for _ in parts]

    def add_square(total: Any, value: Any) -> None:
        builder.store(builder.fadd(builder.load(total), builder.fmul(value, value)), total)

    with cgutils.for_range_slice(builder, INDEX(0), d, INDEX(1), INDEX) as (j, _):
        low = vectors.spread(builder.load(builder.gep(lower.data, [builder.add(row, j)])))
        high = vectors.spread(builder.load(builder.gep(upper.data, [builder.add(row, j)])))
        is_last = builder.icmp_signed("==", builder.add(j, INDEX(1)), d)
        is_norm = builder.and_(is_last, builder.icmp_signed("!=", args[6], INDEX(0)))
        one, minus = ir.Constant(scalar, 1.0), ir.Constant(scalar, -1.0)
        sign = vectors.spread(builder.select(is_norm, one, minus))
        start = builder.add(builder.mul(builder.add(args[4], j), width), args[5])
        for part in parts:
            value = vectors.load(columns.data, builder.add(start, INDEX(part * LANES)))
            below, above = builder.fsub(low, value), builder.fsub(value, high)
            add_square(nears[part], vectors.larger(vectors.larger(below, above), vectors.zeros))
            opposite = builder.fadd(high, builder.fmul(sign, value))
            add_square(fars[part], vectors.larger(opposite, builder.fneg(below)))
    least = builder.load(fars[0])
    for part in parts:
        at = builder.add(args[5], INDEX(part * LANES))
        farthest = builder.load(fars[part])
        vectors.store(builder.load(nears[part]), near.data, at)
        vectors.store(farthest, far.data, at)
        least = vectors.smaller(farthest, least)
    return vectors.fold_in_halves(least, vectors.smaller)
