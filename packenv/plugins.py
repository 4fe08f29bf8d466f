"""Plug-ins: packages beside packenv, found by their entry points. They are listed without being imported.

A plug-in has entry points of any of three groups:

`packenv.policies`  a policy by name: `module:Class` (`packenv.policy_names`)
`packenv.rooms`     a kind of file: a module with `is_mine(path)`, `workload_of(path, resources, slot_seconds, changes)`, the text
                    `WHAT` that names such a file, and `COMMANDS`, its own command by a name of packenv's (`plan`)
`packenv.commands`  a command by name: `module:function`, a command of click's. The first line of its docstring is its help

A plug-in that cannot be imported costs one line, and everything else goes on.
"""

from __future__ import annotations

import ast
import functools
import sys
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from packenv.errors import InputError, line_on
from packenv.lazy_names import load

POLICIES, ROOMS, COMMANDS = "packenv.policies", "packenv.rooms", "packenv.commands"
CHECKOUT = Path(__file__).parent.parent / "plugins"
OURS = {"kubernetes": "kubernetes", "llm": "llm", "score": "score"}
"""Folder of `plugins`, by the command of packenv's own plug-ins: for the line that installs one."""


@functools.cache
def entries(group: str) -> dict[str, EntryPoint]:
    """Installed entry points of a group by name, sorted. Of two with one name, that of packenv or else the first counts."""
    by_name: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=group), key=lambda entry: (not entry.value.startswith("packenv."), entry.value)):
        by_name.setdefault(entry.name, entry)
    return dict(sorted(by_name.items()))


def loaded(entry: EntryPoint) -> Any:
    """What an entry point names, imported. Raises InputError, in one line, for whatever goes wrong there."""
    try:
        load(entry.module)
        return entry.load()
    except (Exception, SystemExit) as error:  # a plug-in may raise anything
        package = f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value
        raise InputError(f"plug-in {package}: {entry.value} cannot be imported: {line_on(error)}") from None


@functools.cache
def rooms() -> list[Any]:
    """All rooms that can be imported. A line on standard error names each of the others."""
    modules = []
    for entry in entries(ROOMS).values():
        try:
            modules.append(loaded(entry))
        except InputError as problem:
            print(f"packenv: {problem}", file=sys.stderr)
    return modules


def installed() -> tuple[dict[str, str], list[str]]:
    """Return the packages of plug-ins with their versions, and a line for each entry point that cannot be imported."""
    packages, problems = dict[str, str](), []
    for entry in (entry for group in (POLICIES, ROOMS, COMMANDS) for entry in entries(group).values()):
        if entry.dist is not None and entry.dist.name != "packenv":
            packages[entry.dist.name] = entry.dist.version
            try:
                loaded(entry)
            except InputError as problem:
                problems.append(str(problem))
    return dict(sorted(packages.items())), problems


def room_for(path: Path) -> Any:
    """Return the room whose file this is, else None. Raises InputError for a room that fails."""
    for room in rooms():
        try:
            if room.is_mine(path):
                return room
        except Exception as error:  # a plug-in may raise anything
            raise InputError(f"plug-in {room.__name__}: `is_mine` of {path} fails: {line_on(error)}") from None
    return None


def first_line(entry: EntryPoint) -> str:
    """The first line of the docstring of a function or class, read from its source and not imported."""
    node = _definition(entry.module, entry.attr)
    docstring = ast.get_docstring(node) if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else None
    return docstring.split("\n")[0] if docstring else f"Of the plug-in {entry.value}."


def _definition(module: str, name: str) -> ast.AST | None:
    """The statement of a module that defines a name; None if there is no source that does."""
    file = _source_of(module)
    try:
        body = ast.parse(file.read_text(encoding="utf-8")).body if file is not None else []
    except (OSError, ValueError, SyntaxError):
        body = []
    return next((node for node in body if getattr(node, "name", None) == name), None)


def _source_of(module: str) -> Path | None:
    """The file of a module, found from its first package: a finder would import all packages above it."""
    first, *others = module.split(".")
    try:
        spec = find_spec(first)
    except (ImportError, ValueError):
        return None
    if spec is None or (not others and spec.origin is None):
        return None
    if not others:
        return Path(str(spec.origin))
    path = Path(next(iter(spec.submodule_search_locations or [""]))).joinpath(*others)
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def install_line(command: str) -> str:
    """How to install packenv's own plug-in with this command: from the checkout, where there is one."""
    folder = CHECKOUT / OURS[command]
    return f"pip install -e {folder}" if folder.is_dir() else f"pip install packenv-{OURS[command]}"
