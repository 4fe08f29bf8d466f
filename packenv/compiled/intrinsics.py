"""Machine instructions without a Numba function, and aligned arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

CACHE_LINE = 64  # bytes


@intrinsic
def leading_zeros(typing_context: Any, word: Any) -> Any:
    """Count zero bits above the highest set one (int64 ≠ 0)."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zero_is_undefined = ir.Constant(ir.IntType(1), 1)
        return builder.ctlz(args[0], zero_is_undefined)

    return types.int64(types.int64), codegen


@intrinsic
def move(typing_context: Any, row: Any, target: Any, start: Any, count: Any) -> Any:
    """Copy row[start : start + count] to `target`, overlap allowed."""
    signature = types.void(row, types.intp, types.intp, types.intp)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(row)(context, builder, args[0])
        size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(row.dtype)))
        to, source = (builder.bitcast(builder.gep(array.data, [args[n]]), cgutils.voidptr_t) for n in (1, 2))
        cgutils.raw_memmove(builder, to, source, args[3], size)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def natural(typing_context: Any, index: Any) -> Any:
    """Return an index >= 0 as unsigned, without negative-index code."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return args[0]

    return types.uint64(types.int64), codegen


@intrinsic
def prefetch(typing_context: Any, row: Any, position: Any) -> Any:
    """Prefetch row[position] (1-D), with all cache lines of a record."""
    signature = types.void(row, types.intp)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(row)(context, builder, args[0])
        address = builder.bitcast(builder.gep(array.data, [args[1]]), cgutils.voidptr_t)
        size = context.get_abi_sizeof(context.get_data_type(row.dtype))
        integer = ir.IntType(32)
        instruction = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, integer, integer, integer]),
            "llvm.prefetch.p0",
        )
        to_write, all_levels, data = integer(1), integer(3), integer(1)
        for offset in [*range(0, size, CACHE_LINE), *([size - 1] if size > CACHE_LINE else [])]:
            line = builder.gep(address, [context.get_constant(types.intp, offset)])
            builder.call(instruction, [line, to_write, all_levels, data])
        return context.get_dummy_value()

    return signature, codegen


def aligned_zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return zeros aligned to cache lines, for 64-byte records."""
    size = math.prod(shape) * dtype.itemsize
    memory = np.zeros(size + CACHE_LINE, np.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + size].view(dtype).reshape(shape)
