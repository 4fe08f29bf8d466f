"""The exception that tells users what is wrong with their input, and where."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


class InputError(ValueError):
    """Bad input: a single line that names the file, row or option, and what is wrong with it."""


class RowError(InputError):
    """Bad input in one row of a Jobs table, counted from 0. Code that read the table from a file can add the row of the file."""

    def __init__(self, row: int, problem: str) -> None:
        super().__init__(row, problem)
        self.row, self.problem = row, problem

    def __str__(self) -> str:
        return f"row {self.row}: {self.problem}"


class ArgumentError(InputError):
    """Bad arguments of a function, whose message has their names in backticks; the command line calls them options.

    advice  the end of the message: what to write
    remedy  arguments that mend what is wrong, by name, if they are known
    """

    def __init__(self, problem: str, advice: str = "", remedy: Mapping[str, str] | None = None) -> None:
        super().__init__(problem + advice)
        self.problem, self.advice, self.remedy = problem, advice, dict(remedy or {})

    def of_options(self, advised: bool = True) -> str:
        """The message with `--slot-seconds` in place of the argument slot_seconds; without its advice, unless `advised`."""
        return of_options(str(self) if advised else self.problem)


def of_options(text: str) -> str:
    """A line on arguments, whose names are in backticks, as one on options: `--slot-seconds` in place of slot_seconds."""
    return re.sub(r"`(\w+)`", lambda name: f"--{name[1].replace('_', '-')}", text)


class UnknownArgument(InputError):
    """An argument that nobody takes, with the names of those that are taken."""

    def __init__(self, name: str, known: Iterable[str], function: str = "workload") -> None:
        self.name, self.known, self.function = name, [*dict.fromkeys(known)], function
        super().__init__(f"{function}() has no argument {name!r}{nearest(name, self.known)}")

    def __reduce__(self) -> Any:
        return UnknownArgument, (self.name, self.known, self.function)

    def of_call(self, function: str, own: Iterable[str]) -> UnknownArgument:
        """The same error of a function that hands arguments on, and whose names come first."""
        return UnknownArgument(self.name, [*own, *self.known], function)


class MisuseError(InputError):
    """A policy has misused the cluster during a run: a server above its capacity, a task placed twice, an error of its own."""


def line_on(error: BaseException) -> str:
    """One line on an exception of a user's code: its type and text, and the last line of code outside packenv on the way to it.

    The type is left out of what packenv itself raises, when its functions are not used as they should be.
    """
    text = traceback.format_exception_only(error)[-1].strip()
    if isinstance(error, SyntaxError):
        return f"{text} ({error.filename}, line {error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, (ValueError, RuntimeError)) and frames and _is_ours(frames[-1].filename):
        text = str(error)
    theirs = [frame for frame in frames if not _is_ours(frame.filename)]
    return f"{text} ({theirs[-1].filename}, line {theirs[-1].lineno})" if theirs else text


def _is_ours(file: str) -> bool:
    """Whether a file of a traceback is one of packenv's, or of importing. Machine code names the checkout that compiled it."""
    package = Path(__file__).parent
    inside = file.rpartition(f"{package.name}/")[2]
    return file.startswith(("<frozen importlib", str(package))) or (inside != file and (package / inside).is_file())


def library_needed(purpose: str, extra: str, error: ImportError) -> str:
    """Return the line on an optional library that cannot be imported: the cause, and the command that installs the extra."""
    library = (error.name or extra).partition(".")[0]
    if isinstance(error, ModuleNotFoundError):
        return f"{purpose} needs {library}, which is not installed: {install_command(extra)}"
    upgrade = install_command(extra).replace("pip install", "pip install --upgrade", 1)
    return f"{purpose} needs {library}, and importing it fails ({' '.join(str(error).split())}): {upgrade}"


def install_command(extra: str) -> str:
    """The command that installs what an optional extra of packenv brings, which works wherever packenv itself came from."""
    from importlib import metadata

    from packaging.requirements import Requirement

    needs = [Requirement(text) for text in metadata.requires("packenv") or [] if "extra" in text]
    of_extra = [need for need in needs if need.marker is not None and need.marker.evaluate({"extra": extra})]
    for need in of_extra:
        need.marker = None
    return f"pip install {' '.join(repr(str(need)) for need in of_extra)}"


def nearest(name: str, choices: list[str] | tuple[str, ...], alike: float = 0.5) -> str:
    """The end of a message: `; did you mean a, b?` for the choices similar to `name`, or the list of all choices.

    alike  from 0 to 1, how similar: of short names, half of the letters are soon the same
    """
    import difflib

    close = difflib.get_close_matches(name, choices, n=3, cutoff=alike)
    return f"; did you mean {', '.join(close)}?" if close else f"; known: {', '.join(choices)}"
