"""The lines that `packenv evaluate` prints before its runs: the workload, and notices on policies."""

from __future__ import annotations

from rich.console import Console

from packenv.cli.options.workload import dropped_rows
from packenv.policy import find_policy, needs_of
from packenv.runs.text import counted
from packenv.simulation import setting_of
from packenv.workloads.demand import scalar_cdf
from packenv.workloads.in_service import BeginsBusy
from packenv.workloads.workload import Workload


def print_workload(
    console: Console, workload: Workload, dropped: dict[str, int], drawn: str = "", backlog: int | None = None
) -> None:
    """Print servers, arrivals and load of the workload. `drawn`: where a table of tasks comes from."""
    tasks = f"{len(workload.jobs)} tasks{drawn}, " if workload.jobs is not None else ""
    at_once = workload.jobs is not None and workload.jobs.arrival[-1] == 0
    if at_once:
        rate = "all there in slot 0"
    elif backlog is not None:
        rate = f"{backlog} tasks kept waiting, utilisation is what a policy can carry"
    else:
        rate = f"{workload.rate:.4g} tasks per slot, intensity {workload.intensity:.3f}"
    console.print(
        f"[bold]{workload.name}[/bold]: {tasks}{counted(len(workload.servers), 'server')}, {rate} "
        f"(area bound {workload.area_bound:.4g} tasks in service)",
        highlight=False,
    )
    if workload.rho is not None:
        console.print(f"load {workload.load:g} of ρ* >= {workload.rho[0]:.5g} (and <= {workload.rho[1]:.5g}) tasks in service")
    if left_out := dropped_rows(dropped):
        console.print(f"dropped rows: {left_out}", highlight=False)
    if workload.intensity >= 1 and not at_once and backlog is None:
        console.print("intensity is 1 or more: no policy is stable in the long run", style="yellow")


def notices(workload: Workload, policies: tuple[str, ...]) -> list[str]:
    """Which policies know durations, what others say of themselves, and which guarantee is left if J is too low (Corollary 1)."""
    setting = setting_of(workload)
    default = setting.levels
    told = [name for name in policies if needs_of(find_policy(name), setting).durations]
    believed = "true" if workload.jobs is None or workload.jobs.estimate is None else "estimated"
    found = [f"told {believed} durations: {', '.join(told)}"] if told else []
    for name in policies:
        chosen = find_policy(name)
        if hasattr(chosen, "notice"):
            found += filter(None, [chosen.notice(setting)])
        levels = getattr(chosen, "J", 0)
        if 0 < levels < default:
            largest = max(workload.servers.units.max(axis=0))
            below = scalar_cdf(workload.demand_law, workload.servers, int(largest) >> levels)
            found.append(
                f"{name}: {below:.1%} of the sizes lie below 2^-{levels}; the guarantee left is {(1 - below) * 2 / 3:.3f}"
            )
    return found


def begin_lines(workload: Workload) -> list[str]:
    """What is known of the tasks in service at the start, and what of them is assumed; none for empty servers."""
    return list(workload.draw.notes) if isinstance(workload.draw, BeginsBusy) else []
