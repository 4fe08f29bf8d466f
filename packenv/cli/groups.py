"""Options of help in groups: Common, Output, and the headings of `packenv.options`."""

from __future__ import annotations

import functools
from typing import Any

import click

COMMON, OUTPUT, OTHER = "Common", "Output", "Other"
FEW = 12
"""Up to this many options are one list."""

NAME_WIDTH = 24
"""Width of the column of names, in letters; longer names have a line of their own."""


class Option(click.Option):
    """An option with a heading in help; `common`: listed first, under Common."""

    def __init__(self, *args: Any, group: str | None = None, common: bool = False, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.group, self.common = group, common


output_option = functools.partial(click.option, cls=Option, group=OUTPUT)
"""Declares an option that names a file to write."""


def write_options(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the options of a command: in groups if there are many, those without a group under Common."""
    groups: dict[str, list[tuple[str, str]]] = {COMMON: []}
    for param in command.get_params(ctx):
        if not isinstance(param, click.Option) or (record := param.get_help_record(ctx)) is None:
            continue
        group = getattr(param, "group", COMMON) or OTHER
        groups.setdefault(COMMON if getattr(param, "common", False) else group, []).append(record)
    groups[OUTPUT] = groups.pop(OUTPUT, [])  # the last one
    if sum(map(len, groups.values())) <= FEW:
        groups = {"Options": [record for records in groups.values() for record in records]}
    width = min(NAME_WIDTH, max(len(name) for records in groups.values() for name, _ in records))
    for heading, records in groups.items():
        if records:
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), about) for name, about in records], col_max=NAME_WIDTH)
