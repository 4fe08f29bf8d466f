"""A candidate: a policy name, or a file only parsed."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packenv.extend import InputError, find_policy, name_of, read_text, reading
from packenv_score.process import Sandboxed

FORMS = "a function `priority(task, server, cluster)` nor a class with `schedule(cluster, state)`"
MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class Candidate:
    """A policy to score, with the size of its program."""

    name: str
    policy: Any
    lines: int | None = None
    nodes: int | None = None
    fault: str = ""  # reason for refusal


def candidate_of(source: Any, folder: str) -> Candidate:
    """Return a candidate: FILE.py, FILE.py:NAME, policy name or object.

    Problems in the file become `fault`. Raises InputError for a missing file or an unknown name.

    folder  temporary folder for the candidate's processes
    """
    if not isinstance(source, (str, Path)):
        return Candidate(name_of(source), source)
    text = str(source)
    file, _, kind = text.partition(".py:") if ".py:" in text else (text.removesuffix(".py"), "", "")
    if not (text.endswith(".py") or ".py:" in text):
        return Candidate(text, find_policy(text))
    path = Path(f"{file}.py")
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    with reading(path):
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path}: more than {MOST_BYTES:,} bytes are too many for a policy")
        program = read_text(path)
    name = path.name + (f":{kind}" if kind else "")
    try:
        tree = ast.parse(program)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = f"line {error.lineno}: " if isinstance(error, SyntaxError) and error.lineno else ""
        return Candidate(name, None, fault=f"{line}no Python: {getattr(error, 'msg', None) or error}")
    lines = {node.lineno for node in ast.walk(tree) if isinstance(node, (ast.stmt, ast.expr))}
    length = len(lines), sum(1 for _ in ast.walk(tree))
    try:
        return Candidate(name, _policy(tree, program, path, kind, folder), *length)
    except InputError as problem:
        return Candidate(name, None, *length, fault=str(problem).removeprefix(f"{path}:").strip())


def _policy(tree: ast.Module, program: str, path: Path, kind: str, folder: str) -> Any:
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    if kind in functions or (not kind and "priority" in functions):
        return find_policy(f"{path}:{kind or 'priority'}")
    classes = policy_classes(tree)
    if kind and kind not in classes:
        raise InputError(f"{path}: no policy {kind!r}: {', '.join(classes) or 'it has none'}")
    if not classes:
        raise InputError(f"{path}: it has neither {FORMS}")
    if len(classes) > 1 and not kind:
        raise InputError(f"{path}: several policies, {', '.join(classes)}: name one, {path}:{classes[-1]}")
    return Sandboxed(program, kind or classes[0], name=path.stem, folder=folder)


def policy_classes(tree: ast.Module) -> list[str]:
    """List classes with a `schedule` method or a `@schedules(CLASS)` function."""
    registered = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("schedules") and decorator.args:
                    registered.add(ast.unparse(decorator.args[0]))
    names = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            has = any(isinstance(part, ast.FunctionDef) and part.name == "schedule" for part in node.body)
            if has or node.name in registered:
                names.append(node.name)
    return names
