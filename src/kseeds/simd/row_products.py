"""Scalar products of 16 rows as they are and 16 others at a time, in registers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kseeds.runtime.block_sizes import LANES
from kseeds.runtime.compiler import JIT_DISABLED, WIDE_REGISTERS, cgutils, intrinsic, ir, types
from kseeds.simd import interpreted
from kseeds.simd.instructions import INDEX, Vectors


def row_products() -> Callable[..., Any]:
    """Return a kernel function ``f(rows, tile, added, k, limits, out, within)``.

    Entry (r, q) is ``added[k + q]`` plus the scalar product of row r, of 16, and factor k + q,
    whose coordinate j is ``tile[k // 16 * d + j, q]``; k is a multiple of 16. ``out[r, q]`` becomes
    that entry, and bit q of ``within[r]`` tells whether it is at most ``limits[r]``. Returns
    whether any is. The last digits depend on the machine, so the result may only rule pairs out.
    """
    if JIT_DISABLED:
        return interpreted.row_products

    @intrinsic
    def compiled(
        typingctx: Any, rows: Any, tile: Any, added: Any, k: Any, limits: Any, out: Any, within: Any
    ) -> Any:
        result = types.boolean(rows, tile, added, types.intp, limits, out, within)
        return result, _emit_row_products

    return compiled


def lowest_bit() -> Callable[..., Any]:
    """Return a kernel function ``f(bits)``: the place of the lowest bit that is set."""
    if JIT_DISABLED:
        return interpreted.lowest_bit

    @intrinsic
    def compiled(typingctx: Any, bits: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.cttz(args[0], ir.IntType(1)(1))

        return types.int64(types.int64), generate

    return compiled


def _emit_row_products(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    element = sig.args[0].dtype
    vectors = Vectors(element, context, builder)
    rows, tile, added, limits, out, within = (
        context.make_array(sig.args[place])(context, builder, args[place])
        for place in (0, 1, 2, 4, 5, 6)
    )
    d, k, bits = builder.extract_value(rows.shape, 1), args[3], ir.IntType(LANES)
    fused = ir.FunctionType(vectors.kind, [vectors.kind] * 3)
    name = f"llvm.fmuladd.v{LANES}f{element.bitwidth}"
    multiply_add = cgutils.get_or_insert_function(builder.module, fused, name)
    # As many rows at once as have their sums in registers.
    abreast = (16 if WIDE_REGISTERS else 4) * 32 // element.bitwidth
    sums = [cgutils.alloca_once(builder, vectors.kind) for _ in range(abreast)]
    any_bits = cgutils.alloca_once_value(builder, bits(0))
    start = builder.mul(k, d)  # sixteen factors a group, sixteen numbers a coordinate
    with cgutils.for_range_slice(builder, INDEX(0), INDEX(LANES), INDEX(abreast), INDEX) as (r, _):
        shift = vectors.load(added.data, k)
        for total in sums:
            builder.store(shift, total)
        begins = [
            builder.gep(rows.data, [builder.mul(builder.add(r, INDEX(row)), d)])
            for row in range(abreast)
        ]
        with cgutils.for_range_slice(builder, INDEX(0), d, INDEX(1), INDEX) as (j, _):
            factors = vectors.load(tile.data, builder.add(start, builder.mul(j, INDEX(LANES))))
            for begin, total in zip(begins, sums, strict=True):
                value = vectors.spread(builder.load(builder.gep(begin, [j])))
                terms = [value, factors, builder.load(total)]
                builder.store(builder.call(multiply_add, terms), total)
        for row, total in enumerate(sums):
            number, value = builder.add(r, INDEX(row)), builder.load(total)
            vectors.store(value, out.data, builder.mul(number, INDEX(LANES)))
            limit = vectors.spread(builder.load(builder.gep(limits.data, [number])))
            mask = builder.bitcast(builder.fcmp_ordered("<=", value, limit), bits)
            builder.store(mask, builder.gep(within.data, [number]))
            builder.store(builder.or_(builder.load(any_bits), mask), any_bits)
    return builder.icmp_unsigned("!=", builder.load(any_bits), bits(0))
