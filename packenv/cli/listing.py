"""`packenv list`: what is known by name."""

from __future__ import annotations

import inspect

import click
from rich.console import Console
from rich.table import Table

from packenv.learning.agents.saved import load_agent, pretrained_agents
from packenv.policies.replay import find_replay
from packenv.policy import find_policy, registered
from packenv.workloads.named.registry import names, workload


@click.command()
def listing() -> None:
    """Show the policies and workloads that have names, with their parameters."""
    policies = Table("policy", "parameters", "what it does", title="Policies (NAME or NAME:key=value,…)", title_justify="left")
    for name in [name for name in registered() if name not in ("agent", "replay")]:
        kind = type(find_policy(name))
        defaults = getattr(kind, "_field_defaults", {})
        about = (inspect.getdoc(kind) or "").split("\n")[0]
        policies.add_row(name, ", ".join(f"{key}={value}" for key, value in defaults.items()), about)
    policies.add_row("replay:FILE", "", (inspect.getdoc(find_replay) or "").split("\n")[0])
    for name in pretrained_agents():
        policies.add_row(f"agent:{name}", "", str(load_agent(name).about.get("summary", "learned")))
    workloads = Table("workload", "resources", "servers", "tasks per slot", "intensity", title="Workloads", title_justify="left")
    for name in names():
        known = workload(name)
        at_once = known.jobs is not None and known.jobs.arrival[-1] == 0
        offered = (f"{len(known.jobs or ())} at once", "–") if at_once else (f"{known.rate:.4g}", f"{known.intensity:.3f}")
        workloads.add_row(name, str(known.D), str(len(known.servers)), *offered)
    Console().print(policies, workloads)
