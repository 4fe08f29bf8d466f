"""Modules in the current folder: found when a policy is named by module, and for the imports of such a module, but not else.

Libraries import others if they are there (`yaml`, `cffi`, …), so a folder that is always on the path gives them files of the
user that happen to have such a name. Here it is searched after everything else, for the module that is asked for and for
what modules from the folder import, whenever they do.
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
    """Finds modules in the current folder. `requests`: names asked for; `modules`: names of those that were found."""

    def __init__(self) -> None:
        self.requests: set[str] = set()
        self.modules: set[str] = set()

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """The module, if it stands in the folder itself; Python finds what lies in packages by their own paths."""
        if path is not None or not (fullname in self.requests or _importer() in self.modules):
            return None
        spec = PathFinder.find_spec(fullname, [str(Path.cwd())])
        if spec is not None:
            self.modules.add(fullname)
        return spec


def _importer() -> str:
    """The first part of the name of the module that asks for the import."""
    frame = sys._getframe(2)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("importlib"):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


FINDER = CurrentFolder()


def import_named(module: str) -> ModuleType:
    """Import a module that the user names: of the path or, if it is not there, of the current folder."""
    if FINDER not in sys.meta_path:
        sys.meta_path.append(FINDER)
    first = module.partition(".")[0]
    FINDER.requests.add(first)
    try:
        return importlib.import_module(module)
    finally:
        FINDER.requests.discard(first)
