"""Rows written as columns, 16 rows and 16 coordinates at a time, by shuffling registers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kseeds.runtime.block_sizes import COLUMNS, LANES
from kseeds.runtime.compiler import JIT_DISABLED, intrinsic, ir, types
from kseeds.simd import interpreted
from kseeds.simd.instructions import INDEX, Vectors


def transpose_block() -> Callable[..., Any]:
    """Return a kernel function ``f(A, rows, c, j, T, place, stride)``.

    Coordinates j to j + 15 of the rows ``rows[c]`` to ``rows[c + 15]`` of ``A`` become columns c to
    c + 15 of ``T``, which is 64 wide. They stand in its rows ``place``, ``place + stride`` and so
    on, in the order of the lanes (0, 4, 8, 12, 1, 5, …): see `kseeds.runtime.block_sizes.place_of`.
    """
    if JIT_DISABLED:
        return interpreted.transpose_block

    @intrinsic
    def compiled(
        typingctx: Any, A: Any, rows: Any, c: Any, j: Any, T: Any, place: Any, stride: Any
    ) -> Any:
        whole = types.intp
        return types.void(A, rows, whole, whole, T, whole, whole), _emit_transpose_block

    return compiled


def transpose_few() -> Callable[..., Any]:
    """Return a kernel function ``f(A, rows, c, T)``.

    All coordinates, fewer than 16, of the rows ``rows[c]`` to ``rows[c + 15]`` of ``A`` become
    columns c to c + 15 of ``T``, which is 64 wide. Reads 16 numbers from the start of each row on,
    so that there must be as many.
    """
    if JIT_DISABLED:
        return interpreted.transpose_few

    @intrinsic
    def compiled(typingctx: Any, A: Any, rows: Any, c: Any, T: Any) -> Any:
        return types.void(A, rows, types.intp, T), _emit_transpose_few

    return compiled


def _emit_transpose_few(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    vectors = Vectors(sig.args[0].dtype, context, builder)
    a, rows, t = (
        context.make_array(sig.args[place])(context, builder, args[place]) for place in (0, 1, 3)
    )
    c, d = args[2], builder.extract_value(a.shape, 1)

    def write(most: int) -> None:
        block = _transposed(builder, _rows_of(builder, vectors, a, rows, c, INDEX(0)))
        for j, column in enumerate(block[:most]):
            with builder.if_then(builder.icmp_unsigned("<", INDEX(j), d)):
                vectors.store(column, t.data, builder.add(INDEX(j * COLUMNS), c))

    # What is not written is not computed.
    few = builder.icmp_unsigned("<=", d, INDEX(LANES // 2))
    with builder.if_else(few) as (then, otherwise):
        with then:
            write(LANES // 2)
        with otherwise:
            write(LANES)
    return context.get_dummy_value()


def _emit_transpose_block(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    vectors = Vectors(sig.args[0].dtype, context, builder)
    a, rows, t = (
        context.make_array(sig.args[place])(context, builder, args[place]) for place in (0, 1, 4)
    )
    _, _, c, j, _, first, stride = args
    block = _transposed(builder, _rows_of(builder, vectors, a, rows, c, j))
    for lane, column in enumerate(block):
        number = INDEX(lane % 4 * 4 + lane // 4)
        place = builder.add(first, builder.mul(number, stride))
        vectors.store(column, t.data, builder.add(builder.mul(place, INDEX(COLUMNS)), c))
    return context.get_dummy_value()


def _rows_of(builder: Any, vectors: Vectors, a: Any, rows: Any, c: Any, j: Any) -> list[Any]:
    """Return 16 coordinates of each of the rows ``rows[c]`` to ``rows[c + 15]``, from j on."""
    d, block = builder.extract_value(a.shape, 1), []
    for lane in range(LANES):
        row = builder.load(builder.gep(rows.data, [builder.add(c, INDEX(lane))]))
        block.append(vectors.load(a.data, builder.add(builder.mul(row, d), j)))
    return block


def _transposed(builder: Any, block: list[Any]) -> list[Any]:
    """Return the columns of 16 rows."""
    size = LANES // 2
    while size:  # swap the two quarters beside the diagonal, of ever smaller squares
        for one in (lane for lane in range(LANES) if not lane & size):
            x, y = block[one], block[one + size]
            block[one] = _mixed(builder, x, y, [_upper(lane, size) for lane in range(LANES)])
            block[one + size] = _mixed(builder, x, y, [_lower(lane, size) for lane in range(LANES)])
        size //= 2
    return block


def _upper(lane: int, size: int) -> int:
    return LANES + lane - size if lane & size else lane


def _lower(lane: int, size: int) -> int:
    return LANES + lane if lane & size else lane + size


def _mixed(builder: Any, x: Any, y: Any, lanes: list[int]) -> Any:
    return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(ir.IntType(32), LANES), lanes))
