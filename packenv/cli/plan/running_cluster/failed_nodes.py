"""`packenv plan cluster.json --without NODES`: the queue of a cluster as it is, with and without nodes that fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from packenv.cli.plan.all_policies import Say, plan_all
from packenv.cli.plan.running_cluster.added_nodes import AskedCluster
from packenv.cli.plan.running_cluster.queue_cells import cell, goals_record, mean_or_none, print_cluster, seconds
from packenv.cli.plan.servers.numbers import Shown
from packenv.planning.running_cluster.failed_nodes import FailedNodes, compare_nodes
from packenv.planning.running_cluster.goals import check_pods
from packenv.planning.search import AskRuns, Trial
from packenv.report.page import Report, Section
from packenv.report.tables import Column, Table, numbers
from packenv.runs.runner import RunOptions
from packenv.runs.text import counted, listed
from packenv.workloads.kubernetes.changed import without_nodes
from packenv.workloads.kubernetes.cluster import MOST_NAMED, Cluster, some


def plan_failed_nodes(asked: AskedCluster, without: str, made: RunOptions) -> Shown:
    """Each policy on the cluster with and without these nodes. Raises InputError."""
    names = [*dict.fromkeys(name.strip() for name in without.split(","))]
    left = without_nodes(asked.cluster, names)
    check_pods(asked.goals, left, bool(asked.service))
    print_cluster(asked.cluster, asked.service, len(asked.cluster.nodes))

    def compare(policy: str, ask: AskRuns, say: Say) -> FailedNodes:
        say(f"with and without {counted(len(names), 'node')}")
        return compare_nodes(asked.runs(policy, ask), asked.cluster, names, range(asked.seeds))

    found, _ = plan_all(asked.policies, compare, made, None)
    table = _table(asked, names, found)
    said = "\n".join([_queued(left), *(_said(asked, left, one) for one in found)])

    def report() -> Report:
        nodes = len(asked.cluster.nodes)
        about = [
            ("Goals", "; ".join(goal.text for goal in asked.goals)),
            ("Nodes", f"{nodes:,}, and {nodes - len(names):,} without {listed(names)}"),
            ("Policies", ", ".join(asked.policies)),
        ]
        notes = ["The measures are of the same pods in both.", *asked.cluster.notes(asked.service)]
        section = Section("With and without these nodes", notes=notes, tables=[table])
        first, *others = said.splitlines()
        return Report(f"What if nodes of {asked.cluster.name} fail", first, about, [section], others)

    return Shown([table], said, [_record(asked, names, left, one) for one in found], None, report)


def _table(asked: AskedCluster, names: Sequence[str], found: Sequence[FailedNodes]) -> Table:
    nodes = len(asked.cluster.nodes)
    without = some(names) if len(names) <= MOST_NAMED else counted(len(names), "node")
    title = f"{asked.cluster.name}: {counted(nodes, 'node')}, and {nodes - len(names):,} without {without}; times in seconds"
    heads = [heading for goal in asked.goals for heading in (goal.title, "without", "difference")]
    table = Table(title, [Column("policy"), *numbers(*heads)])
    for one in found:
        cells = []
        for n in range(len(asked.goals)):
            cells += [cell(trial, n, asked.slot_seconds) for trial in (one.whole, one.left)]
            cells.append(seconds(one.change(n), asked.slot_seconds))
        table.add(one.policy, *cells)
    return table


def _queued(left: Cluster) -> str:
    """What becomes of the pods."""
    again = [left.running[n].name for n in left.again]
    if not again and not left.waiting and not left.stranded and not left.unfit:
        return "No pod waits, and none of these nodes' pods would start again."
    said = f"{counted(len(again), 'pod')} of these nodes would start again, behind those that wait"
    said += f": {some(again)}." if again else "."
    if not left.stranded:
        return said
    return f"{said} For {counted(len(left.stranded), 'pod')} no node is left: {some(left.stranded)}."


def _said(asked: AskedCluster, left: Cluster, one: FailedNodes) -> str:
    """Which goals still hold, and who waits longer."""
    longer = []
    for what, pods, by in zip(("pods that wait now", "the others"), (left.waiting, left.again), one.later, strict=True):
        if len(pods):
            longer.append(f"{what} start {seconds(by, asked.slot_seconds)} s later on average")
    later = "; ".join(longer)
    broken, before = _broken(asked, one.left), _broken(asked, one.whole)
    if not broken:
        return f"{one.policy}: without these nodes all goals are met; {later}."
    lost = [what for what in broken if what not in before]
    held = f"met with these nodes, not without: {listed(lost)}" if lost else f"not met with or without: {listed(broken)}"
    return f"{one.policy}: {held}; {later}." if later else f"{one.policy}: {held}."


def _broken(asked: AskedCluster, trial: Trial) -> list[str]:
    return [goal.text for goal, met in zip(asked.goals, trial.met, strict=True) if not met]


def _record(asked: AskedCluster, names: Sequence[str], left: Cluster, one: FailedNodes) -> dict[str, Any]:
    """The JSON of one policy; times are in slots."""
    goals = goals_record(asked.goals, {"value": one.whole, "value_without": one.left})
    for n, record in enumerate(goals):
        record |= {"difference": mean_or_none(one.change(n)), "met": one.whole.met[n], "met_without": one.left.met[n]}
    return {
        "workload": asked.cluster.name,
        "policy": one.policy,
        "nodes": len(asked.cluster.nodes),
        "without": [*names],
        "again": [left.running[n].name for n in left.again],
        "stranded": [*left.stranded],
        "slot_seconds": asked.slot_seconds,
        "seeds": asked.seeds,
        "goals": goals,
        "later": {"waiting": mean_or_none(one.later[0]), "again": mean_or_none(one.later[1])},
    }
