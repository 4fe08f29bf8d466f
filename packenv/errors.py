"""Exceptions that explain errors in the input of users."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Mapping
from numbers import Integral
from pathlib import Path
from typing import Any


class InputError(ValueError):
    """A line on bad input: its place, and the problem."""


class RowError(InputError):
    """Bad input in a row (from 0) of a Jobs table."""

    def __init__(self, row: int, problem: str) -> None:
        super().__init__(row, problem)
        self.row, self.problem = row, problem

    def __str__(self) -> str:
        return f"row {self.row}: {self.problem}"


class CommandError(InputError):
    """Bad input, with commands that work in its place."""

    def __init__(self, problem: str, *commands: str) -> None:
        super().__init__(problem, *commands)
        self.problem, self.commands = problem, commands

    def __str__(self) -> str:
        return "\n".join([f"{' '.join(self.problem.split())}. This works:", *self.commands])


class ArgumentError(InputError):
    """Bad arguments of a function, in backticks.

    advice  the end of the message: what to write
    remedy  arguments that mend it, by name, if known
    """

    def __init__(self, problem: str, advice: str = "", remedy: Mapping[str, str] | None = None) -> None:
        super().__init__(problem + advice)
        self.problem, self.advice, self.remedy = problem, advice, dict(remedy or {})

    def of_options(self, advised: bool = True) -> str:
        """Return the message with options, and advice if `advised`."""
        return of_options(str(self) if advised else self.problem)


def of_options(text: str) -> str:
    """Write the arguments of a line, in backticks, as options."""
    return re.sub(r"`(\w+)`", lambda name: f"--{name[1].replace('_', '-')}", text)


class UnknownArgument(InputError):
    """An unknown argument, with the names of the known ones."""

    def __init__(self, name: str, known: Iterable[str], function: str = "workload") -> None:
        self.name, self.known, self.function = name, [*dict.fromkeys(known)], function
        super().__init__(f"{function}() has no argument {name!r}{nearest(name, self.known, alike=0.6)}")

    def __reduce__(self) -> Any:
        return UnknownArgument, (self.name, self.known, self.function)

    def of_call(self, function: str, own: Iterable[str]) -> UnknownArgument:
        """Return the error with a caller's own names first."""
        return UnknownArgument(self.name, [*own, *self.known], function)


def check_count(name: str, value: Any, least: int = 1) -> None:
    """Raise ArgumentError unless the argument is a whole number of at least `least`, and at most 2^53."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise ArgumentError(f"`{name}` must be a whole number of at least {least}, not {value!r}")
    if int(value) > 2**53:
        raise ArgumentError(f"`{name}` must be at most 2^53, not {value}")


class MisuseError(InputError):
    """A policy's misuse of the cluster, such as overfull servers."""


def line_on(error: BaseException) -> str:
    """Describe an exception of a user's code in one line.

    The line has its type and text, and the last line of code outside packenv. The type is left out for errors of packenv itself.
    """
    text = traceback.format_exception_only(error)[-1].strip()
    if isinstance(error, SyntaxError):
        return f"{text} ({error.filename}, line {error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, (ValueError, RuntimeError)) and frames and _is_ours(frames[-1].filename):
        text = str(error)
    users_frames = [frame for frame in frames if not _is_ours(frame.filename)]
    return f"{text} ({users_frames[-1].filename}, line {users_frames[-1].lineno})" if users_frames else text


def _is_ours(file: str) -> bool:
    """Return whether a traceback's file belongs to packenv."""
    package = Path(__file__).parent
    inside = file.rpartition(f"{package.name}/")[2]
    return file.startswith(("<frozen importlib", str(package))) or (inside != file and (package / inside).is_file())


def library_needed(purpose: str, extra: str, error: ImportError) -> str:
    """Name why a library is missing, and the install command."""
    library = (error.name or extra).partition(".")[0]
    if isinstance(error, ModuleNotFoundError):
        return f"{purpose} needs {library}, which is not installed: {install_command(extra)}"
    upgrade = install_command(extra).replace("pip install", "pip install --upgrade", 1)
    return f"{purpose} needs {library}, and importing it fails ({' '.join(str(error).split())}): {upgrade}"


def install_command(extra: str) -> str:
    """Return the command that installs an optional extra of packenv."""
    from importlib import metadata

    from packaging.requirements import Requirement

    needs = [Requirement(text) for text in metadata.requires("packenv") or [] if "extra" in text]
    of_extra = [need for need in needs if need.marker is not None and need.marker.evaluate({"extra": extra})]
    for need in of_extra:
        need.marker = None
    return f"pip install {' '.join(repr(str(need)) for need in of_extra)}"


def nearest(name: str, choices: list[str] | tuple[str, ...], alike: float = 0.5) -> str:
    """Return `; did you mean a, b?`, or the list of all choices.

    alike  similarity from 0 to 1 that a choice needs. Short names soon share half of their letters
    """
    import difflib

    close = difflib.get_close_matches(name, choices, n=3, cutoff=alike)
    return f"; did you mean {', '.join(close)}?" if close else f"; known: {', '.join(choices)}"
