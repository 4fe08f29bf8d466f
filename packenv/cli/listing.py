"""`packenv list`: what is known by name."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from typing import NamedTuple

import click
from rich.console import Console

from packenv.cli.tables import print_table
from packenv.content.tables import Column, Table, numbers
from packenv.learning.agents.saved import load_agent, pretrained_agents
from packenv.policies.optimal.saved import find_optimal
from packenv.policies.replay import find_replay
from packenv.policy import find_policy, registered
from packenv.workloads.find import workload
from packenv.workloads.named.registry import names

WIDEST = 110  # columns: longer lines are hard to read


class Entry(NamedTuple):
    """A policy: how it is named, what it does, its parameters with their defaults."""

    name: str
    about: str
    parameters: str = ""


@click.command()
def listing() -> None:
    """Show the policies and workloads that have names, with their parameters."""
    width = min(Console().width, WIDEST)
    click.echo("Policies: NAME, or NAME:key=value,… with any of the parameters below the text\n")
    entries = [*policies()]
    longest = max(len(entry.name) for entry in entries)
    for entry in entries:
        click.echo(block(entry, longest, width))
    click.echo("\nWorkloads")
    print_table(workloads_table())


def policies() -> Iterator[Entry]:
    """Every policy that is registered, and each agent that comes with packenv."""
    for name in [name for name in registered() if name not in ("agent", "optimal", "replay")]:
        kind = type(find_policy(name))
        defaults = getattr(kind, "_field_defaults", {})
        yield Entry(name, _first_line(kind), ", ".join(f"{key}={value}" for key, value in defaults.items()))
    yield Entry("replay:FILE", _first_line(find_replay))
    yield Entry("optimal:FILE", _first_line(find_optimal))
    yield Entry("agent:PATH", "An agent of your own, saved by `packenv train`.")
    for name in pretrained_agents():
        yield Entry(f"agent:{name}", str(load_agent(name).about.get("summary", "learned")))


def block(entry: Entry, longest: int, width: int) -> str:
    """Name and text side by side, folded between words, and the parameters below."""
    indent = " " * (longest + 4)
    first = f"  {entry.name}".ljust(len(indent))
    lines = textwrap.wrap(entry.about, width - len(indent), break_on_hyphens=False, break_long_words=False) or [""]
    lines += textwrap.wrap(entry.parameters, width - len(indent), break_on_hyphens=False, break_long_words=False)
    return "\n".join([first + lines[0], *(indent + line for line in lines[1:])])


def workloads_table() -> Table:
    """Servers and arrivals of every named workload."""
    table = Table("", [Column("workload"), *numbers("resources", "servers", "tasks per slot", "intensity")])
    for name in names():
        setting = workload(name)
        at_once = setting.jobs is not None and setting.jobs.arrival[-1] == 0
        offered = (f"{len(setting.jobs or ())} at once", "–") if at_once else (f"{setting.rate:.4g}", f"{setting.intensity:.3f}")
        table.add(name, str(setting.D), str(len(setting.servers)), *offered)
    return table


def _first_line(described: object) -> str:
    return (inspect.getdoc(described) or "").split("\n")[0]
