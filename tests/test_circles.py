"""No circles of files, also by what functions import when they are called: a file can be read when those that it names are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import packenv

ROOT = Path(packenv.__file__).parent


def imports_of(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """All imports, in functions too, except those that are for type checkers alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            for other in child.orelse:
                yield from imports_of(other)
        elif isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        else:
            yield from imports_of(child)


def imported_files(sources: dict[str, str]) -> dict[str, set[str]]:
    """The modules that each module imports, by name, of a package's sources."""
    graph: dict[str, set[str]] = {}
    for module, source in sources.items():
        found: set[str] = set()
        for statement in imports_of(ast.parse(source)):
            if isinstance(statement, ast.Import):
                found |= {name.name for name in statement.names}
            else:
                inner = {f"{statement.module}.{name.name}" for name in statement.names}
                found |= inner & sources.keys() or {str(statement.module)}
        graph[module] = (found & sources.keys()) - {module}
    return graph


def test_no_circles_of_files() -> None:
    files = {path: ".".join(path.relative_to(ROOT.parent).with_suffix("").parts) for path in ROOT.rglob("*.py")}
    sources = {name.removesuffix(".__init__"): path.read_text(encoding="utf-8") for path, name in files.items()}
    assert len(sources) > 300
    [*TopologicalSorter(imported_files(sources)).static_order()]  # raises CycleError, which names a circle


def test_a_circle_in_a_function_is_found() -> None:
    sources = {"p.a": "from p.b import B", "p.b": "def plot():\n    from p import a"}
    try:
        [*TopologicalSorter(imported_files(sources)).static_order()]
    except CycleError as error:
        assert {"p.a", "p.b"} == set(error.args[1])
    else:
        raise AssertionError("no circle was found")
    sources["p.b"] = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from p import a"
    assert imported_files(sources) == {"p.a": {"p.b"}, "p.b": set()}
