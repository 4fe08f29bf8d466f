"""The compiler's settings, in one place: every compiled function of packenv is made here.

Numba's cache on disk looks only at the file of the function itself, so an edit in a function that it calls
would go unseen. The folder is therefore keyed by a hash of all the sources that compiled code can come from.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numba
from numba.extending import overload, typeof_impl

from packenv.compiled.pipelines import InnerCompiler, OuterCompiler

PACKAGE = Path(__file__).resolve().parent.parent
NEVER_COMPILED = {"cli", "studies", "runs"}

# No reference counts: compiled code makes no arrays, it only works in those it is given (measured: 10 times as fast).
LEAN = {"_nrt": False, "no_cfunc_wrapper": True}

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """An entry point: machine code that Python calls, kept on disk."""
    return numba.njit(cache=True, pipeline_class=OuterCompiler, **LEAN)(function)


def unlocked(function: Function) -> Function:
    """An entry point beside which other Python threads run."""
    return numba.njit(cache=True, nogil=True, pipeline_class=OuterCompiler, **LEAN)(function)


class Inner:
    """A function for compiled callers. Its face to Python, which takes longer to compile than most of these functions
    themselves, is made when Python first calls it."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.inner = numba.njit(no_cpython_wrapper=True, pipeline_class=InnerCompiler, **options, **LEAN)(function)
        self.inner.get_call_template = functools.partial(_call_with_words, self.inner.get_call_template)
        self.outer: Any = None

    def __call__(self, *args: Any) -> Any:
        if self.outer is None:
            self.outer = compiled(self.function)
        return self.outer(*args)


def _call_with_words(find: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """What Numba calls for arguments of these types; one function for integers of every length, and for constants."""
    return find(tuple(_widened(kind) for kind in args), {name: _widened(kind) for name, kind in keywords.items()})


def _widened(kind: Any) -> Any:
    plain = numba.types.unliteral(kind)
    return numba.types.int64 if isinstance(plain, numba.types.Integer) and plain.signed else kind


@typeof_impl.register(Inner)
def _type_of_inner(function: Inner, context: Any) -> Any:
    """To compiled code, an Inner is the compiled function in it."""
    return numba.types.Dispatcher(function.inner)


def inner(function: Function) -> Function:
    """A function for compiled callers, inlined where the compiler sees a gain: if forced, policies compile half as long again."""
    return Inner(function)  # type: ignore[return-value]


def fused(function: Function) -> Function:
    """One that is always inlined: where the compiler would not, of its own, and time was measured to be lost."""
    return Inner(function, forceinline=True)  # type: ignore[return-value]


def dispatched(stub: Function, parts: dict[tuple[str, type], Any], default: Any = None, **jit_options: Any) -> Function:
    """Let compiled calls of `stub` mean the function of `parts` under (name of the stub, type of the first argument).

    That type is a NamedTuple's. Which function it is is decided when the caller is compiled, so nothing is looked up while
    it runs, and machine code is kept on disk, as it would not be for functions passed as arguments.
    """

    @overload(stub, strict=False, jit_options={"pipeline_class": InnerCompiler} | jit_options)
    def find(first: Any, *rest: Any) -> Any:
        return parts.get((stub.__name__, getattr(first, "instance_class", None)), default)  # type: ignore[arg-type]

    return stub


def compiled_beside(function: Any, module: ModuleType) -> Any:
    """A `compiled` function anew, with machine code kept apart, for this state of a user's module and those beside it."""
    own_file = Path(getattr(module, "__file__", None) or "")
    if not own_file.is_file():  # typed in at a prompt
        return numba.njit(**LEAN)(function.py_func)
    folder = own_file.resolve().parent
    loaded = [Path(file).resolve() for other in list(sys.modules.values()) if (file := getattr(other, "__file__", None))]
    installed = Path(sys.prefix).resolve()
    beside = {file for file in loaded if file.is_relative_to(folder) and not file.is_relative_to(installed)}
    shared = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(cache_folder(fingerprint([*sources(), own_file, *sorted(beside)])))
    try:
        return numba.njit(cache=True, pipeline_class=OuterCompiler, **LEAN)(function.py_func)
    finally:
        numba.config.CACHE_DIR = shared


def fingerprint(files: Iterable[Path]) -> str:
    """A short hash of the files' contents."""
    digest = hashlib.sha256(numba.__version__.encode())
    for file in files:
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def is_ours(module: ModuleType) -> bool:
    """Whether a module lies inside this package, wherever it is installed."""
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).resolve().is_relative_to(PACKAGE)


def sources() -> list[Path]:
    """Every file of ours that compiled code may come from."""
    files = PACKAGE.rglob("*.py")
    return sorted(file for file in files if file.relative_to(PACKAGE).parts[0] not in NEVER_COMPILED)


def cache_folder(key: str) -> Path:
    """Where machine code for sources with this fingerprint is kept: `PACKENV_CACHE`, or the user's cache."""
    own = os.environ.get("PACKENV_CACHE")
    base = Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "packenv"
    folder = base.expanduser() / key
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:  # a read-only home: compile anew in each session rather than fail
        folder = Path(tempfile.gettempdir()) / f"packenv-{os.getuid()}" / key
        folder.mkdir(parents=True, exist_ok=True)
    return folder


SOURCE_KEY = fingerprint(sources())
"""Which state of the sources this is."""

numba.config.CACHE_DIR = str(cache_folder(SOURCE_KEY))
