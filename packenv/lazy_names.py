"""Public names of a package, imported on first use."""

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
    """Read `homes` from a module's imports for type checkers."""
    statements = ast.parse(Path(file).read_text(encoding="utf-8")).body
    blocks = [node.body for node in statements if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [node for block in blocks for node in block if isinstance(node, ast.ImportFrom)]
    homes: dict[str, list[str]] = {}
    for node in imports:
        homes.setdefault(str(node.module), []).extend(alias.name for alias in node.names)
    return homes


def lazy_names(package: str, homes: dict[str, list[str]]) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of a package.

    `homes` lists the names of each module. Modules are given in full, or start with a dot (relative to the package).
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
    """Import a module of packenv on first use, thread-safely.

    Threads take turns, and packages are imported before their modules. Python itself locks a module before its package, but a
    package that imports its modules locks them in the other order. Two threads could then deadlock, and one would raise an error.
    """
    with _lock:
        names = module.split(".")
        for end in range(1, len(names)):
            import_module(".".join(names[:end]))
        return import_module(module)
