"""Names and descriptions of policies, without importing any policy."""

from __future__ import annotations

import ast
import functools
import inspect
import tomllib
from pathlib import Path
from typing import NamedTuple

from packenv.catalogue import CATALOGUE, OF_FILES
from packenv.errors import InputError, nearest
from packenv.lazy_names import load
from packenv.plugins import POLICIES, entries, loaded

OF_ZIP = "packenv.save_model makes a model of Stable-Baselines3, loaded from its zip, the policy agent:PATH"
"""What to do with the file of a model."""

PACKAGE = Path(__file__).parent


class Described(NamedTuple):
    """A docstring's first line, and parameters with defaults."""

    about: str
    parameters: dict[str, str]


@functools.cache
def registered() -> dict[str, str]:
    """Return `module:attribute` of all policies, those of other packages too."""
    packaged = {name: entry.path for name, entry in CATALOGUE.items()} | OF_FILES
    return dict(sorted(({name: entry.value for name, entry in entries(POLICIES).items()} | packaged).items()))


@functools.cache
def described(name: str) -> Described:
    """Return a policy's description, without importing policies of packenv."""
    module, _, attribute = registered()[name].partition(":")
    if module.startswith(f"{PACKAGE.name}."):
        about, fields = _read(module, attribute)
        return Described(_first_line(about), fields)
    try:
        target = loaded(entries(POLICIES)[name])
    except InputError as problem:  # it is listed with what is wrong, next to the others
        return Described(str(problem), {})
    parameters = inspect.signature(target).parameters.values()
    return Described(_first_line(inspect.getdoc(target)), {key.name: str(key.default) for key in parameters})


def _read(module: str, attribute: str) -> tuple[str | None, dict[str, str]]:
    """Return a docstring and the defaults, fields of bases first."""
    home, node = _defined(module, attribute)
    fields: dict[str, str] = {}
    for base in getattr(node, "bases", ()):
        if ast.unparse(base) != "NamedTuple":
            fields |= _read(home, ast.unparse(base))[1]
    for line in getattr(node, "body", ()):
        if isinstance(line, ast.AnnAssign) and line.value is not None:
            value = _defined(home, line.value.id)[1] if isinstance(line.value, ast.Name) else line.value
            fields[ast.unparse(line.target)] = str(ast.literal_eval(value))
        elif isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "_field_defaults":
            fields |= {key: str(value) for key, value in ast.literal_eval(line.value).items()}
    return ast.get_docstring(node), fields  # type: ignore[arg-type]


def _defined(module: str, name: str) -> tuple[str, ast.AST]:
    """Find the module that defines a name, and its node."""
    for node in _parsed(PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == name:
            return module, node
        if isinstance(node, ast.Assign) and name in map(ast.unparse, node.targets):
            return module, node.value
        if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]:
            return _defined(str(node.module), name)
    raise LookupError(f"{module} has no {name}")


@functools.cache
def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def _first_line(docstring: str | None) -> str:
    return (docstring or "").split("\n")[0]


class RuleFile(NamedTuple):
    """A rule `rules/mine.py:priority:a=1`: `priority(task, server, cluster, a=2.0)` in a file."""

    file: str
    function: str
    parameters: str


def rule_file(text: str) -> RuleFile | None:
    """Return the rule file of a policy's text, or None.

    The function is `priority` by default: `rules/mine.py:a=1` is `rules/mine.py:priority:a=1`.
    """
    file, dot, rest = text.partition(".py:")
    if not dot and not text.endswith(".py"):
        return None
    function, _, parameters = rest.partition(":")
    if "=" in function:  # of the function that is there by default
        function, parameters = "", rest
    return RuleFile(f"{file.removesuffix('.py')}.py", function or "priority", parameters)


def target_of(text: str) -> tuple[str, str]:
    """Split a policy's text into `module:attribute` and its parameters.

    Examples: `bf-js`, `vqs:J=5,stall`, `my_module:MyPolicy:x=1`. Raises InputError for an unknown name, with the nearest ones.
    """
    name, _, parameters = text.partition(":")
    if name in registered():
        return registered()[name], parameters
    attribute, _, parameters = parameters.partition(":")
    if not attribute or "=" in attribute:
        raise unknown(name)
    return f"{name}:{attribute}", parameters


def check_text(text: str) -> None:
    """Raise InputError for unknown names in a policy's text."""
    named = rule_file(text)
    if named is not None:
        language = load("packenv.policies.rules.language")
        check_parameters(text, named.parameters, [*language.read_rule(named.file, named.function)[1].parameters])
        return
    target_of(text)
    name, _, parameters = text.partition(":")
    if name in registered() and name not in OF_FILES and registered()[name].startswith(f"{PACKAGE.name}."):
        check_parameters(text, parameters, [*described(name).parameters])


def check_parameters(policy: str, parameters: str, accepted: list[str]) -> None:
    """Raise InputError for an unknown parameter `KEY=VALUE`."""
    for key in (part.partition("=")[0] for part in parameters.split(",") if part):
        if not accepted:
            raise InputError(f"policy {policy!r} has no parameters, not even {key!r}")
        if key not in accepted:
            raise InputError(f"policy {policy!r}: unknown parameter {key!r}{nearest(key, accepted)}")


def unknown(name: str) -> InputError:
    """Return the error for an unknown policy, with advice."""
    if name.endswith(".zip"):
        return InputError(f"unknown policy {name!r}: {OF_ZIP}")
    stem = name.removesuffix(".json").removesuffix(".safetensors")
    if Path(f"{stem}.json").is_file() and Path(f"{stem}.safetensors").is_file():
        return InputError(f"unknown policy {name!r}; the agent in {stem}.json is agent:{stem}")
    project = Path.cwd() / "pyproject.toml"
    if name in _written_in(project):
        return InputError(f"policy {name!r} is in {project}, but not in what is installed: pip install -e {project.parent}")
    if name.replace(".", "").isidentifier() and Path(f"{name.replace('.', '/')}.py").is_file():
        return InputError(f"unknown policy {name!r}; a policy of the module {name} is {name}:CLASS")
    return InputError(f"unknown policy {name!r}{nearest(name, list(registered()))}")


def _written_in(project: Path) -> dict[str, str]:
    """Return the policies that a pyproject.toml registers, if it exists."""
    try:
        settings = tomllib.loads(project.read_text(encoding="utf-8"))
        written: dict[str, str] = settings["project"]["entry-points"][POLICIES]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return written if isinstance(written, dict) else {}
