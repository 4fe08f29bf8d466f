"""Types of options that name policies, workloads and files.

They complete names in a shell, and check texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from packenv.catalogue import OF_FILES
from packenv.cli.outputs import FILE as FILE
from packenv.errors import InputError
from packenv.inputs.numbers import Duration, is_number, read_number, read_seconds, read_share
from packenv.inputs.text_files import STANDARD_INPUT
from packenv.learning.agents.shipped import pretrained_agents
from packenv.policy_names import check_text, described, registered
from packenv.workloads.named.registry import check_source, names


class NameType(click.ParamType):  # type: ignore[type-arg]  # generic in some versions of click only
    """A text with completion from `names(incomplete)`, or of files.

    `check` raises InputError for an unknown text. Empty texts and `others` are checked by the command.
    """

    def __init__(
        self,
        names: Callable[[str], Iterable[str]],
        files: bool = True,
        check: Callable[[str], None] | None = None,
        others: Iterable[str] = (),
        name: str = "name",
    ) -> None:
        self.name = name
        self.names, self.files, self.check, self.others = names, files, check, {"", *others}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if self.check is not None and value not in self.others and not (ctx is not None and ctx.resilient_parsing):
            self.check(value)
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        items = [CompletionItem(name) for name in self.names(incomplete) if name.startswith(incomplete)]
        return items or ([CompletionItem(incomplete, type="file")] if self.files else [])


class Seconds(click.ParamType):  # type: ignore[type-arg]
    """A length of time above 0: `10s`, `2min`, `2h 30m` or seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        seconds = read_seconds(str(value))
        if seconds is None:
            self.fail(f"{value!r} is not a length of time such as 10s, 2min or 2h 30m")
        if seconds <= 0:
            self.fail(f"must be above 0, not {value}")
        return float(seconds) if is_number(str(value).strip()) else Duration(seconds, str(value).strip())


class Share(click.ParamType):  # type: ignore[type-arg]
    """A finite number or percentage: 0.05 or 5%."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return read_share(value)
        except InputError as problem:
            self.fail(str(problem))


class Loads(click.ParamType):  # type: ignore[type-arg]
    """A number, or several with commas, which make a figure."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | tuple[float, ...]:
        if not isinstance(value, str):
            loads: float | tuple[float, ...] = value
            return loads
        try:
            several = tuple(map(read_number, value.split(",")))
        except InputError as problem:
            self.fail(f"{problem}.", param, ctx)
        return several if "," in value else several[0]


def policy_completions(incomplete: str) -> list[str]:
    """Return names of policies, or a policy's parameters after a colon.

    After `agent:` they are the agents of packenv.
    """
    name, colon, parameters = incomplete.partition(":")
    if not colon:
        return [f"{name}:" if name in OF_FILES else name for name in registered()]
    if name == "agent":
        return [f"agent:{agent}" for agent in pretrained_agents()]
    if name not in registered():
        return []
    before = incomplete[: len(incomplete) - len(parameters.rpartition(",")[2])]
    defaults = described(name).parameters
    return [f"{before}{key}" if default in ("True", "False") else f"{before}{key}=" for key, default in defaults.items()]


def check_file(text: str) -> None:
    """Raise InputError if the file or folder does not exist."""
    if text != STANDARD_INPUT and not Path(text).exists():
        raise InputError(f"{Path(text)}: no such file")


def check_third(text: str) -> None:
    """Check the workload behind two sides. Raises InputError.

    A policy in its place gets a message of its own.
    """
    if text.partition(":")[0] in registered():
        raise InputError(f"{text} is a policy, not a workload: the order is A B WORKLOAD, as in compare vqs-bf bf-js paper/fig4b")
    check_source(text)


POLICY = NameType(policy_completions, check=check_text, others=("none", "best"))  # no guard; the best of each measure
SIDE = NameType(policy_completions)  # a policy, or servers
WORKLOAD = NameType(lambda incomplete: names(), check=check_source)
THIRD = NameType(lambda incomplete: names(), check=check_third)  # the workload, behind two sides
CONTEST = NameType(lambda incomplete: names())  # a workload, and how much arrives
PATH = NameType(lambda incomplete: (), name="file")
INPUT = NameType(lambda incomplete: (), check=check_file, name="file")
COUNT = click.IntRange(min=1)
