"""The one door to the compiler.

No other module imports Numba. Importing this one costs what importing Numba costs, so only
the kernels do, and the kernels are imported by the call that first needs them.

``KSEEDS_CACHE=0`` turns the on-disk cache of compiled kernels off. Where no folder can be
written (a read-only install without a home), kernels are compiled afresh in every process.
Numba's own ``NUMBA_CACHE_DIR``, ``NUMBA_BOUNDSCHECK`` and ``NUMBA_DISABLE_JIT`` work as usual.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from kseeds import interpreted
from kseeds.layout import COLUMNS, LANES

F = TypeVar("F", bound=Callable[..., Any])


JIT_DISABLED = bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined]


def kernel(function: F) -> F:
    """Compile ``function`` on its first call: no GIL, strict arithmetic, cached on disk."""
    return _compiled(function, {"nogil": True})


def inlined(function: F) -> F:
    """Compile a small function into its callers: a call with arrays costs some 20 ns."""
    return _compiled(function, {"nogil": True, "forceinline": True})


def _compiled(function: F, options: dict[str, Any]) -> F:
    if os.environ.get("KSEEDS_CACHE", "1") != "0":
        try:
            return cast(F, numba.njit(cache=True, **options)(function))
        except RuntimeError as error:
            # Raised while decorating when there is nowhere to keep the cache (numba #4908).
            if "cannot cache" not in str(error):
                raise
    return cast(F, numba.njit(**options)(function))


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


def column_sums() -> Callable[..., Any]:
    """Return a kernel function ``f(A, i, T, first, limits, out)`` for one row against 64 columns.

    ``out[c]`` becomes the sum over j of the squared difference of ``A[i, j]`` and the value
    ``first + c`` places after the start of row j of ``T`` (so that ``first`` may lead to a later
    group of rows), added one j after the other (the order of `kseeds.distances` below 16
    coordinates). Returns whether any ``out[c] < limits[c]``. All 64 sums stay in registers.

    Terms are not negative and rounding is monotone, so sums only grow: the function gives up,
    with whatever is in ``out`` by then, as soon as every sum has reached its limit.
    """
    if JIT_DISABLED:
        return interpreted.column_sums

    @intrinsic
    def compiled(typingctx: Any, A: Any, i: Any, T: Any, first: Any, limits: Any, out: Any) -> Any:
        result = types.boolean(A, types.intp, T, types.intp, limits, out)
        return result, _emit_column_sums

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


def box_sums() -> Callable[..., Any]:
    """Return a kernel function ``f(lower, upper, t, T, first, added, near, far)``.

    For the 64 points in the columns of ``T`` from ``first`` on: the squared distances to the
    nearest and to the farthest place of the box of row t. Where ``added`` is 1 the last
    coordinate is a norm, and norms add up in the farthest case. Returns the least of the 64
    farthest distances.
    """
    if JIT_DISABLED:
        return interpreted.box_sums

    @intrinsic
    def compiled(
        typingctx: Any, lower: Any, upper: Any, t: Any, T: Any, first: Any, added: Any,
        near: Any, far: Any,
    ) -> Any:  # fmt: skip
        whole = types.intp
        result = lower.dtype(lower, upper, whole, T, whole, whole, near, far)
        return result, _emit_box_sums

    return compiled


def meet_pair() -> Callable[..., Any]:
    """Return a kernel function ``f(A, i, k, T, first, number_i, number_k, best, near)``.

    Two rows of ``A``, centres, meet 64 columns of ``T``, rows, laid out and summed as for
    `column_sums`: where a centre is nearer than ``best[c]``, or as near and of a smaller number
    than ``near[c]``, those become its squared distance and number. There is no branch on which
    columns that happens to, which is anyone's guess, and no early end: for few coordinates.
    """
    if JIT_DISABLED:
        return interpreted.meet_pair

    @intrinsic
    def compiled(
        typingctx: Any, A: Any, i: Any, k: Any, T: Any, first: Any, number_i: Any, number_k: Any,
        best: Any, near: Any,
    ) -> Any:  # fmt: skip
        whole = types.intp
        result = types.void(A, whole, whole, T, whole, whole, whole, best, near)
        return result, _emit_meet_pair

    return compiled


class _Terms:
    """Writes the instructions of one term and of its running combination."""

    def __init__(self, term: str, builder: Any) -> None:
        self._term = term
        self._builder = builder

    def of(self, x: Any, y: Any, zero: Any) -> Any:
        builder = self._builder
        plus = self._term == "square_of_sum"
        difference = builder.fadd(x, y) if plus else builder.fsub(x, y)
        if self._term in ("abs", "max_abs"):
            negative = builder.fcmp_ordered("<", difference, zero)
            return builder.select(negative, builder.fneg(difference), difference)
        return builder.fmul(difference, difference)

    def combine(self, total: Any, value: Any) -> Any:
        if self._term == "max_abs":
            larger = self._builder.fcmp_ordered(">", value, total)
            return self._builder.select(larger, value, total)
        return self._builder.fadd(total, value)


class _Vectors:
    """Vectors of one element type: loading, storing and folding them."""

    def __init__(self, element: Any, context: Any, builder: Any) -> None:
        self.scalar = context.get_value_type(element)
        self.kind = ir.VectorType(self.scalar, LANES)
        self.zeros = ir.Constant(self.kind, [self.scalar(0)] * LANES)
        self._align = element.bitwidth // 8
        self._builder = builder

    def pointer(self, base: Any, at: Any) -> Any:
        return self._builder.bitcast(self._builder.gep(base, [at]), self.kind.as_pointer())

    def load(self, base: Any, at: Any) -> Any:
        loaded = self._builder.load(self.pointer(base, at))
        loaded.align = self._align
        return loaded

    def store(self, value: Any, base: Any, at: Any) -> None:
        self._builder.store(value, self.pointer(base, at)).align = self._align

    def smaller(self, x: Any, y: Any) -> Any:
        return self._builder.select(self._builder.fcmp_ordered("<", x, y), x, y)

    def larger(self, x: Any, y: Any) -> Any:
        return self._builder.select(self._builder.fcmp_ordered(">", x, y), x, y)

    def spread(self, value: Any) -> Any:
        """Return a vector with ``value`` in every lane."""
        one = self._builder.insert_element(self.zeros, value, ir.IntType(32)(0))
        first = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self._builder.shuffle_vector(one, self.zeros, first)

    def fold(self, vector: Any, combine: Callable[[Any, Any], Any]) -> Any:
        """Combine the lanes in halves."""
        width = LANES
        while width > 1:
            half = width // 2
            undefined = ir.Constant(ir.VectorType(self.scalar, width), ir.Undefined)
            picks = ir.VectorType(ir.IntType(32), half)
            parts = [
                self._builder.shuffle_vector(vector, undefined, ir.Constant(picks, list(lanes)))
                for lanes in (range(half), range(half, width))
            ]
            vector, width = combine(*parts), half
        return self._builder.extract_element(vector, ir.IntType(32)(0))


_INDEX = ir.IntType(64)

_STRETCH = 16
"""Coordinates after which sums of columns are compared with their limits."""


def _emit_lane_sum(term: str, context: Any, builder: Any, sig: Any, args: Any) -> Any:
    terms, vectors = _Terms(term, builder), _Vectors(sig.args[0].dtype, context, builder)
    a = context.make_array(sig.args[0])(context, builder, args[0])
    b = context.make_array(sig.args[2])(context, builder, args[2])
    columns = builder.extract_value(a.shape, 1)
    row_a = builder.gep(a.data, [builder.mul(args[1], columns)])
    row_b = builder.gep(b.data, [builder.mul(args[3], columns)])
    full = builder.and_(columns, _INDEX(-LANES))
    total = cgutils.alloca_once_value(builder, ir.Constant(vectors.scalar, 0.0))
    with builder.if_then(builder.icmp_signed(">", full, _INDEX(0))):
        lanes = cgutils.alloca_once_value(builder, vectors.zeros)
        with cgutils.for_range_slice(builder, _INDEX(0), full, _INDEX(LANES), _INDEX) as (at, _):
            value = terms.of(vectors.load(row_a, at), vectors.load(row_b, at), vectors.zeros)
            builder.store(terms.combine(builder.load(lanes), value), lanes)
        builder.store(vectors.fold(builder.load(lanes), terms.combine), total)
    with cgutils.for_range_slice(builder, full, columns, _INDEX(1), _INDEX) as (at, _):
        x, y = builder.load(builder.gep(row_a, [at])), builder.load(builder.gep(row_b, [at]))
        value = terms.of(x, y, ir.Constant(vectors.scalar, 0.0))
        builder.store(terms.combine(builder.load(total), value), total)
    return builder.load(total)


def _emit_column_sums(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    terms, vectors = _Terms("square", builder), _Vectors(sig.args[0].dtype, context, builder)
    a, t, limits, out = (
        context.make_array(sig.args[place])(context, builder, args[place]) for place in (0, 2, 4, 5)
    )
    columns = builder.extract_value(a.shape, 1)
    width = builder.extract_value(t.shape, 1)
    row = builder.gep(a.data, [builder.mul(args[1], columns)])
    sums = [cgutils.alloca_once_value(builder, vectors.zeros) for _ in range(COLUMNS // LANES)]
    below = cgutils.alloca_once_value(builder, ir.Constant(ir.IntType(1), 1))

    with cgutils.for_range_slice(builder, _INDEX(0), columns, _INDEX(_STRETCH), _INDEX) as (lo, _):
        hi = builder.add(lo, _INDEX(_STRETCH))
        hi = builder.select(builder.icmp_signed("<", hi, columns), hi, columns)
        with builder.if_then(builder.load(below)):
            with cgutils.for_range_slice(builder, lo, hi, _INDEX(1), _INDEX) as (j, _):
                x = vectors.spread(builder.load(builder.gep(row, [j])))
                start = builder.add(builder.mul(j, width), args[3])
                for part, total in enumerate(sums):
                    y = vectors.load(t.data, builder.add(start, _INDEX(part * LANES)))
                    value = terms.of(x, y, vectors.zeros)
                    builder.store(terms.combine(builder.load(total), value), total)
            found = None
            for part, total in enumerate(sums):
                limit = vectors.load(limits.data, _INDEX(part * LANES))
                under = builder.fcmp_ordered("<", builder.load(total), limit)
                found = under if found is None else builder.or_(found, under)
            bits = builder.bitcast(found, ir.IntType(LANES))
            builder.store(builder.icmp_unsigned("!=", bits, ir.IntType(LANES)(0)), below)
    for part, total in enumerate(sums):
        vectors.store(builder.load(total), out.data, _INDEX(part * LANES))
    return builder.load(below)


def _emit_meet_pair(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    terms, vectors = _Terms("square", builder), _Vectors(sig.args[0].dtype, context, builder)
    labels = _Vectors(types.int32, context, builder)
    a, t, best, near = (
        context.make_array(sig.args[place])(context, builder, args[place]) for place in (0, 3, 7, 8)
    )
    d, width = builder.extract_value(a.shape, 1), builder.extract_value(t.shape, 1)
    rows = [builder.gep(a.data, [builder.mul(args[place], d)]) for place in (1, 2)]
    parts = range(COLUMNS // LANES)
    sums = [[cgutils.alloca_once_value(builder, vectors.zeros) for _ in parts] for _ in rows]
    with cgutils.for_range_slice(builder, _INDEX(0), d, _INDEX(1), _INDEX) as (j, _):
        start = builder.add(builder.mul(j, width), args[4])
        spread = [vectors.spread(builder.load(builder.gep(row, [j]))) for row in rows]
        for part in parts:
            y = vectors.load(t.data, builder.add(start, _INDEX(part * LANES)))
            for x, totals in zip(spread, sums, strict=True):
                total = terms.combine(builder.load(totals[part]), terms.of(x, y, vectors.zeros))
                builder.store(total, totals[part])
    numbers = [labels.spread(builder.trunc(args[place], ir.IntType(32))) for place in (5, 6)]
    ties = []
    for part in parts:
        at = _INDEX(part * LANES)
        least, label = vectors.load(best.data, at), labels.load(near.data, at)
        for number, totals in zip(numbers, sums, strict=True):
            total = builder.load(totals[part])
            ties.append(builder.fcmp_ordered("==", total, least))
            is_nearer = builder.fcmp_ordered("<", total, least)
            least = builder.select(is_nearer, total, least)
            label = builder.select(is_nearer, number, label)
        vectors.store(least, best.data, at)
        labels.store(label, near.data, at)
    bits = builder.bitcast(functools.reduce(builder.or_, ties), ir.IntType(LANES))
    with builder.if_then(builder.icmp_unsigned("!=", bits, ir.IntType(LANES)(0)), likely=False):
        for part in parts:
            at = _INDEX(part * LANES)
            least, label = vectors.load(best.data, at), labels.load(near.data, at)
            for number, totals in zip(numbers, sums, strict=True):
                as_near = builder.fcmp_ordered("==", builder.load(totals[part]), least)
                earlier = builder.icmp_signed("<", number, label)
                label = builder.select(builder.and_(as_near, earlier), number, label)
            labels.store(label, near.data, at)
    return context.get_dummy_value()


def _emit_weighted_sum(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    narrow = _Vectors(sig.args[0].dtype, context, builder)
    wide = _Vectors(types.float64, context, builder)
    q = context.make_array(sig.args[0])(context, builder, args[0])
    w = context.make_array(sig.args[1])(context, builder, args[1])
    start, stop = args[2], args[3]
    weighted = builder.icmp_signed(">", builder.extract_value(w.shape, 0), _INDEX(0))
    full = builder.add(start, builder.and_(builder.sub(stop, start), _INDEX(-LANES)))

    def widened(value: Any, kind: Any) -> Any:
        return value if sig.args[0].dtype == types.float64 else builder.fpext(value, kind)

    lanes = cgutils.alloca_once_value(builder, wide.zeros)
    total = cgutils.alloca_once_value(builder, ir.Constant(wide.scalar, 0.0))

    def emit(use_weights: bool) -> None:
        with cgutils.for_range_slice(builder, start, full, _INDEX(LANES), _INDEX) as (at, _):
            value = widened(narrow.load(q.data, at), wide.kind)
            if use_weights:
                value = builder.fmul(value, wide.load(w.data, at))
            builder.store(builder.fadd(builder.load(lanes), value), lanes)
        builder.store(wide.fold(builder.load(lanes), builder.fadd), total)
        with cgutils.for_range_slice(builder, full, stop, _INDEX(1), _INDEX) as (at, _):
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


def _emit_box_sums(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    vectors = _Vectors(sig.args[0].dtype, context, builder)
    scalar = vectors.scalar
    lower, upper, columns, near, far = (
        context.make_array(sig.args[place])(context, builder, args[place])
        for place in (0, 1, 3, 6, 7)
    )
    d = builder.extract_value(lower.shape, 1)
    width = builder.extract_value(columns.shape, 1)
    row = builder.mul(args[2], d)
    parts = range(COLUMNS // LANES)
    nears = [cgutils.alloca_once_value(builder, vectors.zeros) for _ in parts]
    fars = [cgutils.alloca_once_value(builder, vectors.zeros) for _ in parts]

    def add_square(total: Any, value: Any) -> None:
        builder.store(builder.fadd(builder.load(total), builder.fmul(value, value)), total)

    with cgutils.for_range_slice(builder, _INDEX(0), d, _INDEX(1), _INDEX) as (j, _):
        low = vectors.spread(builder.load(builder.gep(lower.data, [builder.add(row, j)])))
        high = vectors.spread(builder.load(builder.gep(upper.data, [builder.add(row, j)])))
        is_last = builder.icmp_signed("==", builder.add(j, _INDEX(1)), d)
        is_norm = builder.and_(is_last, builder.icmp_signed("!=", args[5], _INDEX(0)))
        one, minus = ir.Constant(scalar, 1.0), ir.Constant(scalar, -1.0)
        sign = vectors.spread(builder.select(is_norm, one, minus))
        start = builder.add(builder.mul(j, width), args[4])
        for part in parts:
            value = vectors.load(columns.data, builder.add(start, _INDEX(part * LANES)))
            below, above = builder.fsub(low, value), builder.fsub(value, high)
            add_square(nears[part], vectors.larger(vectors.larger(below, above), vectors.zeros))
            opposite = builder.fadd(high, builder.fmul(sign, value))
            add_square(fars[part], vectors.larger(opposite, builder.fneg(below)))
    least = builder.load(fars[0])
    for part in parts:
        at = builder.add(args[4], _INDEX(part * LANES))
        farthest = builder.load(fars[part])
        vectors.store(builder.load(nears[part]), near.data, at)
        vectors.store(farthest, far.data, at)
        least = vectors.smaller(farthest, least)
    return vectors.fold(least, vectors.smaller)
