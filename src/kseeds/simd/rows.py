"""Sums over the coordinates of rows, and over rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kseeds.runtime.block_sizes import LANES
from kseeds.runtime.compiler import JIT_DISABLED, cgutils, intrinsic, ir, types
from kseeds.simd import interpreted
from kseeds.simd.instructions import INDEX, Terms, Vectors

_WORD = ir.IntType(32)


def lane_sum(term: str) -> Callable[..., Any]:
    """Return a kernel function ``f(A, i, B, j)`` that sums a term over two rows.

    The order of the sum is that of `kseeds.simd.lane_order`, as explicit vector instructions:
    without fastmath the compiler may not vectorise it, and with it the order of the sum, hence
    the last digit, would depend on the machine.

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


def fingerprinted_sum_of_squares() -> Callable[..., Any]:
    """Return a kernel function ``f(A, i, B, j, factors, first, prints)``: a sum and a fingerprint.

    The sum is that of ``lane_sum("square")``. It also adds row i of ``A``, which starts at word
    ``first`` of its block, to the fingerprint of the block (`kseeds.inputs.fingerprint`). That is
    the sum of ``prints``: 16 numbers of 32 bits for single precision, 32 for double.
    """
    if JIT_DISABLED:
        return interpreted.fingerprinted_sum_of_squares

    @intrinsic
    def compiled(
        typingctx: Any, A: Any, i: Any, B: Any, j: Any, factors: Any, first: Any, prints: Any
    ) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            fingerprinter = _Fingerprinter(context, builder, sig, args)
            total = _emit_lane_sum("square", context, builder, sig, args, fingerprinter)
            fingerprinter.finish()
            return total

        whole = types.intp
        return A.dtype(A, whole, B, whole, factors, whole, prints), generate

    return compiled


class _Fingerprinter:
    """Emits the instructions that add the values of a row to a fingerprint."""

    def __init__(self, context: Any, builder: Any, sig: Any, args: Any) -> None:
        self._builder = builder
        self._words = sig.args[0].dtype.bitwidth // 32
        self._kind = ir.VectorType(_WORD, LANES * self._words)
        factors, prints = (
            context.make_array(sig.args[place])(context, builder, args[place]) for place in (4, 6)
        )
        self._columns = factors.data  # the first row of factors has those of the columns
        self._of_row = builder.load(builder.gep(factors.data, [args[5]]))
        self._out = self._vector_at(prints.data, INDEX(0))
        zeros = ir.Constant(self._kind, [0] * self._kind.count)
        self._sums = cgutils.alloca_once_value(builder, zeros)
        self._rest = cgutils.alloca_once_value(builder, _WORD(0))

    def _vector_at(self, base: Any, at: Any) -> Any:
        place = self._builder.gep(base, [at])
        return self._builder.bitcast(place, self._kind.as_pointer())

    def _load(self, pointer: Any) -> Any:
        loaded = self._builder.load(pointer)
        loaded.align = 4
        return loaded

    def _spread(self, word: Any) -> Any:
        undefined = ir.Constant(self._kind, ir.Undefined)
        one = self._builder.insert_element(undefined, word, _WORD(0))
        none = ir.Constant(self._kind, [0] * self._kind.count)
        return self._builder.shuffle_vector(one, one, none)

    def _add(self, words: Any, sixteen: Any, factors: Any, total: Any) -> None:
        mixed = self._builder.xor(words, self._builder.lshr(words, sixteen))
        product = self._builder.mul(mixed, factors)
        self._builder.store(self._builder.add(self._builder.load(total), product), total)

    def add_vector(self, vector: Any, at: Any) -> None:
        """Add the vector of values that begins at index ``at`` of the row."""
        place = self._builder.mul(at, INDEX(self._words))
        factors = self._load(self._vector_at(self._columns, place))
        words = self._builder.bitcast(vector, self._kind)
        self._add(words, ir.Constant(self._kind, [16] * self._kind.count), factors, self._sums)

    def add_scalar(self, value: Any, at: Any) -> None:
        """Add the value at index ``at`` of the row."""
        builder = self._builder
        bits = builder.bitcast(value, ir.IntType(32 * self._words))
        for part in range(self._words):
            word = bits
            if self._words > 1:
                word = builder.trunc(builder.lshr(bits, bits.type(32 * part)), _WORD)
            place = builder.add(builder.mul(at, INDEX(self._words)), INDEX(part))
            factor = builder.load(builder.gep(self._columns, [place]))
            self._add(word, _WORD(16), factor, self._rest)

    def finish(self) -> None:
        """Multiply the sums by the factor of the row, and add them to those of the block."""
        builder = self._builder
        sums = builder.load(self._sums)
        first = builder.add(builder.extract_element(sums, _WORD(0)), builder.load(self._rest))
        sums = builder.insert_element(sums, first, _WORD(0))
        sums = builder.mul(sums, self._spread(self._of_row))
        builder.store(builder.add(self._load(self._out), sums), self._out).align = 4


def weighted_sum() -> Callable[..., Any]:
    """Return a kernel function ``f(values, weights, start, stop)``: Σ values·weights in float64.

    ``weights`` of length 0 stand for ones. The order is that of `lane_sum` of the products, padded
    with zeros to a multiple of 16.
    """
    if JIT_DISABLED:
        return interpreted.weighted_sum

    @intrinsic
    def compiled(typingctx: Any, values: Any, weights: Any, start: Any, stop: Any) -> Any:
        return types.float64(values, weights, types.intp, types.intp), _emit_weighted_sum

    return compiled


def _emit_lane_sum(
    term: str,
    context: Any,
    builder: Any,
    sig: Any,
    args: Any,
    fingerprinter: _Fingerprinter | None = None,
) -> Any:
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
            ours = vectors.load(row_a, at)
            if fingerprinter is not None:
                fingerprinter.add_vector(ours, at)
            value = terms.of(ours, vectors.load(row_b, at), vectors.zeros)
            builder.store(terms.combine(builder.load(lanes), value), lanes)
        fold = vectors.fold_in_halves if term == "max_abs" else vectors.fold
        builder.store(fold(builder.load(lanes), terms.combine), total)
    with cgutils.for_range_slice(builder, full, columns, INDEX(1), INDEX) as (at, _):
        x, y = builder.load(builder.gep(row_a, [at])), builder.load(builder.gep(row_b, [at]))
        if fingerprinter is not None:
            fingerprinter.add_scalar(x, at)
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
    first_lane = builder.bitcast(lanes, wide.scalar.as_pointer())

    def emit(use_weights: bool) -> None:
        with cgutils.for_range_slice(builder, start, full, INDEX(LANES), INDEX) as (at, _):
            value = widened(narrow.load(q.data, at), wide.kind)
            if use_weights:
                value = builder.fmul(value, wide.load(w.data, at))
            builder.store(builder.fadd(builder.load(lanes), value), lanes)
        with cgutils.for_range_slice(builder, full, stop, INDEX(1), INDEX) as (at, _):
            value = widened(builder.load(builder.gep(q.data, [at])), wide.scalar)
            if use_weights:
                value = builder.fmul(value, builder.load(builder.gep(w.data, [at])))
            lane = builder.gep(first_lane, [builder.sub(at, full)])
            builder.store(builder.fadd(builder.load(lane), value), lane)

    with builder.if_else(weighted) as (then, otherwise):
        with then:
            emit(True)
        with otherwise:
            emit(False)
    return wide.fold(builder.load(lanes), builder.fadd)
