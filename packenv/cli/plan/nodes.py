"""Nodes of a cluster as it is, as `packenv plan cluster.json` shows them: to add or take away, and those that fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from packenv.cli.plan.answers import Say, Shown, plan_all, say_refused, seen_in
from packenv.cli.tables import text_console
from packenv.planning.running_cluster.nodes import Added, AddedNodes, FailedNodes, compare_nodes
from packenv.planning.running_cluster.queue import QueueGoal, QueueRuns, check_pods
from packenv.planning.trials import AskRuns, Trial, mean_of
from packenv.report.page import Report, Section
from packenv.report.tables import Column, Table, numbers
from packenv.runs.runner import RunOptions
from packenv.runs.statistics import Interval, interval, mean_and_half
from packenv.runs.text import NONE, counted, estimate, listed
from packenv.workloads.kubernetes.changed import changed, emptiest_first, kind_of, with_unfit, without_nodes
from packenv.workloads.kubernetes.cluster import MOST_NAMED, Cluster, some
from packenv.workloads.kubernetes.durations import Durations
from packenv.workloads.kubernetes.preemption import first_cycle
from packenv.workloads.laws import Law

NEVER = "never"
"""In place of a time: in some run not all pods start."""


@dataclass(frozen=True)
class AskedCluster:
    """What is to be planned."""

    cluster: Cluster
    goals: Sequence[QueueGoal]
    policies: tuple[str, ...]
    seeds: int
    service: tuple[Law, ...] | Durations
    slot_seconds: float
    preemption: bool = True

    def runs(self, policy: str, ask: AskRuns) -> QueueRuns:
        return QueueRuns(policy, self.goals, self.service, self.slot_seconds, ask, self.preemption)


def plan_added(asked: AskedCluster, add: str | None, made: RunOptions) -> Shown:
    """The least number of nodes to add for each policy. Raises InputError, and NoneMeets if no policy meets the goals."""
    cluster, goals = asked.cluster, asked.goals
    nodes = AddedNodes(cluster, kind_of(cluster, add), asked.seeds)
    grown = with_unfit(cluster, nodes.kind)
    check_pods(goals, grown, bool(asked.service))
    print_cluster(grown, asked.service, len(cluster.nodes))
    text_console().print(nodes.kind.note(cluster), highlight=False, markup=False)
    with text_console().status(f"{cluster.name}: the fewest nodes of any policy"):
        bound = nodes.bound(goals, lambda own: own.workload(asked.service or None, asked.slot_seconds, asked.preemption))

    def plan(policy: str, ask: AskRuns, say: Say) -> Added:
        return nodes.least(asked.runs(policy, ask), bound, say)

    found, refused = plan_all(asked.policies, plan, made, None)
    say_refused(refused, found)
    table = _added_table(asked, nodes, found, bound)
    said = _added_answer(asked, nodes, found, bound)

    def report() -> Report:
        about = [
            ("Goals", "; ".join(goal.text for goal in goals)),
            ("Nodes", f"{len(cluster.nodes):,}, and nodes like {nodes.kind.name}"),
            ("Pods in the queue", f"{len(grown.waiting):,}"),
        ]
        section = Section("Nodes to add", notes=[*grown.notes(asked.service), nodes.kind.note(cluster)], tables=[table])
        first, *others = said.splitlines()
        return Report(f"How many nodes {cluster.name} needs", first, about, [section], [*others, *map(str, refused)])

    return Shown([table], said, [_added_record(asked, nodes, one, bound) for one in found], None, report)


def _added_table(asked: AskedCluster, nodes: AddedNodes, found: Sequence[Added], bound: int) -> Table:
    least = f"; at least {bound:+,} for any policy" if bound > nodes.fewest else ""
    title = f"{asked.cluster.name}: nodes like {nodes.kind.name} to add to {len(asked.cluster.nodes):,}{least}; times in seconds"
    heads = [heading for goal in asked.goals for heading in (goal.title, "with one less")]
    table = Table(title, [Column("policy"), *numbers("nodes", *heads)])
    for one in found:
        trials = [(n, trial) for n in range(len(asked.goals)) for trial in (one.at, one.below)]
        table.add(one.policy, f"{one.number:+,}", *(cell(trial, n, asked.slot_seconds) for n, trial in trials))
    return table


def _added_answer(asked: AskedCluster, nodes: AddedNodes, found: Sequence[Added], bound: int) -> str:
    best = min(one.number for one in found)
    policies = " or ".join(one.policy for one in found if one.number == best)
    goals = asked.goals
    what = " and ".join(goal.text for goal in goals)
    like = nodes.kind.name
    if best > 0:
        said = f"{counted(best, 'node')} like {like} more with {policies} for {what}"
    elif best == 0:
        said = f"The cluster as it is will do with {policies} for {what}"
    else:
        said = f"{counted(-best, 'node')} like {like} can be taken away with {policies} for {what}"
    whom = "no policy" if asked.preemption else "without preemption no policy"
    if bound <= nodes.fewest:
        said += "; no bound."
    elif bound <= 0:  # other nodes could be taken away: the bound is for these
        said += f"; without {some(taken(nodes, bound - 1))} {whom} will do."
    else:
        said += f"; with fewer nodes {whom} will do." if best == bound else f"; {whom} can do with fewer than {bound:+,}."
    for one in found:
        trials = [(f"{number:+,}", trial) for number, trial in ((one.number - 1, one.below), (one.number, one.at)) if trial]
        if left_open := seen_in(goals, trials, asked.slot_seconds):
            said += f" {one.policy}: not decided{left_open}; more --seeds may decide it."
    there = changed(asked.cluster, nodes.kind, best)
    lines = there.begun_notes(first_cycle(there)) if asked.preemption else []
    if best < 0:
        lines.insert(0, f"Pods of {some(taken(nodes, best))} then start again, behind those that wait.")
    return "\n".join([said, *lines])


def taken(nodes: AddedNodes, count: int) -> list[str]:
    """Names of the nodes that are taken away, if the number is below 0."""
    return emptiest_first(nodes.cluster, nodes.kind)[: max(-count, 0)]


def _added_record(asked: AskedCluster, nodes: AddedNodes, one: Added, bound: int) -> dict[str, Any]:
    """The JSON of one policy; times are in slots."""
    return {
        "workload": asked.cluster.name,
        "policy": one.policy,
        "nodes": len(asked.cluster.nodes),
        "add": nodes.kind.name,
        "capacity": [*nodes.kind.capacity],
        "own_pods": [asked.cluster.running[n].name for n in nodes.kind.own(asked.cluster)],
        "fits_nowhere": [pod.name for pod in with_unfit(asked.cluster, nodes.kind).unfit],
        "not_modelled": asked.cluster.unmodelled(asked.cluster.waiting),
        "added": one.number,
        "taken_away": taken(nodes, one.number),
        "bound": bound if bound > nodes.fewest else None,
        "slot_seconds": asked.slot_seconds,
        "seeds": asked.seeds,
        "goals": goals_record(asked.goals, {"value": one.at, "one_less": one.below}),
        "tried": [
            {"added": count, "values": [mean_of(own) for own in trial.values], "meets": trial.meets} for count, trial in one.tried
        ],
    }


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
    table = _failed_table(asked, names, found)
    said = "\n".join([_queued(left), *(_failed_answer(asked, left, one) for one in found)])

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

    return Shown([table], said, [_failed_record(asked, names, left, one) for one in found], None, report)


def _failed_table(asked: AskedCluster, names: Sequence[str], found: Sequence[FailedNodes]) -> Table:
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


def _failed_answer(asked: AskedCluster, left: Cluster, one: FailedNodes) -> str:
    """Which goals still hold, and who waits longer."""
    longer = []
    for what, pods, by in zip(("pods that wait now", "the others"), (left.waiting, left.again), one.later, strict=True):
        if len(pods):
            longer.append(f"{what} start {seconds(by, asked.slot_seconds)} s later on average")
    later = "; ".join(longer)
    broken, before = _broken_goals(asked, one.left), _broken_goals(asked, one.whole)
    if not broken:
        return f"{one.policy}: without these nodes all goals are met; {later}."
    lost = [what for what in broken if what not in before]
    held = f"met with these nodes, not without: {listed(lost)}" if lost else f"not met with or without: {listed(broken)}"
    return f"{one.policy}: {held}; {later}." if later else f"{one.policy}: {held}."


def _broken_goals(asked: AskedCluster, trial: Trial) -> list[str]:
    return [goal.text for goal, met in zip(asked.goals, trial.met, strict=True) if not met]


def _failed_record(asked: AskedCluster, names: Sequence[str], left: Cluster, one: FailedNodes) -> dict[str, Any]:
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


def seconds(values: Sequence[float | None], slot_seconds: float) -> str:
    """The mean of times in slots over the seeds, with a 95 % interval."""
    if None in values:
        return NEVER
    return estimate(*mean_and_half([value * slot_seconds for value in values if value is not None]))


def cell(trial: Trial | None, n: int, slot_seconds: float) -> str:
    return NONE if trial is None else seconds(trial.values[n], slot_seconds)


def mean_or_none(values: Sequence[float | None]) -> list[float | None]:
    """Mean and 95 % interval in slots; None where in some run not all pods start."""
    return [*(Interval(None, None, None) if None in values else interval(values))]


def print_cluster(cluster: Cluster, service: tuple[Law, ...] | Durations, nodes: int) -> None:
    """Print what the cluster is, what is assumed, and what is left out. `nodes`: those of today."""
    console = text_console()
    waiting = counted(len(cluster.waiting), "pod")
    unfit = f", {counted(len(cluster.unfit), 'pod')} waiting that fit on no node" if cluster.unfit else ""
    console.print(f"[bold]{cluster.name}[/bold]: {counted(nodes, 'node')}, {waiting} in the queue{unfit}", highlight=False)
    for line in cluster.notes(service):
        console.print(line, highlight=False, markup=False)
    if cluster.left_out:
        left_out = ", ".join(f"{count} {reason}" for reason, count in cluster.left_out.items())
        console.print(f"left out: {left_out}", highlight=False, markup=False)


def goals_record(goals: Sequence[QueueGoal], columns: dict[str, Trial | None]) -> list[dict[str, Any]]:
    """The JSON of the goals' measures in each of these trials; times are in slots."""
    return [
        {"goal": goal.text, "limit": goal.limit}
        | {name: None if trial is None else mean_or_none(trial.values[n]) for name, trial in columns.items()}
        for n, goal in enumerate(goals)
    ]
