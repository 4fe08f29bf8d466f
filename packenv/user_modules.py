"""Modules in the current folder, for named policies only.

Libraries import others if they are there (`yaml`, `cffi`, …). A folder that is always on the path could give them your files of
the same name. So this folder is searched last, and only for the requested module and the imports of modules in the folder.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any


class CurrentFolder(MetaPathFinder):
    """A finder in the current folder: names in `requests`, found ones in `modules`."""

    def __init__(self) -> None:
        self.requests: set[str] = set()
        self.modules: set[str] = set()

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """Find a module in the folder itself, outside packages."""
        if path is not None or not (fullname in self.requests or _importer() in self.modules):
            return None
        spec = PathFinder.find_spec(fullname, [str(Path.cwd())])
        if spec is not None:
            self.modules.add(fullname)
        return spec


def _importer() -> str:
    """Return the top package of the module that imports."""
    frame = sys._getframe(2)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("importlib"):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


FINDER = CurrentFolder()


def import_named(module: str) -> ModuleType:
    """Import a user's module, perhaps of the current folder."""
    if FINDER not in sys.meta_path:
        sys.meta_path.append(FINDER)
    first = module.partition(".")[0]
    FINDER.requests.add(first)
    try:
        return importlib.import_module(module)
    finally:
        FINDER.requests.discard(first)
