"""What pages name is there: names of packenv, in blocks of Python and in running text, and options of commands and scripts.

Whole programs and commands take minutes, and are slow tests (`test_docs.py`); a name that is gone shows here, in every run.
"""

from __future__ import annotations

import ast
import pydoc
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module

import pytest

from packenv.plugins import COMMANDS, ROOMS
from tests.cli.help_examples import commands
from tests.test_docs import PAGES, ROOT, blocks

OF_OTHERS = {"--program_path", "--results_dir", "--gamma", "--gae-lambda"}
"""Options of other programs that stand alone in a text: ShinkaEvolve's, CleanRL's."""

MODULE = re.compile(r"(?<![\w./-])packenv(?:\.[A-Za-z_]\w*)+")
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")


def names_of(program: str) -> Iterator[str]:
    """The dotted names of packenv that a program imports or uses."""
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute) and MODULE.fullmatch(name := ast.unparse(node)):
            yield name


def code_in(text: str) -> list[str]:
    """The code in a page's running text, each piece on one line."""
    outside = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", outside)]


@cache
def is_there(name: str) -> bool:
    """Whether Python finds a dotted name: a module, what is in one, or a field of a class. What `__all__` has is not imported."""
    with suppress(ModuleNotFoundError):
        return import_module(name) is not None
    home, _, last = name.rpartition(".")
    if not home or not is_there(home):
        return False
    value = pydoc.locate(home)
    return last in getattr(value, "__all__", ()) or hasattr(value, last) or last in getattr(value, "__dataclass_fields__", ())


@pytest.mark.parametrize("page", PAGES)
def test_names_of_packenv(page: str) -> None:
    """In blocks what is imported and used, in running text whatever begins with `packenv.`."""
    in_blocks = {name for block in blocks(page, "python") for name in names_of(block) if name.split(".")[0] == "packenv"}
    in_text = {name for code in code_in(PAGES[page]) for name in MODULE.findall(code)} - {ROOMS, COMMANDS}  # entry points
    assert not [name for name in sorted(in_blocks | in_text) if not is_there(name)], page


def test_a_name_that_is_gone_is_seen() -> None:
    assert [*names_of("import packenv\nfrom packenv.cluster import place\npackenv.parse_law('x').sample()")] == [
        "packenv",
        "packenv.cluster.place",
        "packenv.parse_law",
    ]
    assert is_there("packenv.cluster.place") and is_there("packenv.Workload.save") and is_there("packenv.workloads.laws")
    assert not any(map(is_there, ["packenv.parse_law", "packenv.cluster.gone", "packenv.gone.place"]))


@cache
def options(*words: str) -> frozenset[str]:
    """The options of the command that begins with the first of these words, as many as name one, and of all below it."""
    given = [
        (name, {flag for key in command.params for flag in (*key.opts, *key.secondary_opts)}) for name, command in commands()
    ]
    of_length = ([flags for name, flags in given if name[:n] == [*words[:n]]] for n in range(len(words), -1, -1))
    return frozenset({"--help"}.union(*next(filter(None, of_length))))


@cache
def of_scripts() -> frozenset[str]:
    """The options of the scripts of this checkout, as they are written there."""
    sources = (
        path.read_text()
        for folder in ("agents", "baselines", "experiments", "examples")
        for path in (ROOT / folder).rglob("*.py")
    )
    return frozenset(option for source in sources for option in re.findall(r'"(--[a-z][\w-]*)"', source))


def known_options(code: str) -> frozenset[str] | None:
    """The options that a piece of code may have; None if it is a command of another program."""
    if code.startswith("packenv "):
        return options(*code.split()[1:3])
    if code.startswith("-"):
        return options() | of_scripts() | OF_OTHERS
    return of_scripts() if re.match(r"(\.venv/bin/)?python3? (-m )?(agents|baselines|experiments)[/.]", code) else None


def lines_of_consoles(page: str) -> list[str]:
    """The commands of a page's consoles, without comments."""
    text = "\n".join(blocks(page, "console")).replace("\\\n", " ")
    lines = [line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ ")]
    return [" ".join(shlex.split(line.replace("'", '"'), comments=True)) for line in lines]


@pytest.mark.parametrize("page", PAGES)
def test_options(page: str) -> None:
    """In consoles and in running text; of a command those that it has, of an option alone that some command or script has it."""
    unknown = []
    for code in (*code_in(PAGES[page]), *lines_of_consoles(page)):
        known = known_options(code)
        unknown += [(option, code) for option in OPTION.findall(code) if known is not None and option not in known]
    assert not unknown, page


def test_an_option_that_is_gone_is_seen() -> None:
    assert "--drain" in options("evaluate", "paper/fig4b") and "--drain" not in options("judge")
    assert "--servers" in options("trace", "describe") and "--no-such" not in options()
    assert known_options("git log --oneline") is None and "--tries" in of_scripts()
