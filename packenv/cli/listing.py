"""`packenv list`: named policies and workloads."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import click

from packenv.catalogue import CATALOGUE, OF_FILES
from packenv.cli.tables import print_table
from packenv.learning.agents.shipped import pretrained_agents, summary_of
from packenv.policy_names import described, registered
from packenv.workloads.named.registry import WORKLOADS

if TYPE_CHECKING:
    from packenv.content.tables import Table

WIDEST = 110  # columns: longer lines are hard to read


class ListedPolicy(NamedTuple):
    """A policy: name, description, parameters with defaults."""

    name: str
    about: str
    parameters: str = ""


@click.command()
def listing() -> None:
    """Show the policies and workloads that have names, with their parameters."""
    width = min(shutil.get_terminal_size().columns, WIDEST)
    click.echo("Policies: NAME, or NAME:key=value,… with any of the parameters below the text\n")
    entries = [*policies()]
    longest = max(len(entry.name) for entry in entries)
    for entry in entries:
        click.echo(block(entry, longest, width))
    click.echo("\nWorkloads")
    print_table(workloads_table())


def policies() -> Iterator[ListedPolicy]:
    """Yield every registered policy, and each agent of packenv."""
    for name in [*CATALOGUE, *(name for name in registered() if name not in CATALOGUE and name not in OF_FILES)]:
        about, parameters = described(name)
        yield ListedPolicy(name, about, ", ".join(f"{key}={value}" for key, value in parameters.items()))
    yield ListedPolicy("replay:FILE", described("replay").about)
    yield ListedPolicy("optimal:FILE", described("optimal").about)
    yield ListedPolicy("agent:PATH", "An agent of your own, saved by `packenv train`.")
    for name in pretrained_agents():
        yield ListedPolicy(f"agent:{name}", summary_of(name))


def block(entry: ListedPolicy, longest: int, width: int) -> str:
    """Return name and wrapped text side by side, parameters below."""
    indent = " " * (longest + 4)
    first = f"  {entry.name}".ljust(len(indent))
    lines = textwrap.wrap(entry.about, width - len(indent), break_on_hyphens=False, break_long_words=False) or [""]
    lines += textwrap.wrap(entry.parameters, width - len(indent), break_on_hyphens=False, break_long_words=False)
    return "\n".join([first + lines[0], *(indent + line for line in lines[1:])])


def workloads_table() -> Table:
    """Return servers and arrivals of every named workload."""
    from packenv.content.tables import Column, Table, numbers

    table = Table("", [Column("workload"), *numbers("resources", "servers", "tasks per slot", "intensity")])
    for name, row in WORKLOADS.items():
        at_once = row.intensity is None
        offered = (f"{row.arrivals:.0f} in slot 0", "–") if at_once else (f"{row.arrivals:.4g}", f"{row.intensity:.3f}")
        table.add(name, str(row.resources), str(row.servers), *offered)
    return table
