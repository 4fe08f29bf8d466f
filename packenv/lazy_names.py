"""Public names of a package that are imported when they are first used, so that importing the package stays cheap."""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

_lock = threading.RLock()


def homes_of(file: str) -> dict[str, list[str]]:
    """The `homes` of `lazy_names` that a module's source states once, as its imports for type checkers."""
    statements = ast.parse(Path(file).read_text(encoding="utf-8")).body
    blocks = [node.body for node in statements if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [node for block in blocks for node in block if isinstance(node, ast.ImportFrom)]
    homes: dict[str, list[str]] = {}
    for node in imports:
        homes.setdefault(str(node.module), []).extend(alias.name for alias in node.names)
    return homes


def lazy_names(package: str, homes: dict[str, list[str]]) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package whose `homes` say, by module, which names are found there.

    Modules are given in full, or relative to the package if they begin with a dot.
    """
    home = {name: module for module, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = home[name]
        return getattr(load(f"{package}{module}" if module.startswith(".") else module), name)

    def listed() -> list[str]:
        return sorted({*vars(import_module(package)), *home})

    return sorted(home), get, listed


def load(module: str) -> ModuleType:
    """Import a module of packenv when it is first used, from any thread: one thread at a time, packages before what is in them.

    Python locks a module before the package that it is in, and a package that imports its modules takes these locks the other
    way round: two threads that begin with different modules would be a deadlock, which one of them gets as an error.
    """
    with _lock:
        names = module.split(".")
        for end in range(1, len(names)):
            import_module(".".join(names[:end]))
        return import_module(module)
