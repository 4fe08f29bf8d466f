"""Positions of bits in a 64-bit word: the two machine instructions that Python has no name for."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _counting(instruction: str) -> Any:
    """A compiled function int64 -> int64 that counts zero bits at one end of a non-zero word."""

    def count(typing_context: Any, word: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            zero_is_undefined = ir.Constant(ir.IntType(1), 1)
            return getattr(builder, instruction)(args[0], zero_is_undefined)

        return types.int64(types.int64), codegen

    return intrinsic(count)


lowest_bit = _counting("cttz")
"""Index of the lowest set bit of a non-zero int64."""

leading_zeros = _counting("ctlz")
"""Zero bits above the highest set bit of a non-zero int64."""
