"""Functions compiled once, and called through an address.

Numba compiles every function into its callers, so the whole simulator would be compiled again for each policy. Here a caller is
compiled with the function's types only. The function's address is in a word of memory, found by name. The word is 0 until the
first call. Then Python compiles the function, or loads it from the cache, so an unused function costs no time. Errors reach the
caller unchanged. A call costs about 2 ns, and the compiler does not optimise across it.
"""

from __future__ import annotations

import ctypes
import inspect
import sys
import time
from collections.abc import Callable
from typing import Any, ClassVar

import llvmlite.binding
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable

from packenv.compiled.cache import warn_not_cached
from packenv.compiled.frame import compiled_type, only_type

PLAIN = {"int": types.int64, "float": types.float64, "bool": types.boolean, "np.uint64": types.uint64, "None": types.none}
WORD = ir.IntType(64)
FINDER = "packenv.find_apart"


class NotCompiled(RuntimeError):
    """Failure to compile a called function; `failure` has the reason."""


class Apart:
    """A separately compiled function, and the word with its address."""

    by_address: ClassVar[dict[int, Apart]] = {}  # the word's address
    failure: ClassVar[BaseException | None] = None  # why the last one could not be compiled
    seconds: ClassVar[float] = 0.0  # spent in compiling and loading such functions so far

    def __init__(self, face: Any, function: Callable[..., Any], make: Callable[[], Any]) -> None:
        """Let compiled calls of `face` call `function` (dispatcher: `make`)."""
        self.function = function
        self.make = make
        self.name = f"packenv.{function.__module__}.{function.__qualname__}"
        *parameters, result = (getattr(kind, "__name__", str(kind)) for kind in function.__annotations__.values())
        self.parameters = [PLAIN.get(kind, kind) for kind in parameters]
        self.result = PLAIN[result]
        self.word = ctypes.c_int64(0)
        self.by_address[ctypes.addressof(self.word)] = self
        llvmlite.binding.add_symbol(self.name, ctypes.addressof(self.word))
        type_callable(face)(self._type_call)
        lower_builtin(face, types.VarArg(types.Any))(self._call)

    def signature(self) -> Any:
        """Return Numba's signature, with the frame types made so far."""
        names = sys.modules[self.function.__module__].__dict__
        return self.result(*(compiled_type(names[kind]) if isinstance(kind, str) else kind for kind in self.parameters))

    def argument_types(self) -> tuple[Any, ...] | None:
        """Return the signature's argument types, or None before frames."""
        names = sys.modules[self.function.__module__].__dict__
        kinds = [only_type(names[kind]) if isinstance(kind, str) else kind for kind in self.parameters]
        return None if None in kinds else tuple(kinds)

    def address(self) -> int:
        """Return its machine code's address, compiled or loaded."""
        if self.word.value == 0:
            began = time.perf_counter()
            dispatcher, signature = self.make(), self.signature()
            try:
                dispatcher.compile(signature)
            except OSError as error:  # compiled, and then there was no room for it on the disk
                warn_not_cached(error)
            overload = dispatcher.overloads[signature.args]
            self.word.value = overload.library.get_pointer_to_function(overload.fndesc.llvm_func_name)
            self.dispatcher = dispatcher  # which keeps the machine code in memory
            Apart.seconds += time.perf_counter() - began
        return self.word.value

    def _type_call(self, context: Any) -> Any:
        """Return, for Numba, the signature of such a call."""
        names = inspect.signature(self.function)

        def call(*args: Any, **keywords: Any) -> Any:
            pairs = zip(names.bind(*args, **keywords).arguments.values(), self.parameters, strict=True)
            return self.result(*(actual if isinstance(kind, str) else kind for actual, kind in pairs))

        call.__signature__ = names  # type: ignore[attr-defined]
        return call

    def _call(self, context: Any, builder: Any, signature: Any, values: Any) -> Any:
        """Emit a call through the word, filled when 0."""
        conventions = context.call_conv
        word = _external(builder, self.name)
        address = cgutils.alloca_once_value(builder, builder.load(word))
        with cgutils.if_unlikely(builder, cgutils.is_null(builder, builder.load(address))):
            finder = cgutils.get_or_insert_function(builder.module, ir.FunctionType(WORD, [WORD]), FINDER)
            builder.store(builder.call(finder, [builder.ptrtoint(word, WORD)]), address)
            with cgutils.if_unlikely(builder, cgutils.is_null(builder, builder.load(address))):
                conventions.return_user_exc(builder, NotCompiled, (self.name,))
        kind = conventions.get_function_type(signature.return_type, signature.args)
        target = builder.inttoptr(builder.load(address), kind.as_pointer())
        status, result = conventions.call_function(builder, target, signature.return_type, signature.args, values)
        with cgutils.if_unlikely(builder, status.is_error):
            conventions.return_status_propagate(builder, status)
        return result


def _external(builder: Any, name: str) -> Any:
    """Return this external variable of the compiled module."""
    variable = builder.module.globals.get(name)
    if variable is None:
        variable = ir.GlobalVariable(builder.module, WORD, name)
        variable.linkage = "external"
    return variable


def _find(word: int) -> int:
    """Return, for machine code, a function's address or 0."""
    try:
        return Apart.by_address[word].address()
    except BaseException as failure:  # must not reach C: the compiled caller raises NotCompiled instead
        Apart.failure = failure
        return 0


_callback = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(_find)
llvmlite.binding.add_symbol(FINDER, ctypes.cast(_callback, ctypes.c_void_p).value)


def entry_of(function: Any, *arguments: Any) -> Callable[..., Any]:
    """Return a compiled function for arguments of these types alone.

    It trusts later arguments. Numba finds out their types at every call: of an agent's decision in 280 µs, these are 270.
    """
    machine_code = function.outer.compile(tuple(map(function.outer.typeof_pyval, arguments)))

    def call(*same_types: Any) -> Any:
        try:
            return machine_code(*same_types)
        except NotCompiled:
            raise Apart.failure or NotCompiled from None

    return call
