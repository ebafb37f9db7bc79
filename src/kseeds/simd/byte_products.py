"""Scalar products of 64 rows of bytes and many others, four coordinates an instruction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kseeds.runtime.block_sizes import COLUMNS, LANES
from kseeds.runtime.compiler import (
    JIT_DISABLED,
    MULTIPLIES_BYTES,
    WIDE_REGISTERS,
    cgutils,
    intrinsic,
    ir,
    types,
)
from kseeds.simd import interpreted
from kseeds.simd.instructions import INDEX, Vectors
from kseeds.simd.products import ABREAST

TOGETHER = 4
"""Coordinates that stand in one word, the first in its lowest byte."""
_WORD = ir.IntType(32)
_WORDS = ir.VectorType(_WORD, LANES)


def byte_products() -> Callable[..., Any]:
    """Return ``f(tile, factors, starts, scales, slopes, added, table, fours, least, at)``.

    For kernels. With Q the whole number ``starts[k]`` plus the scalar product of column c of
    ``tile`` and factor k, entry (k, c) is ``added[k] + slopes[k] * (scales[c] * Q)``, which must be
    a number. Words j of both hold coordinates 4j to 4j + 3: of columns from 0 to 255, of factors
    from −128 to 127. Word j of factor k is ``factors[k // 4 * words + j, k % 4]``. ``table[k, c]``
    becomes the entry, ``fours[g, c]`` the least of the entries 4g to 4g + 3, ``least[c]`` the least
    of column c and ``at[c]`` the first g that has it.
    """
    if JIT_DISABLED:
        return interpreted.byte_products

    @intrinsic
    def compiled(
        typingctx: Any, tile: Any, factors: Any, starts: Any, scales: Any, slopes: Any,
        added: Any, table: Any, fours: Any, least: Any, at: Any,
    ) -> Any:  # fmt: skip
        arrays = (tile, factors, starts, scales, slopes, added, table, fours, least, at)
        return types.void(*arrays), _emit_byte_products

    return compiled


def entries_within() -> Callable[..., Any]:
    """Return a kernel function ``f(table, k, limits)``.

    Bit c of the result tells that ``table[k, c]`` is not more than ``limits[c]``; it is also set
    where one of them is no number.
    """
    if JIT_DISABLED:
        return interpreted.entries_within

    @intrinsic
    def compiled(typingctx: Any, table: Any, k: Any, limits: Any) -> Any:
        return types.int64(table, types.intp, limits), _emit_entries_within

    return compiled


class _Bytes:
    """Emits products of words of four bytes."""

    def __init__(self, builder: Any) -> None:
        self._builder = builder
        name = "llvm.x86.avx512.vpdpbusd.512"
        kind = ir.FunctionType(_WORDS, [_WORDS] * 3)
        self._instruction = (
            cgutils.get_or_insert_function(builder.module, kind, name) if MULTIPLIES_BYTES else None
        )

    def add(self, total: Any, columns: Any, factor: Any) -> Any:
        """Return ``total`` and the products of four bytes each, without and with a sign."""
        if self._instruction is not None:
            return self._builder.call(self._instruction, [total, columns, factor])
        builder = self._builder
        for place in range(TOGETHER):
            low, high = (_all(8 * shift) for shift in (place, TOGETHER - 1 - place))
            value = builder.and_(builder.lshr(columns, low), _all(255))
            signed = builder.ashr(builder.shl(factor, high), _all(24))
            total = builder.add(total, builder.mul(value, signed))
        return total


def _all(value: int) -> Any:
    return ir.Constant(_WORDS, [value] * LANES)


def _emit_byte_products(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    tile, factors, starts, scales, slopes, added, table, fours, least, at = (
        context.make_array(kind)(context, builder, value)
        for kind, value in zip(sig.args, args, strict=True)
    )
    vectors, numbers = (Vectors(kind, context, builder) for kind in (types.float32, types.int32))
    name = f"llvm.fmuladd.v{LANES}f32"
    fused = ir.FunctionType(vectors.kind, [vectors.kind] * 3)
    multiply_add = cgutils.get_or_insert_function(builder.module, fused, name)
    words, height = builder.extract_value(tile.shape, 0), builder.extract_value(added.shape, 0)
    width, multiply = COLUMNS if WIDE_REGISTERS else LANES, _Bytes(builder)
    parts = range(width // LANES)
    sums = [[cgutils.alloca_once(builder, _WORDS) for _ in parts] for _ in range(ABREAST)]
    leasts = [cgutils.alloca_once(builder, vectors.kind) for _ in parts]
    places = [cgutils.alloca_once(builder, _WORDS) for _ in parts]

    def each_of(array: Any, k: Any, which: int, kind: Any) -> Any:
        place = builder.gep(array.data, [builder.add(k, INDEX(which))])
        return kind.spread(builder.load(place))

    with cgutils.for_range_slice(
        builder, INDEX(0), INDEX(COLUMNS), INDEX(width), INDEX
    ) as (first, _):  # fmt: skip
        scale = [
            vectors.load(scales.data, builder.add(first, INDEX(part * LANES))) for part in parts
        ]
        for part in parts:
            builder.store(ir.Constant(vectors.kind, [float("inf")] * LANES), leasts[part])
            builder.store(numbers.zeros, places[part])
        with cgutils.for_range_slice(
            builder, INDEX(0), height, INDEX(ABREAST), INDEX
        ) as (k, _):  # fmt: skip
            for which in range(ABREAST):
                start = each_of(starts, k, which, numbers)
                for part in parts:
                    builder.store(start, sums[which][part])
            group = builder.mul(k, words)  # four factors a group, four numbers a word
            with cgutils.for_range_slice(builder, INDEX(0), words, INDEX(1), INDEX) as (j, _):
                row = builder.add(builder.mul(j, INDEX(COLUMNS)), first)
                columns = [
                    numbers.load(tile.data, builder.add(row, INDEX(part * LANES))) for part in parts
                ]
                four = builder.add(group, builder.mul(j, INDEX(ABREAST)))
                for which in range(ABREAST):
                    factor = each_of(factors, four, which, numbers)
                    for part in parts:
                        total = builder.load(sums[which][part])
                        total = multiply.add(total, columns[part], factor)
                        builder.store(total, sums[which][part])
            smallest: list[Any] = [None for _ in parts]
            for which in range(ABREAST):
                slope, shift = (each_of(array, k, which, vectors) for array in (slopes, added))
                entry_row = builder.mul(builder.add(k, INDEX(which)), INDEX(COLUMNS))
                entry_row = builder.add(entry_row, first)
                for part in parts:
                    product = builder.sitofp(builder.load(sums[which][part]), vectors.kind)
                    scaled = builder.fmul(product, scale[part])
                    entry = builder.call(multiply_add, [slope, scaled, shift])
                    place = builder.add(entry_row, INDEX(part * LANES))
                    vectors.store(entry, table.data, place)
                    so_far = smallest[part]
                    smallest[part] = entry if so_far is None else vectors.smaller(entry, so_far)
            four = builder.udiv(k, INDEX(ABREAST))
            number = numbers.spread(builder.trunc(four, _WORD))
            row = builder.add(builder.mul(four, INDEX(COLUMNS)), first)
            for part in parts:
                vectors.store(smallest[part], fours.data, builder.add(row, INDEX(part * LANES)))
                so_far = builder.load(leasts[part])
                is_less = builder.fcmp_ordered("<", smallest[part], so_far)
                builder.store(builder.select(is_less, smallest[part], so_far), leasts[part])
                before = builder.load(places[part])
                builder.store(builder.select(is_less, number, before), places[part])
        for part in parts:
            start = builder.add(first, INDEX(part * LANES))
            vectors.store(builder.load(leasts[part]), least.data, start)
            numbers.store(builder.load(places[part]), at.data, start)
    return context.get_dummy_value()


def _emit_entries_within(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    table, limits = (
        context.make_array(sig.args[place])(context, builder, args[place]) for place in (0, 2)
    )
    vectors = Vectors(types.float32, context, builder)
    row, masks = builder.mul(args[1], INDEX(COLUMNS)), []
    for part in range(COLUMNS // LANES):
        entry = vectors.load(table.data, builder.add(row, INDEX(part * LANES)))
        limit = vectors.load(limits.data, INDEX(part * LANES))
        masks.append(builder.fcmp_unordered("<=", entry, limit))
    while len(masks) > 1:
        wide = 2 * masks[0].type.count
        lanes = ir.Constant(ir.VectorType(_WORD, wide), list(range(wide)))
        masks = [
            builder.shuffle_vector(low, high, lanes)
            for low, high in zip(masks[::2], masks[1::2], strict=True)
        ]
    return builder.bitcast(masks[0], INDEX)
