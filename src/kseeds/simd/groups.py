"""The nearest of four centres for rows of few coordinates; centres stand side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.compiler import JIT_DISABLED, cgutils, intrinsic, ir, types
from kseeds.simd import interpreted
from kseeds.simd.instructions import INDEX
from kseeds.simd.products import ABREAST


def nearest_of_groups() -> Callable[..., Any]:
    """Return a kernel function ``f(tile, groups, at, squared, near)``.

    Column c of ``tile`` is compared with the centres ``at[c]`` to ``at[c] + 3``, whose coordinates
    j are ``groups[at[c] // 4 * d + j]``; ``at[c]`` is a multiple of 4. ``squared[c]`` becomes the
    least squared distance, and ``near[c]`` the first centre that has it. Coordinates are summed one
    after the other, as those of fewer than 16 are everywhere, so it is the distance to the last
    digit.
    """
    if JIT_DISABLED:
        return interpreted.nearest_of_groups

    @intrinsic
    def compiled(typingctx: Any, tile: Any, groups: Any, at: Any, squared: Any, near: Any) -> Any:
        return types.void(tile, groups, at, squared, near), _emit_nearest_of_groups

    return compiled


def _emit_nearest_of_groups(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    element = sig.args[0].dtype
    tile, groups, at, squared, near = (
        context.make_array(kind)(context, builder, value)
        for kind, value in zip(sig.args, args, strict=True)
    )
    scalar, number = context.get_value_type(element), ir.IntType(32)
    four = ir.VectorType(scalar, ABREAST)
    zeros = ir.Constant(four, [scalar(0)] * ABREAST)
    d = builder.extract_value(tile.shape, 0)
    total = cgutils.alloca_once(builder, four)

    def shuffled(vector: Any, lanes: list[int]) -> Any:
        places = ir.Constant(ir.VectorType(number, ABREAST), lanes)
        return builder.shuffle_vector(vector, zeros, places)

    def lesser(vector: Any, lanes: list[int]) -> Any:
        other = shuffled(vector, lanes)
        return builder.select(builder.fcmp_ordered("<", other, vector), other, vector)

    with cgutils.for_range_slice(builder, INDEX(0), INDEX(COLUMNS), INDEX(1), INDEX) as (c, _):
        first = builder.load(builder.gep(at.data, [c]))
        start = builder.mul(builder.sext(first, INDEX), d)
        builder.store(zeros, total)
        with cgutils.for_range_slice(builder, INDEX(0), d, INDEX(1), INDEX) as (j, _):
            place = builder.add(builder.mul(j, INDEX(COLUMNS)), c)
            value = builder.load(builder.gep(tile.data, [place]))
            one = builder.insert_element(zeros, value, number(0))
            place = builder.add(start, builder.mul(j, INDEX(ABREAST)))
            place = builder.bitcast(builder.gep(groups.data, [place]), four.as_pointer())
            centers = builder.load(place)
            centers.align = element.bitwidth // 8
            difference = builder.fsub(shuffled(one, [0] * ABREAST), centers)
            square = builder.fmul(difference, difference)
            builder.store(builder.fadd(builder.load(total), square), total)
        found = builder.load(total)
        least = lesser(lesser(found, [2, 3, 0, 1]), [1, 0, 3, 2])  # in all of the lanes
        bits = builder.bitcast(builder.fcmp_ordered("==", found, least), ir.IntType(ABREAST))
        bits = builder.or_(builder.zext(bits, number), number(1 << (ABREAST - 1)))
        lowest = builder.cttz(bits, ir.IntType(1)(1))
        builder.store(builder.extract_element(least, number(0)), builder.gep(squared.data, [c]))
        builder.store(builder.add(first, lowest), builder.gep(near.data, [c]))
    return context.get_dummy_value()
