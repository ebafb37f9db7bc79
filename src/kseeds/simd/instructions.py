"""Helpers that emit LLVM instructions: vectors of one element type, and terms of distances."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from kseeds.runtime.block_sizes import LANES
from kseeds.runtime.compiler import ir

INDEX = ir.IntType(64)


class Terms:
    """Emits the instructions of one term of a distance, and of the running sum or maximum."""

    def __init__(self, term: str, builder: Any) -> None:
        self._term = term
        self._builder = builder

    def of(self, x: Any, y: Any, zero: Any) -> Any:
        """Return the term of two values."""
        builder = self._builder
        plus = self._term == "square_of_sum"
        difference = builder.fadd(x, y) if plus else builder.fsub(x, y)
        if self._term in ("abs", "max_abs"):
            negative = builder.fcmp_ordered("<", difference, zero)
            return builder.select(negative, builder.fneg(difference), difference)
        return builder.fmul(difference, difference)

    def combine(self, total: Any, value: Any) -> Any:
        """Return the sum, or the maximum, of a total and one more term."""
        if self._term == "max_abs":
            larger = self._builder.fcmp_ordered(">", value, total)
            return self._builder.select(larger, value, total)
        return self._builder.fadd(total, value)


class Vectors:
    """Vectors of one element type: loading, storing and folding them."""

    def __init__(self, element: Any, context: Any, builder: Any) -> None:
        self.scalar = context.get_value_type(element)
        self.kind = ir.VectorType(self.scalar, LANES)
        self.zeros = ir.Constant(self.kind, [self.scalar(0)] * LANES)
        self._align = element.bitwidth // 8
        self._builder = builder

    def pointer(self, base: Any, at: Any) -> Any:
        """Return the address of the vector that begins at index ``at``."""
        return self._builder.bitcast(self._builder.gep(base, [at]), self.kind.as_pointer())

    def load(self, base: Any, at: Any) -> Any:
        """Return the vector that begins at index ``at``."""
        loaded = self._builder.load(self.pointer(base, at))
        loaded.align = self._align
        return loaded

    def store(self, value: Any, base: Any, at: Any) -> None:
        """Write a vector from index ``at`` on."""
        self._builder.store(value, self.pointer(base, at)).align = self._align

    def smaller(self, x: Any, y: Any) -> Any:
        """Return the smaller of two vectors, lane by lane."""
        return self._builder.select(self._builder.fcmp_ordered("<", x, y), x, y)

    def larger(self, x: Any, y: Any) -> Any:
        """Return the larger of two vectors, lane by lane."""
        return self._builder.select(self._builder.fcmp_ordered(">", x, y), x, y)

    def spread(self, value: Any) -> Any:
        """Return a vector with ``value`` in every lane."""
        one = self._builder.insert_element(self.zeros, value, ir.IntType(32)(0))
        first = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self._builder.shuffle_vector(one, self.zeros, first)

    def fold(self, vector: Any, combine: Callable[[Any, Any], Any]) -> Any:
        """Combine the lanes in the order of `kseeds.simd.lane_order`."""
        quarter = ir.VectorType(ir.IntType(32), LANES // 4)
        undefined = ir.Constant(self.kind, ir.Undefined)
        quarters = [
            self._builder.shuffle_vector(
                vector, undefined, ir.Constant(quarter, list(range(lane, lane + LANES // 4)))
            )
            for lane in range(0, LANES, LANES // 4)
        ]
        sums = functools.reduce(combine, quarters)
        lanes = [
            self._builder.extract_element(sums, ir.IntType(32)(lane)) for lane in range(LANES // 4)
        ]
        return functools.reduce(combine, lanes)

    def fold_in_halves(self, vector: Any, combine: Callable[[Any, Any], Any]) -> Any:
        """Combine the lanes pairwise: faster, for operations that do not depend on the order."""
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
