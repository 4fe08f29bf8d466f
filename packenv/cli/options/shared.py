"""Options that several commands have."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import click
from click.shell_completion import CompletionItem

from packenv.cli.options.workload import WorkloadOptions
from packenv.cli.outputs import FILE as FILE
from packenv.cli.outputs import JSON as JSON
from packenv.errors import InputError
from packenv.executors.choose import PROCESSES
from packenv.inputs.numbers import read_number
from packenv.policy import find_policy, registered
from packenv.runs.runner import RunOptions
from packenv.workloads.named.registry import names
from packenv.workloads.workload import INTENSITIES


class Named(click.ParamType):  # type: ignore[type-arg]  # generic in some versions of click only
    """A text, of which some are known: `names(incomplete)` gives those that a shell completes. Files, where none of them fits."""

    name = "text"

    def __init__(self, names: Callable[[str], Iterable[str]], files: bool = True) -> None:
        self.names, self.files = names, files

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        items = [CompletionItem(name) for name in self.names(incomplete) if name.startswith(incomplete)]
        return items or ([CompletionItem(incomplete, type="file")] if self.files else [])


class Seconds(click.ParamType):  # type: ignore[type-arg]
    """A length of time, `10s`, `2min` or a number of seconds, above 0."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        from packenv.planning.goals import UNITS

        number, unit = re.fullmatch(r"\s*(.*?)\s*([a-z]*)\s*", str(value)).groups()  # type: ignore[union-attr]
        try:
            seconds = read_number(number) * UNITS[unit or "s"]
        except (KeyError, ValueError):
            self.fail(f"{value!r} is no length of time such as 10s, 2min or 1h")
        return seconds if seconds > 0 else self.fail(f"must be above 0, not {value}")


def known_policies(incomplete: str) -> list[str]:
    """Names of policies; after a name and a colon its parameters, or the agents that come with packenv."""
    name, colon, parameters = incomplete.partition(":")
    if not colon:
        return [f"{name}:" if name in ("agent", "optimal", "replay") else name for name in registered()]
    if name == "agent":
        from packenv.learning.agents.saved import pretrained_agents  # brings the compiled environments with it

        return [f"agent:{agent}" for agent in pretrained_agents()]
    before = incomplete[: len(incomplete) - len(parameters.rpartition(",")[2])]
    if name in registered():
        with suppress(InputError):
            keys = inspect.signature(type(find_policy(name))).parameters.values()
            return [f"{before}{key.name}" if isinstance(key.default, bool) else f"{before}{key.name}=" for key in keys]
    return []


POLICY = Named(known_policies)
WORKLOAD = Named(lambda incomplete: names())
PATH = Named(lambda incomplete: ())


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

option = functools.partial(click.option, show_default=True)
COUNT = click.IntRange(min=1)

OF_WORKLOAD = {
    "servers": "Servers: 5; by capacity: 3x1,2x0.5; of two resources: 3x1:0.5; or a file (also a trace's machines).",
    "sizes": "Law of sizes: uniform:0.1:0.9, discrete:0.4@0.5,0.6@0.5, constant:0.5, …",
    "service": "Law of service, in slots: geometric:100, fixed:100, lognormal:100:2, …",
    "load": "Arrivals as a share of ρ*, the maximum supportable workload.",
    "intensity": "Arrivals as a share of the area bound (the papers' α).",
    "rate": "Tasks per slot.",
    "resources": "Resources of a task that count: `all`, or names (cpu,memory); `max`, or max:cpu,memory: only the largest.",
    "slot_seconds": "Seconds in a slot, for a trace: an exact decimal  [default: .swf 1, .tr 0.0005, others 0.1].",
    "columns": "Names of a table's columns by ours: submit_time_s=Submitted,duration_s=Elapsed,cpu=Cores.",
    "time_unit": "What a table's times and durations count, where they are numbers  [default: s].",
    "partition": "Partitions of a log (Slurm's, .swf) whose jobs count, with commas.",
    "finished_only": "Leave out tasks that failed or were cancelled after their start  [default: of Google's traces only].",
    "estimates": "Told of durations: the log's requests; true ones; or, where a task has none, the longest request.",
    "speedup": "β: arrivals of a trace come this many times as fast.",
    "racks": "So many servers in a rack, for tables that say where data lie.",
    "network": "Remote overheads are multiplied by F from second S on: 0:1,600:4.",
    "reading": "What a task away from its data takes of each resource beyond its demand.",
    "serving": "And what it takes on the server that has the data.",
}
"""What the options that make `WorkloadOptions` are, as help says it."""
METAVARS = {"slot_seconds": "H", "columns": "OURS=THEIRS,…", "network": "S:F,…", "reading": "A:B:…", "serving": "A:B:…"}
TYPES: dict[str, Any] = {
    "racks": COUNT, "time_unit": click.Choice(["s", "ms", "us", "ns", "min", "h"]),
    "estimates": click.Choice(["recorded", "exact", "longest"]), **dict.fromkeys(INTENSITIES, float),
}  # fmt: skip
FLAGS = {"finished_only": "--finished-only/--all-tasks"}


def workload_option(name: str, text: str | None = None) -> Decorator:
    """The option of OF_WORKLOAD with this name; `text`: other help than there."""
    default = getattr(WorkloadOptions, name)
    flag, type_, metavar = FLAGS.get(name, f"--{name.replace('_', '-')}"), TYPES.get(name), METAVARS.get(name)
    return click.option(flag, default=default, show_default=True, type=type_, metavar=metavar, help=text or OF_WORKLOAD[name])


def workload_options(*names: str, **texts: str) -> Decorator:
    """The options of OF_WORKLOAD with these names; the command gets them, and its `source`, as `of_workload: WorkloadOptions`.

    `texts`: other help than there, by name.
    """

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def run(*args: Any, source: str | None = None, **arguments: Any) -> Any:
            values = {name: arguments.pop(name) for name in names}
            return command(*args, of_workload=WorkloadOptions(source, **values), **arguments)

        with_options: Callable[..., Any] = run
        for name in reversed(names):
            with_options = workload_option(name, texts.get(name))(with_options)
        return with_options

    return add


processes = click.option("--processes", type=COUNT, help="Runs at the same time  [default: one per core].")
on = option(
    "--on", default=PROCESSES, metavar="WHERE", help="processes; ray: a cluster's, or a new local one's; ray://HOST:PORT."
)
log = click.option(
    "--log", type=FILE, help="Keep each finished run in this file; a second call makes only the runs that it lacks."
)
fail_fast = click.option("--fail-fast", is_flag=True, help="End at the first run that fails, and show where it did.")


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say where runs take place; the command gets them as `run_options: RunOptions`."""

    @functools.wraps(command)
    def run(*args: Any, processes: int | None, on: str, fail_fast: bool, **arguments: Any) -> Any:
        with RunOptions(processes, on, fail_fast) as options:
            return command(*args, run_options=options, **arguments)

    return processes(on(fail_fast(run)))
