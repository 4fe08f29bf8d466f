"""Functions made at run time, called through addresses.

A caller is compiled once for all functions of one signature. Numba's own first-class functions would do the same, but their
callers are not cached on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import NumbaError
from numba.extending import intrinsic

from packenv.compiled.decorators import LEAN

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
