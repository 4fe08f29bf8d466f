"""Public names of a package that are imported when they are first used, so that importing the package stays cheap."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: dict[str, list[str]]) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package whose `homes` say, by module, which names are found there.

    Modules are given in full, or relative to the package if they begin with a dot.
    """
    home = {name: module for module, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(home[name], package), name)

    def listed() -> list[str]:
        return sorted({*vars(import_module(package)), *home})

    return sorted(home), get, listed
