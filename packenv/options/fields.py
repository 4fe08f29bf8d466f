"""Dataclass fields as options, and functions that take all of them."""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, field, fields, replace
from enum import Enum
from itertools import chain
from typing import Annotated, Any, NamedTuple, TypeVar

from packenv.errors import InputError, UnknownArgument

R = TypeVar("R")
WIDEST = 128  # letters of a line of a docstring


class Words(NamedTuple):
    """Help, flags and typed default of an option."""

    help: str
    flags: tuple[str, ...]  # on the command line; empty: --its-name
    metavar: str | None
    typed: Any  # the default on the command line
    group: str | None = None  # heading in help, for this option and those below it
    common: bool = False  # whether help lists it first


class Range(NamedTuple):
    """Least and largest whole number of an option."""

    least: int | None = None
    most: int | None = None


class Form(Enum):
    """Meaning of a text, for completion in a shell."""

    POLICY = "policy"
    FILE = "a file to write"
    JSON = "a file of JSON to write"
    PATH = "a file to read"
    FOLDER = "folder"
    SECONDS = "a length of time"
    SHARE = "a share, or per cent"


Count = Annotated[int, Range(1)]
PolicyName = Annotated[str, Form.POLICY]
OutFile = Annotated[str, Form.FILE]
JsonFile = Annotated[str, Form.JSON]
InFile = Annotated[str, Form.PATH]
Folder = Annotated[str, Form.FOLDER]
Seconds = Annotated[float, Form.SECONDS]
Share = Annotated[float, Form.SHARE]


def option(
    default: Any,
    help: str,
    *flags: str,
    metavar: str | None = None,
    typed: Any = MISSING,
    group: str | None = None,
    common: bool = False,
) -> Any:
    """Return a dataclass field that is an option too.

    default  `dict` stands for an empty one
    help     one line, for `--help` and docstrings, with "[default: …]" at its end if the default does not explain itself
    flags    names on the command line, unless --the-name-of-the-field
    typed    default on the command line, if different
    group    heading in help; it also holds for the options below, up to the next group
    common   whether help lists the option first, under Common
    """
    words = Words(help, flags, metavar, default if typed is MISSING else typed, group, common)
    return field(**{"default_factory" if default is dict else "default": default}, metadata={"words": words})


def options_in(kind: type[Any]) -> dict[str, tuple[Field[Any], Words]]:
    """Return the options among a dataclass's fields, by name.

    Fields without words are arguments of the verb.
    """
    options, group = {}, None
    for item in fields(kind):
        if (words := item.metadata.get("words")) is not None:
            group = words.group or group
            options[item.name] = item, words._replace(group=group)
    return options


def takes(kind: type[Any], name: str = "options", without: Iterable[str] = ()) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Give a function the fields of a `kind` as arguments, in place of `name`.

    They replace `name` in its signature, and in its docstring the line that begins with this word. A whole `kind` may still be
    passed as `name`, with fields that change it. `without`: fields left out.
    """
    options = {key: item for key, (item, _) in options_in(kind).items() if key not in {*without}}
    defaults = kind()

    def decorate(function: Callable[..., R]) -> Callable[..., R]:
        # Signature with the fields in place of `name`.
        own = inspect.signature(function)
        as_arguments = [
            inspect.Parameter(key, own.parameters[name].kind, default=getattr(defaults, key), annotation=item.type)
            for key, item in options.items()
        ]
        hands_on = any(parameter.kind == inspect.Parameter.VAR_KEYWORD for parameter in own.parameters.values())
        around = ([parameter] if parameter.name != name else as_arguments for parameter in own.parameters.values())
        signature = own.replace(parameters=[*chain(*around)])
        listed = [*signature.parameters.values()][: -1 if hands_on else None]
        named = [f"{'*' * (each.kind == inspect.Parameter.VAR_POSITIONAL)}{each.name}" for each in listed]

        @functools.wraps(function)
        def call(*args: Any, **arguments: Any) -> R:
            # Check the names, then put the fields together again.
            whole = arguments.pop(name) if isinstance(arguments.get(name), kind) else defaults
            for key, (_, words) in options_in(kind).items():
                for flag in (text.removeprefix("--").replace("-", "_") for text in words.flags):
                    if flag in arguments and flag not in signature.parameters and key in options:
                        raise InputError(f"{flag!r} is the command's name of the argument {key!r}")
            if "processes" in arguments and "processes" not in signature.parameters and "executor" in signature.parameters:
                raise InputError("'processes' is the command's: the argument is executor=packenv.executor(processes=…)")
            unknown = [] if hands_on else [key for key in arguments if key not in signature.parameters]
            if unknown:
                raise UnknownArgument(unknown[0], named, function.__name__)
            values = signature.bind(*args, **arguments).arguments
            changes = {key: values.pop(key) for key in options if key in values}
            values[name] = replace(whole, **changes)
            bound = inspect.BoundArguments(own, OrderedDict((key, values[key]) for key in own.parameters if key in values))
            try:
                return function(*bound.args, **bound.kwargs)
            except UnknownArgument as error:
                raise error.of_call(function.__name__, named) from None

        call.__signature__ = signature  # type: ignore[attr-defined]
        call.__doc__ = _with_lines(function.__doc__, name, {key: options_in(kind)[key][1].help for key in options})
        return call

    return decorate


def _with_lines(docstring: str | None, name: str, helps: dict[str, str]) -> str | None:
    """Replace the line that begins with `name` by a line for each option.

    The result has no margin. Compilers remove it since Python 3.13.
    """
    text = inspect.cleandoc(docstring or "")
    line = re.search(rf"^({name} +)\S.*$", text, re.MULTILINE)
    if line is None:
        return docstring
    width = max(len(line[1]), *(len(key) + 2 for key in helps))
    lines = []
    for key, about in helps.items():
        lines += textwrap.wrap(about, WIDEST, initial_indent=key.ljust(width), subsequent_indent=" " * width)
    return text[: line.start()] + "\n".join(lines) + text[line.end() :]
