"""`packenv plan cluster.json --goal`: how many nodes to add to a cluster as it is, or to take away, for each policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from packenv.cli.plan.all_policies import Say, plan_all
from packenv.cli.plan.running_cluster.queue_cells import cell, goals_record, print_cluster
from packenv.cli.plan.servers.numbers import Shown, say_refused
from packenv.cli.plan.servers.tables import seen_in
from packenv.cli.tables import text_console
from packenv.planning.running_cluster.added_nodes import Added, AddedNodes
from packenv.planning.running_cluster.goals import QueueGoal, check_pods
from packenv.planning.running_cluster.trials import QueueRuns
from packenv.planning.search import AskRuns, mean_of
from packenv.report.page import Report, Section
from packenv.report.tables import Column, Table, numbers
from packenv.runs.runner import RunOptions
from packenv.runs.text import counted
from packenv.workloads.kubernetes.changed import changed, emptiest_first, kind_of, with_unfit
from packenv.workloads.kubernetes.cluster import Cluster, some
from packenv.workloads.kubernetes.durations import Durations
from packenv.workloads.kubernetes.preemption import first_cycle
from packenv.workloads.laws import Law


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
    table = _table(asked, nodes, found, bound)
    said = _answer(asked, nodes, found, bound)

    def report() -> Report:
        about = [
            ("Goals", "; ".join(goal.text for goal in goals)),
            ("Nodes", f"{len(cluster.nodes):,}, and nodes like {nodes.kind.name}"),
            ("Pods in the queue", f"{len(grown.waiting):,}"),
        ]
        section = Section("Nodes to add", notes=[*grown.notes(asked.service), nodes.kind.note(cluster)], tables=[table])
        first, *others = said.splitlines()
        return Report(f"How many nodes {cluster.name} needs", first, about, [section], [*others, *map(str, refused)])

    return Shown([table], said, [_record(asked, nodes, one, bound) for one in found], None, report)


def _table(asked: AskedCluster, nodes: AddedNodes, found: Sequence[Added], bound: int) -> Table:
    least = f"; at least {bound:+,} for any policy" if bound > nodes.fewest else ""
    title = f"{asked.cluster.name}: nodes like {nodes.kind.name} to add to {len(asked.cluster.nodes):,}{least}; times in seconds"
    heads = [heading for goal in asked.goals for heading in (goal.title, "with one less")]
    table = Table(title, [Column("policy"), *numbers("nodes", *heads)])
    for one in found:
        trials = [(n, trial) for n in range(len(asked.goals)) for trial in (one.at, one.below)]
        table.add(one.policy, f"{one.number:+,}", *(cell(trial, n, asked.slot_seconds) for n, trial in trials))
    return table


def _answer(asked: AskedCluster, nodes: AddedNodes, found: Sequence[Added], bound: int) -> str:
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


def _record(asked: AskedCluster, nodes: AddedNodes, one: Added, bound: int) -> dict[str, Any]:
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
