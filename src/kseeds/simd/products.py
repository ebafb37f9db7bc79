"""Scalar products of 64 points stored as columns and many others: products in registers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from kseeds.runtime.aligned import aligned
from kseeds.runtime.block_sizes import COLUMNS, LANES
from kseeds.runtime.compiler import JIT_DISABLED, WIDE_REGISTERS, cgutils, intrinsic, ir, types
from kseeds.simd import interpreted
from kseeds.simd.instructions import INDEX, Vectors

ABREAST = 4
"""Factors that are multiplied with the columns at a time; they stand side by side in memory."""


def least_products(together: int) -> Callable[..., Any]:
    """Return a kernel function ``f(tile, factors, added, least, next_least, at)``.

    Entry (k, c) is ``added[k]`` plus the scalar product of column c of ``tile`` and factor k, whose
    coordinate j is ``factors[k // 4 * d + j, k % 4]``. Entries count one by one, or of four
    ``together`` the least only, which is faster. ``least[c]`` becomes the least of column c,
    ``at[c]`` the first k that has it (the first of its four), and ``next_least[c]`` the least of
    all others, infinity if there are none. No table of them is written. The last digits depend on
    the machine, so the result may only rule pairs out.
    """
    if JIT_DISABLED:
        return interpreted.least_products(together)

    @intrinsic
    def compiled(
        typingctx: Any, tile: Any, factors: Any, added: Any, least: Any, next_least: Any, at: Any
    ) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _emit_least_products(together, context, builder, sig, args)

        return types.void(tile, factors, added, least, next_least, at), generate

    return compiled


def products_within() -> Callable[..., Any]:
    """Return a kernel function ``f(tile, factors, added, k, limits, within)``.

    For the four entries from k on (a multiple of 4) of every column, as `least_products` has them:
    bit c % 16 of ``within[q, c // 16]`` tells whether entry k + q of column c is at most
    ``limits[c]``. Returns whether any is.
    """
    if JIT_DISABLED:
        return interpreted.products_within

    @intrinsic
    def compiled(
        typingctx: Any, tile: Any, factors: Any, added: Any, k: Any, limits: Any, within: Any
    ) -> Any:
        result = types.boolean(tile, factors, added, types.intp, limits, within)
        return result, _emit_products_within

    return compiled


def four_products() -> Callable[..., Any]:
    """Return a kernel function ``f(tile, factors, added, k, out)``.

    ``out[q, c]`` becomes entry k + q of column c, as `least_products` has it.
    """
    if JIT_DISABLED:
        return interpreted.four_products

    @intrinsic
    def compiled(typingctx: Any, tile: Any, factors: Any, added: Any, k: Any, out: Any) -> Any:
        return types.void(tile, factors, added, types.intp, out), _emit_four_products

    return compiled


def side_by_side(rows: npt.NDArray[Any], missing: float = 0.0) -> npt.NDArray[Any]:
    """Return rows as factors, four of them side by side, and some value for those missing."""
    m, d = rows.shape
    groups = -(-m // ABREAST)
    whole = np.full((groups * ABREAST, d), missing, dtype=rows.dtype)
    whole[:m] = rows
    factors = aligned((groups * d, ABREAST), rows.dtype)
    factors.reshape(groups, d, ABREAST)[:] = whole.reshape(groups, ABREAST, d).swapaxes(1, 2)
    return factors


class _Products:
    """Emits the sums of some columns with four factors, in registers as far as these go."""

    def __init__(self, context: Any, builder: Any, sig: Any, args: Any) -> None:
        element = sig.args[0].dtype
        self.vectors = Vectors(element, context, builder)
        self._builder = builder
        self._tile, self._factors, self._added = (
            context.make_array(sig.args[place])(context, builder, args[place]) for place in range(3)
        )
        self._d = builder.extract_value(self._tile.shape, 0)
        self.height = builder.extract_value(self._added.shape, 0)
        name = f"llvm.fmuladd.v{LANES}f{element.bitwidth}"
        fused = ir.FunctionType(self.vectors.kind, [self.vectors.kind] * 3)
        self._multiply_add = cgutils.get_or_insert_function(builder.module, fused, name)
        # As many columns and factors at once as have all their sums in registers.
        is_double = element.bitwidth == 64
        wide = 32 if is_double else COLUMNS
        self.width = wide if WIDE_REGISTERS else LANES
        self._at_once = ABREAST // 2 if is_double and not WIDE_REGISTERS else ABREAST
        self.parts = range(self.width // LANES)
        self._sums = [
            [cgutils.alloca_once(builder, self.vectors.kind) for _ in self.parts]
            for _ in range(ABREAST)
        ]

    def over_columns(self) -> Any:
        """Return a loop over the first of the columns at hand."""
        return cgutils.for_range_slice(
            self._builder, INDEX(0), INDEX(COLUMNS), INDEX(self.width), INDEX
        )

    def of(self, first: Any, k: Any) -> list[list[Any]]:
        """Return the entries k to k + 3 of the columns from ``first`` on."""
        builder, vectors = self._builder, self.vectors
        for which, totals in enumerate(self._sums):
            place = builder.gep(self._added.data, [builder.add(k, INDEX(which))])
            shift = vectors.spread(builder.load(place))
            for total in totals:
                builder.store(shift, total)
        for lowest in range(0, ABREAST, self._at_once):
            self._add_products(first, k, range(lowest, lowest + self._at_once))
        return [[builder.load(total) for total in totals] for totals in self._sums]

    def _add_products(self, first: Any, k: Any, factors: range) -> None:
        """Add the products of the columns from ``first`` on and some of the factors from k on."""
        builder, vectors = self._builder, self.vectors
        group = builder.mul(k, self._d)  # four factors a group, four numbers a coordinate
        with cgutils.for_range_slice(builder, INDEX(0), self._d, INDEX(1), INDEX) as (j, _):
            start = builder.add(builder.mul(j, INDEX(COLUMNS)), first)
            columns = [
                vectors.load(self._tile.data, builder.add(start, INDEX(part * LANES)))
                for part in self.parts
            ]
            four = builder.add(group, builder.mul(j, INDEX(ABREAST)))
            for which in factors:
                place = builder.gep(self._factors.data, [builder.add(four, INDEX(which))])
                factor = vectors.spread(builder.load(place))
                for column, total in zip(columns, self._sums[which], strict=True):
                    terms = [factor, column, builder.load(total)]
                    builder.store(builder.call(self._multiply_add, terms), total)


def _emit_least_products(together: int, context: Any, builder: Any, sig: Any, args: Any) -> Any:
    products, numbers = (
        _Products(context, builder, sig, args),
        Vectors(types.int32, context, builder),
    )
    vectors, parts = products.vectors, products.parts
    least, next_least, at = (
        context.make_array(sig.args[place])(context, builder, args[place]) for place in (3, 4, 5)
    )
    infinite = ir.Constant(vectors.kind, [float("inf")] * LANES)
    leasts, nexts = ([cgutils.alloca_once(builder, vectors.kind) for _ in parts] for _ in range(2))
    places = [cgutils.alloca_once(builder, numbers.kind) for _ in parts]
    with products.over_columns() as (first, _):
        for part in parts:
            builder.store(infinite, leasts[part])
            builder.store(infinite, nexts[part])
            builder.store(numbers.zeros, places[part])
        with cgutils.for_range_slice(builder, INDEX(0), products.height, INDEX(ABREAST), INDEX) as (
            k,
            _,
        ):
            found = products.of(first, k)
            if together == ABREAST:
                found = [
                    [functools.reduce(vectors.smaller, four) for four in zip(*found, strict=True)]
                ]
            for which, entries in enumerate(found):
                row = builder.add(builder.trunc(k, ir.IntType(32)), ir.IntType(32)(which))
                number = numbers.spread(row)
                for part, value in enumerate(entries):
                    so_far = builder.load(leasts[part])
                    is_less = builder.fcmp_ordered("<", value, so_far)
                    # The larger of the two cannot be the least, but may be the next.
                    beaten = builder.select(is_less, so_far, value)
                    following = vectors.smaller(beaten, builder.load(nexts[part]))
                    builder.store(following, nexts[part])
                    builder.store(builder.select(is_less, value, so_far), leasts[part])
                    place = builder.select(is_less, number, builder.load(places[part]))
                    builder.store(place, places[part])
        for part in parts:
            start = builder.add(first, INDEX(part * LANES))
            vectors.store(builder.load(leasts[part]), least.data, start)
            vectors.store(builder.load(nexts[part]), next_least.data, start)
            numbers.store(builder.load(places[part]), at.data, start)
    return context.get_dummy_value()


def _emit_four_products(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    products = _Products(context, builder, sig, args)
    out = context.make_array(sig.args[4])(context, builder, args[4])
    with products.over_columns() as (first, _):
        for which, entries in enumerate(products.of(first, args[3])):
            for part, value in enumerate(entries):
                place = builder.add(first, INDEX(which * COLUMNS + part * LANES))
                products.vectors.store(value, out.data, place)
    return context.get_dummy_value()


def _emit_products_within(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    products = _Products(context, builder, sig, args)
    limits, within = (
        context.make_array(sig.args[place])(context, builder, args[place]) for place in (4, 5)
    )
    bits, width = ir.IntType(LANES), INDEX(COLUMNS // LANES)
    any_bits = cgutils.alloca_once_value(builder, bits(0))
    with products.over_columns() as (first, _):
        for which, entries in enumerate(products.of(first, args[3])):
            row = builder.mul(INDEX(which), width)
            for part, value in enumerate(entries):
                start = builder.add(first, INDEX(part * LANES))
                limit = products.vectors.load(limits.data, start)
                mask = builder.bitcast(builder.fcmp_ordered("<=", value, limit), bits)
                place = builder.add(row, builder.udiv(start, INDEX(LANES)))
                builder.store(mask, builder.gep(within.data, [place]))
                builder.store(builder.or_(builder.load(any_bits), mask), any_bits)
    return builder.icmp_unsigned("!=", builder.load(any_bits), bits(0))
