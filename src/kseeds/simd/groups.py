"""Squared distances of rows of few coordinates to four centres each, which stand side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kseeds.runtime.block_sizes import COLUMNS
from kseeds.runtime.compiler import JIT_DISABLED, cgutils, intrinsic, ir, types
from kseeds.simd import interpreted
from kseeds.simd.instructions import INDEX
from kseeds.simd.products import ABREAST


def group_squares() -> Callable[..., Any]:
    """Return a kernel function ``f(tile, groups, at, out)``.

    ``out[c, q]`` becomes the squared distance of column c of ``tile`` and centre ``at[c] + q``,
    whose coordinate j is ``groups[(at[c] + q) // 4 * d + j, q]``; ``at[c]`` is a multiple of 4.
    Coordinates are summed one after the other, as those of fewer than 16 are everywhere, so it is
    the distance to the last digit.
    """
    if JIT_DISABLED:
        return interpreted.group_squares

    @intrinsic
    def compiled(typingctx: Any, tile: Any, groups: Any, at: Any, out: Any) -> Any:
        return types.void(tile, groups, at, out), _emit_group_squares

    return compiled


def _emit_group_squares(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    element = sig.args[0].dtype
    tile, groups, at, out = (
        context.make_array(kind)(context, builder, value)
        for kind, value in zip(sig.args, args, strict=True)
    )
    scalar, number = context.get_value_type(element), ir.IntType(32)
    four = ir.VectorType(scalar, ABREAST)
    zeros = ir.Constant(four, [scalar(0)] * ABREAST)
    everywhere = ir.Constant(ir.VectorType(number, ABREAST), [0] * ABREAST)
    d = builder.extract_value(tile.shape, 0)
    total = cgutils.alloca_once(builder, four)

    def pointer(base: Any, place: Any) -> Any:
        return builder.bitcast(builder.gep(base, [place]), four.as_pointer())

    with cgutils.for_range_slice(builder, INDEX(0), INDEX(COLUMNS), INDEX(1), INDEX) as (c, _):
        start = builder.mul(builder.sext(builder.load(builder.gep(at.data, [c])), INDEX), d)
        builder.store(zeros, total)
        with cgutils.for_range_slice(builder, INDEX(0), d, INDEX(1), INDEX) as (j, _):
            place = builder.add(builder.mul(j, INDEX(COLUMNS)), c)
            value = builder.load(builder.gep(tile.data, [place]))
            one = builder.insert_element(zeros, value, number(0))
            centers = builder.load(
                pointer(groups.data, builder.add(start, builder.mul(j, INDEX(ABREAST))))
            )
            centers.align = element.bitwidth // 8
            difference = builder.fsub(builder.shuffle_vector(one, zeros, everywhere), centers)
            square = builder.fmul(difference, difference)
            builder.store(builder.fadd(builder.load(total), square), total)
        stored = builder.store(
            builder.load(total), pointer(out.data, builder.mul(c, INDEX(ABREAST)))
        )
        stored.align = element.bitwidth // 8
    return context.get_dummy_value()
