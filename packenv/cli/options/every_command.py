"""Parts of all commands: bounds of numbers, and the layout of help."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import click

from packenv.cli.outputs import write_options
from packenv.errors import InputError
from packenv.inputs.numbers import LARGEST_WHOLE, read_number, read_whole
from packenv.options.shared import INTENSITIES

MOST = {"seeds": 10_000, "evaluation_seeds": 10_000, "processes": 1_000, "threads": 1_000, "workers": 1_000}
"""Largest value of options that count runs or processes."""


class Whole(click.ParamType):  # type: ignore[type-arg]  # generic in some versions of click only
    """A whole number from `low` to `high`."""

    name = "n"

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            number = read_whole(value, -LARGEST_WHOLE)
        except InputError as problem:
            self.fail(f"{problem}.", param, ctx)
        if not self.low <= number <= self.high:
            self.fail(f"{number} is not in the range {self._range()}.", param, ctx)
        return number

    def _range(self) -> str:
        if self.high < LARGEST_WHOLE:
            return f"{self.low}<=x<={self.high}"
        return "" if self.low == -LARGEST_WHOLE else f"x>={self.low}"


ONE_INTENSITY = "this command takes one; packenv evaluate takes several"


class Decimal(click.ParamType):  # type: ignore[type-arg]
    """A finite decimal number."""

    name = "x"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, (int, float)):
            return float(value)
        try:
            return read_number(value)
        except InputError as problem:
            pictures = (
                param is not None and ctx is not None and any("--plot-width" in option.opts for option in ctx.command.params)
            )
            hint = "; a picture's width is --plot-width" if pictures and param is not None and param.name == "width" else ""
            if param is not None and param.name in INTENSITIES and "," in value:
                hint = f"; {ONE_INTENSITY}"
            self.fail(f"{problem}{hint}.", param, ctx)


UNBROKEN = "\u2011"
"""A hyphen at which no line ends."""


class HelpFormatter(click.HelpFormatter):
    """A formatter that keeps names such as `bf-js` whole, to be copied."""

    def write_text(self, text: str) -> None:
        super().write_text(text.replace("-", UNBROKEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl([(name, about.replace("-", UNBROKEN)) for name, about in rows], col_max, col_spacing)

    def getvalue(self) -> str:
        return super().getvalue().replace(UNBROKEN, "-")


class Context(click.Context):
    """A click context with this formatter."""

    formatter_class = HelpFormatter


def refuse_repeated(command: click.Command, ctx: click.Context, arguments: Iterable[str]) -> None:
    """Raise InputError for a repeated option that takes one value.

    Click would drop all but the last.
    """
    _, _, parsed = command.make_parser(ctx).parse_args(args=[*arguments])
    for param in command.params:
        times = parsed.count(param)
        if isinstance(param, click.Option) and times > 1 and not (param.multiple or param.count):
            raise InputError(f"{param.opts[0]}: given {times} times; give it once")


def limited(command: click.Command) -> click.Command:
    """Return the command, with bounds on numbers, and subcommands alike.

    Also formats help as packenv's, and refuses repeated options.
    """
    command.context_class = Context
    if "parse_args" not in vars(command):  # once, as commands are module-level objects
        parse = command.parse_args

        def parse_once(ctx: click.Context, args: list[str]) -> list[str]:
            if not ctx.resilient_parsing:
                refuse_repeated(command, ctx, args)
            return parse(ctx, args)

        command.parse_args = parse_once  # type: ignore[method-assign]
        if not isinstance(command, click.Group):
            command.format_options = functools.partial(write_options, command)  # type: ignore[method-assign]
    for param in command.params:
        if isinstance(param.type, (click.IntRange, click.types.IntParamType)):
            low, high = (getattr(param.type, end, None) for end in ("min", "max"))
            least = -LARGEST_WHOLE if low is None else int(low)
            param.type = Whole(least, MOST.get(param.name or "", LARGEST_WHOLE) if high is None else int(high))
        elif isinstance(param.type, click.types.FloatParamType):
            param.type = Decimal()
    for inner in getattr(command, "commands", {}).values():
        limited(inner)
    return command
