"""`packenv kubernetes when`: start times of waiting pods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from packenv.extend import (
    Answer,
    Column,
    Outputs,
    RunOptions,
    Styled,
    Table,
    begin_lines,
    counted,
    lasting,
    numbers,
    text_console,
)
from packenv_kubernetes.changed import changed, nodes_to_add, without_nodes
from packenv_kubernetes.cluster import Cluster
from packenv_kubernetes.commands.nodes import ClusterRequest, node_names, print_cluster, queued_again, stranded_line
from packenv_kubernetes.planning.queue import LATER, LEVEL, NEVER, StartInterval, covered, trust_lines, when
from packenv_kubernetes.texts import some

MOST_SHOWN = 40


def plan_when(
    request: ClusterRequest,
    add: Sequence[str],
    without: str | None,
    slots: int,
    draws: int,
    run_options: RunOptions,
    outputs: Outputs,
) -> None:
    """Print when each waiting pod would start with each policy.

    Also writes JSON. Raises InputError.
    add      additional nodes, by a node like them or by capacity: 3xNODE for three
    without  names of removed nodes. Their pods are queued again
    """
    console, policies, seconds = text_console(), request.policies, request.slot_seconds
    cluster, change, change_notes = _with_other_nodes(request.cluster, add, without)
    names = [pod.name for pod in cluster.waiting] + [cluster.running[n].name for n in cluster.again]
    if not names and not cluster.unfit:
        outputs.write(Answer([], [], []))
        console.print(cluster.nothing(), highlight=False, markup=False)
        return
    workload = cluster.workload(request.service or None, seconds, request.preemption)
    print_cluster(cluster, begin_lines(workload), len(request.cluster.nodes))
    for line in (*change_notes, *trust_lines(request.service)):
        console.print(line, highlight=False)
    with run_options.runner() as runner:

        def ask(runs: Any, extract: Any) -> list[Any]:
            return runner.all(runs, extract, f"{workload.name}: when pods start")

        by_policy = when(workload, policies, slots, draws, ask)
    records = [
        start_record(name, policy, interval, seconds)
        for policy, intervals in zip(policies, by_policy, strict=True)
        for name, interval in zip(names, intervals, strict=True)
    ]
    unknown = {"low_s": None, "median_s": None, "high_s": None, "started": None, "level": LEVEL}
    for policy in policies:
        unfit = [*(pod.name for pod in cluster.unfit), *cluster.stranded]
        records += [{"pod": name, "policy": policy} | unknown | {"started": 0.0, "fits": False} for name in unfit]
    shares = covered(request.service)
    records = [record | {"covered": None if shares is None else [*shares]} for record in records]
    table = Table(start_title(f"waiting pods{change}", by_policy, slots, seconds), [Column("pod"), *numbers(*policies)])
    for n, name in enumerate(names[:MOST_SHOWN]):
        table.add(name, *(start_cell(intervals[n], seconds) for intervals in by_policy))
    more = [f"and {len(names) - MOST_SHOWN} more pods: --json has them"] if len(names) > MOST_SHOWN else []
    answer = Answer([table], more, records)
    outputs.show(answer)
    outputs.write(answer)


def _with_other_nodes(cluster: Cluster, add: Sequence[str], without: str | None) -> tuple[Cluster, str, list[str]]:
    """Return the changed cluster, a phrase, and notes (InputError)."""
    changes, notes = [], []
    kinds = [nodes_to_add(cluster, text) for text in add]
    for count, kind in kinds:
        changes.append(f"with {counted(count, 'more node')} like {kind.name}")
        notes.append(kind.note(cluster))
        cluster = changed(cluster, kind, count)
        notes += [stranded_line(cluster)] if cluster.stranded else []
    if without is not None:
        names = node_names(without)
        remaining = without_nodes(cluster, names)
        changes.append(f"without {some(names)}")
        notes.append(queued_again(remaining))
        cluster = remaining
    return cluster, f" {', '.join(changes)}" if changes else "", notes


def start_title(pods: str, starts: Sequence[Sequence[StartInterval]], slots: int, seconds: float) -> str:
    """Return the title of a table of `starts`, one row a policy."""
    spread = any(interval.low != interval.high for of_policy in starts for interval in of_policy)
    intervals = f": median, and {LEVEL:.0%} intervals" if spread else ""
    return f"start of {pods}, from now{intervals}; a run has {time_text(slots, seconds)}"


def start_cell(interval: StartInterval, seconds: float) -> Styled:
    """Return median and interval, or one time if equal as text."""
    low, median, high = (time_text(slot, seconds) for slot in interval[:3])
    if low == high:
        return Styled(median, "")
    return Styled.of((f"{median} ", ""), (f"[{low}, {high}]", "dim"))


def time_text(slot: int, seconds: float) -> str:
    """Return a time in a readable unit."""
    if slot >= LATER:
        return "never" if slot == NEVER else "later"
    time = slot * seconds
    if time >= 2 * 86_400:
        return lasting(time)
    for unit, length in (("h", 3600), ("min", 60)):
        if time >= 2 * length:
            return f"{time / length:.3g} {unit}"
    return f"{time:.3g} s"


def start_record(pod: str, policy: str, interval: StartInterval, seconds: float) -> dict[str, Any]:
    """Return a pod's JSON: seconds from now, null beyond the run."""
    times = {
        name: None if slot >= LATER else slot * seconds
        for name, slot in zip(("low_s", "median_s", "high_s"), interval, strict=False)
    }
    return {"pod": pod, "policy": policy, **times, "started": interval.started, "level": LEVEL}
