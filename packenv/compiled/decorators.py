"""The decorators of all compiled functions in packenv.

`@compiled` and `@fused` functions are compiled into each compiled caller, `@apart` ones once for all callers. Python may call
any of them. The entry point for Python takes longer to compile than most of these functions, so it is made at the first call.
One process compiles a function while others wait and load. Without locks, or after LONGEST seconds, every process compiles.
"""

from __future__ import annotations

import functools
import inspect
import operator
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.extending import models, overload, register_model, typeof_impl

from packenv.compiled.announcement import announcement, count_one
from packenv.compiled.apart import Apart, NotCompiled
from packenv.compiled.cache import base, caching_in, discard_damaged, folder_for, warn_not_cached
from packenv.compiled.helpers import offer
from packenv.compiled.locks import Lock
from packenv.compiled.sources import note
from packenv.errors import InputError

LONGEST = 300.0  # seconds that one function may take another process


def compile_under_lock(dispatcher: Any, lock: Path, base: Path) -> None:
    """Make Numba's dispatcher compile under the lock.

    Cached code is loaded without the lock. `base` is the folder of all machine code. Two methods of Numba are replaced; if a
    version lacks them, every process compiles.
    """
    kept: Any = getattr(dispatcher, "_cache", None)
    if not (hasattr(dispatcher, "compile") and hasattr(kept, "load_overload")):
        return
    turn = Lock(lock)
    compile_now, load = dispatcher.compile, kept.load_overload

    def load_or_lock(signature: Any, target: Any) -> Any:
        overload = load(signature, target)
        if overload is None:
            announcement.begin(id(dispatcher), base)
            offer()
            turn.acquire(lambda seconds: seconds < LONGEST)
            overload = load(signature, target)  # another process may have compiled it since
        if overload is None:
            count_one(base)
        return overload

    def compile_in_turn(signature: Any) -> Any:
        try:
            return compile_now(signature)
        finally:
            turn.release()
            announcement.end(id(dispatcher))

    kept.load_overload = load_or_lock
    dispatcher.compile = compile_in_turn


if numba.config.DISABLE_JIT:
    raise InputError("NUMBA_DISABLE_JIT is set, and packenv runs compiled only: unset it")

# No reference counts: compiled code makes no arrays and only uses those it is given (measured: 10 times as fast).
LEAN = {"_nrt": False, "no_cfunc_wrapper": True}

Function = TypeVar("Function", bound=Callable[..., Any])


class Compiled:
    """A compiled function for Python, cached on disk."""

    def __init__(self, function: Callable[..., Any], beside: tuple[str, ...] = (), **options: Any) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.modules = (function.__module__, *beside)
        self.options = options | LEAN
        note(function.__module__)

    @functools.cached_property
    def outer(self) -> Any:
        return cached_dispatcher(self.function, self.modules, **self.options)

    def __call__(self, *args: Any) -> Any:
        try:
            try:
                return self.outer(*args)
            except OSError as error:  # compiled, and then there was no room for it on the disk
                warn_not_cached(error)
                return self.outer(*args)
        except NotCompiled:
            raise Apart.failure or NotCompiled from None

    def __reduce__(self) -> Any:
        return _named, (self.function.__module__, self.function.__qualname__, self.modules[1:])


def _named(module: str, name: str, beside_modules: tuple[str, ...]) -> Any:
    function = operator.attrgetter(name)(import_module(module))
    return beside(function, beside_modules) if beside_modules else function


class Inner(Compiled):
    """A compiled function, also compiled into its compiled callers."""

    @functools.cached_property
    def inner(self) -> Any:
        return numba.njit(no_cpython_wrapper=True, **self.options)(self.function)


def beside(function: Callable[..., Any], modules: Iterable[str]) -> Callable[..., Any]:
    """Return a version cached by `dispatched` parts' modules too."""
    typed: Compiled = function  # type: ignore[assignment]
    names = tuple(modules)
    return _beside(typed, names, folder_for((*typed.modules, *names)))


@functools.cache
def _beside(function: Compiled, modules: tuple[str, ...], folder: Path | None) -> Compiled:
    return Compiled(function.function, modules)


def cached_dispatcher(function: Callable[..., Any], modules: tuple[str, ...], **options: Any) -> Any:
    """Return Numba's dispatcher, cached if all modules have files."""
    folder = folder_for(modules)
    if folder is None:
        return numba.njit(**options)(function)
    discard_damaged(folder, function)
    with caching_in(folder):
        dispatcher = numba.njit(cache=True, **options)(function)
    compile_under_lock(dispatcher, folder / f"{function.__qualname__}.lock", base())
    return dispatcher


class WordsType(numba.types.Dispatcher):
    """Numba's type of an `Inner` function: all integers become int64."""

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        with warnings.catch_warnings():  # Numba warns of records that begin like another type, which it then does not choose
            warnings.simplefilter("ignore", numba.NumbaExperimentalFeatureWarning)
            return super().get_call_type(context, tuple(map(_widened, args)), {key: _widened(kind) for key, kind in kws.items()})


register_model(WordsType)(models.OpaqueModel)


def _widened(kind: Any) -> Any:
    plain = numba.types.unliteral(kind)
    return numba.types.int64 if isinstance(plain, numba.types.Integer) and plain.signed else kind


@typeof_impl.register(Inner)
def _type_of_inner(function: Inner, context: Any) -> Any:
    return WordsType(function.inner)


def compiled(function: Function) -> Function:
    """Compile a function for Python and for compiled callers."""
    return Inner(function)  # type: ignore[return-value]


def unlocked(function: Function) -> Function:
    """Compile a function for Python that releases the interpreter's lock."""
    return Inner(function, nogil=True)  # type: ignore[return-value]


def fused(function: Function) -> Function:
    """Compile a function inlined, where that measured faster."""
    return Inner(function, forceinline=True)  # type: ignore[return-value]


def apart(function: Function) -> Function:
    """Compile a function once, at its first call (see packenv.compiled.apart).

    Its parameters and result must be annotated: Frame classes, int, float, bool, np.uint64 or None.
    """
    entrance = Compiled(function)
    Apart(entrance, function, lambda: cached_dispatcher(function, entrance.modules, no_cpython_wrapper=True, **LEAN))
    return entrance  # type: ignore[return-value]


def dispatched(stub: Function, parts: dict[tuple[str, type], Any], default: Any = None, **jit_options: Any) -> Function:
    """Let compiled calls of `stub` choose by argument type.

    It is in `parts` under (name of the stub, type of the first argument). The type must be a NamedTuple; other types call
    `default`. The choice is made when the caller is compiled, so a run looks nothing up. The machine code is cached on disk,
    unlike that of Numba's functions passed as arguments. Python calls the version from `beside` for the function's module.
    """

    @overload(stub, strict=False, jit_options={"no_cpython_wrapper": True} | LEAN | jit_options)
    def find(first: Any, *rest: Any) -> Any:
        part = parts.get((stub.__name__, getattr(first, "instance_class", None)), default)  # type: ignore[arg-type]
        return inspect.unwrap(part) if isinstance(part, Compiled) else part

    return stub
