"""`packenv plan --when`: when the waiting pods of a cluster would start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from packenv.cli.options.workload import begin_lines, print_workload
from packenv.cli.outputs import Outputs
from packenv.cli.tables import text_console
from packenv.content.showable import Answer
from packenv.content.tables import Column, Styled, Table, numbers
from packenv.errors import InputError
from packenv.planning.running_cluster.queue import LEVEL, NEVER, StartInterval, covered, trust_lines, when
from packenv.runs.runner import RunOptions
from packenv.workloads.workload import Workload

MOST_SHOWN = 40


def plan_when(
    workload: Workload,
    left_out: dict[str, int],
    policies: Sequence[str],
    slots: int,
    draws: int,
    run_options: RunOptions,
    outputs: Outputs,
) -> None:
    """Print when each waiting pod would start with each policy, and write it as JSON. Raises InputError."""
    console = text_console()
    print_workload(console, workload, left_out)
    services = getattr(workload.draw, "services", ())
    for line in (*begin_lines(workload), *trust_lines(services)):
        console.print(line, highlight=False)
    with run_options.runner() as runner:

        def ask(runs: Any, extract: Any) -> list[Any]:
            return runner.all(runs, extract, f"{workload.name}: when pods start")

        by_policy = when(workload, policies, slots, draws, ask)
    names = [*getattr(workload.draw, "names", ())]
    if not names:
        raise InputError(f"{workload.name}: its waiting tasks have no names")
    records = [
        start_record(name, policy, interval, workload.slot_seconds or 1.0)
        for policy, intervals in zip(policies, by_policy, strict=True)
        for name, interval in zip(names, intervals, strict=True)
    ]
    unfit = [*getattr(workload.draw, "unfit", ())]
    never = {"low_s": None, "median_s": None, "high_s": None, "started": 0.0, "level": LEVEL, "fits": False}
    records += [{"pod": name, "policy": policy} | never for policy in policies for name in unfit]
    shares = covered(services)
    records = [record | {"covered": None if shares is None else [*shares]} for record in records]
    more = [f"and {len(names) - MOST_SHOWN} more pods: --json has them"] if len(names) > MOST_SHOWN else []
    answer = Answer([_table(workload, names, policies, by_policy, slots)], more, records)
    outputs.show(answer)
    outputs.write(answer)


def _table(
    workload: Workload, names: Sequence[str], policies: Sequence[str], by_policy: Sequence[Sequence[StartInterval]], slots: int
) -> Table:
    seconds = workload.slot_seconds or 1.0
    title = f"start of waiting pods, from now: median, and {LEVEL:.0%} intervals; a run has {time_text(slots, seconds)}"
    table = Table(title, [Column("pod"), *numbers(*policies)])
    for n, name in enumerate(names[:MOST_SHOWN]):
        table.add(name, *(start_cell(intervals[n], seconds) for intervals in by_policy))
    return table


def start_cell(interval: StartInterval, seconds: float) -> Styled:
    """Median and interval."""
    low, median, high = (time_text(slot, seconds) for slot in interval[:3])
    return Styled.of((f"{median} ", ""), (f"[{low}, {high}]", "dim"))


def time_text(slot: int, seconds: float) -> str:
    """A time in a unit that people read."""
    if slot == NEVER:
        return "later"
    time = slot * seconds
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if time >= 2 * length:
            return f"{time / length:.3g} {unit}"
    return f"{time:.3g} s"


def start_record(pod: str, policy: str, interval: StartInterval, seconds: float) -> dict[str, Any]:
    """The JSON of one pod with one policy: seconds from now, null for later than the run."""
    times = {
        name: None if slot == NEVER else slot * seconds
        for name, slot in zip(("low_s", "median_s", "high_s"), interval, strict=False)
    }
    return {"pod": pod, "policy": policy, **times, "started": interval.started, "level": LEVEL}
