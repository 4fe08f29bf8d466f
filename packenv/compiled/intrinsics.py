"""Machine instructions, aligned arrays, and calls through addresses.

A caller of functions made at run time is compiled once for all functions of one signature. Numba's own first-class functions
would do the same, but their callers are not cached on disk.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import NumbaError
from numba.extending import intrinsic
from numpy.typing import NDArray

from packenv.compiled.decorators import LEAN

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


_in_memory: list[Any] = []  # what keeps machine code there


class NotCompilable(ValueError):
    """The reason for a failed compilation, and its line."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.line = line


def address_of(functions: Sequence[Callable[..., Any]], arguments: Sequence[Any]) -> int:
    """Return the machine-code address of the last of `functions`; it returns a float.

    functions  callees come first. All share one dict of globals, and their compiled versions replace them in it
    arguments  example values of the argument types; for a structured array, its records

    Division by zero gives inf or NaN. Raises NotCompilable.
    """
    options = LEAN | {"error_model": "numpy", "no_cpython_wrapper": True}
    for function in functions:
        function.__globals__[function.__name__] = dispatcher = numba.njit(**options)(function)
    signature = types.float64(*map(_type_of, arguments))
    try:
        dispatcher.compile(signature)
    except NumbaError as error:
        line = getattr(getattr(error, "loc", None), "line", 1)
        raise NotCompilable(str(error).strip().splitlines()[0], line) from None
    overload = dispatcher.overloads[signature.args]
    _in_memory.append(dispatcher)
    return int(overload.library.get_pointer_to_function(overload.fndesc.llvm_func_name))


def _type_of(value: Any) -> Any:
    kind = numba.typeof(value)
    return kind.dtype if isinstance(kind, types.Array) and isinstance(kind.dtype, types.Record) else kind


@intrinsic
def call_address(typing_context: Any, address: Any, *arguments: Any) -> Any:
    """Call the function at an address, returning a float."""
    kinds = arguments[0].types if len(arguments) == 1 and isinstance(arguments[0], types.BaseTuple) else arguments
    signature = types.float64(types.int64, types.StarArgTuple(kinds))

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        passed = cgutils.unpack_tuple(builder, values[1], len(kinds))
        conventions = context.call_conv
        target = builder.inttoptr(values[0], ir.PointerType(conventions.get_function_type(types.float64, kinds)))
        status, result = conventions.call_function(builder, target, types.float64, kinds, passed)
        with cgutils.if_unlikely(builder, status.is_error):
            conventions.return_status_propagate(builder, status)
        return result

    return signature, codegen
