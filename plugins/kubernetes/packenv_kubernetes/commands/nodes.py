"""`packenv kubernetes plan`: nodes to add, to remove, or to lose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from packenv.extend import (
    Answer,
    AskRuns,
    Column,
    Interval,
    Law,
    Page,
    RunOptions,
    Say,
    Section,
    Table,
    Trial,
    counted,
    counted_by_reason,
    estimate,
    interval,
    left_out_lines,
    listed,
    mean_and_half,
    mean_of,
    number,
    numbers,
    open_goals,
    plan_all,
    print_refused,
    text_console,
)
from packenv_kubernetes.changed import changed, emptiest_first, kind_of, returns, with_unfit, without_nodes
from packenv_kubernetes.cluster import FITS_NOWHERE, NEVER_WHOLE, Cluster
from packenv_kubernetes.durations import Durations
from packenv_kubernetes.planning.nodes import Added, AddedNodes, FailedNodes, compare_nodes
from packenv_kubernetes.planning.queue import QueueGoal, QueueRuns, check_pods
from packenv_kubernetes.pod_groups import gang_lines
from packenv_kubernetes.preemption import first_cycle
from packenv_kubernetes.texts import MOST_NAMED, some

NEVER = "never"
"""Text if some pod does not start in some run."""


@dataclass(frozen=True)
class ClusterRequest:
    """A question about a cluster: goals, policies, and assumptions."""

    cluster: Cluster
    goals: Sequence[QueueGoal]
    policies: tuple[str, ...]
    seeds: int
    service: tuple[Law, ...] | Durations
    slot_seconds: float
    preemption: bool = True

    def with_goals(self, goals: Sequence[QueueGoal]) -> ClusterRequest:
        return replace(self, goals=goals)

    def runs(self, policy: str, ask: AskRuns) -> QueueRuns:
        return QueueRuns(policy, self.goals, self.service, self.slot_seconds, ask, self.preemption)


def plan_added(request: ClusterRequest, add: str | None, run_options: RunOptions) -> Answer:
    """Return the fewest nodes to add for each policy (InputError, NoneMeets)."""
    cluster, goals = request.cluster, request.goals
    nodes = AddedNodes(cluster, kind_of(cluster, add), request.seeds)
    grown = with_unfit(cluster, nodes.kind)
    check_pods(goals, grown, bool(request.service))
    print_cluster(grown, grown.notes(request.service), len(cluster.nodes))
    text_console().print(nodes.kind.note(cluster), highlight=False, markup=False)
    with text_console().status(f"{cluster.name}: the fewest nodes of any policy"):
        bound = nodes.bound(
            goals, lambda candidate: candidate.workload(request.service or None, request.slot_seconds, request.preemption)
        )

    def plan(policy: str, ask: AskRuns, say: Say) -> Added:
        return nodes.least(request.runs(policy, ask), bound, say)

    plans, refused = plan_all(request.policies, plan, run_options, None)
    print_refused(refused, plans, "nodes")
    table = _added_table(request, nodes, plans, bound)
    sentences = _added_answer(request, nodes, plans, bound)

    def page() -> Page:
        about = [
            ("Goals", "; ".join(goal.text for goal in goals)),
            ("Nodes", f"{len(cluster.nodes):,}, and nodes like {nodes.kind.name}"),
            ("Pods in the queue", f"{len(grown.waiting):,}"),
        ]
        section = Section(
            "Nodes to add",
            notes=[*grown.notes(request.service), nodes.kind.note(cluster), *left_out_lines(grown.left_out)],
            tables=[table],
        )
        first, *others = sentences.splitlines()
        return Page(f"How many nodes {cluster.name} needs", first, about, [section], [*others, *map(str, refused)])

    return Answer([table], sentences.splitlines(), [_added_record(request, nodes, plan, bound) for plan in plans], write=page)


def _added_table(request: ClusterRequest, nodes: AddedNodes, plans: Sequence[Added], bound: int) -> Table:
    least = f"; at least {bound:+,} for any policy" if bound > 0 else ""
    title = (
        f"{request.cluster.name}: nodes like {nodes.kind.name} to add to {len(request.cluster.nodes):,}{least}; times in seconds"
    )
    heads = [heading for goal in request.goals for heading in (goal.title, "with one less")]
    table = Table(title, [Column("policy"), *numbers("nodes", *heads)])
    for plan in plans:
        trials = [(n, trial) for n in range(len(request.goals)) for trial in (plan.at, plan.below)]
        table.add(plan.policy, f"{plan.number:+,}", *(cell(trial, n, request.slot_seconds) for n, trial in trials))
    return table


def _added_answer(request: ClusterRequest, nodes: AddedNodes, plans: Sequence[Added], bound: int) -> str:
    best = min(plan.number for plan in plans)
    policies = " or ".join(plan.policy for plan in plans if plan.number == best)
    goals = request.goals
    what = " and ".join(goal.text for goal in goals)
    like = nodes.kind.name
    if best > 0:
        sentence = f"{counted(best, 'more node')} like {like} {'is' if best == 1 else 'are'} enough with {policies} for {what}."
    elif best == 0:
        sentence = f"The present nodes are enough with {policies} for {what}."
    else:
        sentence = f"{counted(-best, 'node')} like {like} can be taken away with {policies} for {what}."
    unfit, suspended = len(with_unfit(request.cluster, nodes.kind).unfit), len(request.cluster.suspended)
    sentence += f" Not counted, without a node: {counted(unfit, 'pod')}." if unfit else ""
    sentence += f" Not counted: the pods of {counted(suspended, 'suspended object')}." if suspended else ""
    if bound > nodes.fewest and (bound > 0 or best <= 0):  # below today's number it says nothing of nodes to add
        too_few = "fewer nodes" if best == bound > 0 else _number_of_nodes(nodes, bound - 1)
        sentence += f" With {too_few} {'' if request.preemption else 'without preemption '}no policy meets the goals."
    for plan in plans:
        trials = [(f"{number:+,}", trial) for number, trial in ((plan.number - 1, plan.below), (plan.number, plan.at)) if trial]
        if left_open := open_goals(goals, trials, request.slot_seconds):
            sentence += f" {plan.policy}: not decided: {left_open}. More --seeds may decide it."
    changed_cluster = changed(request.cluster, nodes.kind, best)
    lines = changed_cluster.begun_notes(first_cycle(changed_cluster)) if request.preemption else []
    if best < 0:
        names = removed_nodes(nodes, best)
        with_pods = [_node_taken_away(request.cluster, name) for name in names[:MOST_NAMED]]
        lines.insert(0, f"Taken away: {some([*with_pods, *names[MOST_NAMED:]])}.")
    return "\n".join([sentence, *lines])


def _number_of_nodes(nodes: AddedNodes, number: int) -> str:
    """Return `number` additional nodes as text, removed ones by name."""
    if number == 0:
        return "the present nodes"
    if number > 0:
        return f"{counted(number, 'node')} more than today"
    return f"{counted(-number, 'node')} fewer than today ({some(removed_nodes(nodes, number))})"


def _node_taken_away(cluster: Cluster, name: str) -> str:
    """Return a node and its pods' fate: `n3 (cordoned, empty)`."""
    node = cluster.nodes.index(name)
    there = [pod for pod, on in zip(cluster.running, cluster.node, strict=True) if on == node]
    again = sum(returns(pod) for pod in there)
    starts = f"{counted(again, 'pod')} {'starts' if again == 1 else 'start'} again, behind the waiting pods"
    what = starts if again else "no pod starts again" if there else "empty"
    return f"{name} ({'cordoned, ' if cluster.traits[node].cordoned else ''}{what})"


def removed_nodes(nodes: AddedNodes, count: int) -> list[str]:
    """Return the names of removed nodes, for a negative number."""
    return emptiest_first(nodes.cluster, nodes.kind)[: max(-count, 0)]


def _added_record(request: ClusterRequest, nodes: AddedNodes, plan: Added, bound: int) -> dict[str, Any]:
    """Return the JSON of one policy, times in slots."""
    return {
        "workload": request.cluster.name,
        "policy": plan.policy,
        "nodes": len(request.cluster.nodes),
        "add": nodes.kind.name,
        "capacity": [*nodes.kind.capacity],
        "own_pods": [request.cluster.running[n].name for n in nodes.kind.pods(request.cluster)],
        "fits_nowhere": [pod.name for pod in with_unfit(request.cluster, nodes.kind).unfit],
        "not_modelled": request.cluster.unmodelled(request.cluster.waiting),
        "added": plan.number,
        "taken_away": removed_nodes(nodes, plan.number),
        "bound": bound if bound > nodes.fewest else None,
        "slot_seconds": request.slot_seconds,
        "seeds": request.seeds,
        "goals": goals_record(request.goals, {"value": plan.at, "one_less": plan.below}),
        "tried": [
            {"added": count, "values": [mean_of(values) for values in trial.values], "meets": trial.meets}
            for count, trial in plan.trials
        ],
    }


def plan_failed_nodes(request: ClusterRequest, without: str, run_options: RunOptions) -> Answer:
    """Return each policy with and without these nodes. Raises InputError."""
    names = node_names(without)
    remaining = without_nodes(request.cluster, names)
    check_pods(request.goals, remaining, bool(request.service))
    print_cluster(request.cluster, request.cluster.notes(request.service), len(request.cluster.nodes))

    def compare(policy: str, ask: AskRuns, say: Say) -> FailedNodes:
        say(f"with and without {counted(len(names), 'node')}")
        return compare_nodes(request.runs(policy, ask), request.cluster, names, range(request.seeds))

    comparisons, _ = plan_all(request.policies, compare, run_options, None)
    table = _failed_table(request, names, comparisons)
    sentences = "\n".join(
        [
            queued_again(remaining),
            *(line for line in gang_lines(remaining) if line not in gang_lines(request.cluster)),
            *(_failed_answer(request, remaining, comparison) for comparison in comparisons),
        ]
    )

    def page() -> Page:
        nodes = len(request.cluster.nodes)
        about = [
            ("Goals", "; ".join(goal.text for goal in request.goals)),
            ("Nodes", f"{nodes:,}, and {nodes - len(names):,} without {listed(names)}"),
            ("Policies", ", ".join(request.policies)),
        ]
        cluster = request.cluster
        notes = ["The measures are of the same pods in both.", *cluster.notes(request.service), *left_out_lines(cluster.left_out)]
        section = Section("With and without these nodes", notes=notes, tables=[table])
        first, *others = sentences.splitlines()
        return Page(f"What if nodes of {request.cluster.name} fail", first, about, [section], others)

    records = [_failed_record(request, names, remaining, comparison) for comparison in comparisons]
    return Answer([table], sentences.splitlines(), records, write=page)


def node_names(text: str) -> list[str]:
    """Return the names in a list with commas."""
    return [*dict.fromkeys(name.strip() for name in text.split(","))]


def _failed_table(request: ClusterRequest, names: Sequence[str], comparisons: Sequence[FailedNodes]) -> Table:
    nodes = len(request.cluster.nodes)
    without = some(names) if len(names) <= MOST_NAMED else counted(len(names), "node")
    title = f"{request.cluster.name}: {counted(nodes, 'node')}, and {nodes - len(names):,} without {without}; times in seconds"
    heads = [heading for goal in request.goals for heading in (goal.title, "without", "difference")]
    table = Table(title, [Column("policy"), *numbers(*heads)])
    for comparison in comparisons:
        cells = []
        for n in range(len(request.goals)):
            cells += [cell(trial, n, request.slot_seconds) for trial in (comparison.whole, comparison.left)]
            cells.append(seconds(comparison.change(n), request.slot_seconds))
        table.add(comparison.policy, *cells)
    return table


def stranded_line(cluster: Cluster) -> str:
    """Return a sentence on pods unable to start on the nodes."""
    return f"{counted(len(cluster.stranded), 'pod')} cannot start on the nodes that are there then: {some(cluster.stranded)}."


def queued_again(left: Cluster) -> str:
    """Return a sentence on pods to start again, if they can."""
    again = [left.running[n].name for n in left.again]
    if not again and not left.waiting and not left.stranded and not left.unfit:
        return "No pod waits, and none of these nodes' pods would start again."
    sentence = f"{counted(len(again), 'pod')} of these nodes would start again, behind the waiting pods"
    sentence += f": {some(again)}." if again else "."
    return f"{sentence} {stranded_line(left)}" if left.stranded else sentence


def _failed_answer(request: ClusterRequest, left: Cluster, comparison: FailedNodes) -> str:
    """Return the goals still met, and the pods with longer waits."""
    longer = []
    for what, pods, by in zip(("pods that wait now", "the others"), (left.waiting, left.again), comparison.later, strict=True):
        if len(pods) and None in by:
            longer.append(f"of {what} some never start")
        elif len(pods):
            longer.append(f"{what} start {_shift(by, request.slot_seconds)} on average")
    later = "".join(f"; {part}" for part in longer)
    never, why = comparison.never, ""
    if never:  # goals include these pods, measures only pods that fit a remaining node
        shown = "" if {*never} & {pod.name for pod in left.waiting} else ", and the measures are of the others"
        why = f"{some(never)} never {'starts' if len(never) == 1 else 'start'} with these nodes either{shown}; "
    broken, before = _broken_goals(request, comparison.left), _broken_goals(request, comparison.whole)
    if not broken:
        return f"{comparison.policy}: {why}without these nodes all goals are met{later}."
    lost = [what for what in broken if what not in before]
    held = f"met with these nodes, not without: {listed(lost)}" if lost else f"not met with or without: {listed(broken)}"
    return f"{comparison.policy}: {why}{held}{later}."


def _shift(by: Sequence[float | None], slot_seconds: float) -> str:
    """Return a mean delay in words: "200 s earlier" for -200 s."""
    times = [value for value in by if value is not None]
    earlier = sum(times) < 0
    return f"{seconds([-value if earlier else value for value in times], slot_seconds)} s {'earlier' if earlier else 'later'}"


def _broken_goals(request: ClusterRequest, trial: Trial) -> list[str]:
    return [goal.text for goal, met in zip(request.goals, trial.met, strict=True) if not met]


def _failed_record(request: ClusterRequest, names: Sequence[str], left: Cluster, comparison: FailedNodes) -> dict[str, Any]:
    """Return the JSON of one policy, times in slots."""
    goals = goals_record(request.goals, {"value": comparison.whole, "value_without": comparison.left})
    for n, record in enumerate(goals):
        record |= {
            "difference": mean_or_none(comparison.change(n)),
            "met": comparison.whole.met[n],
            "met_without": comparison.left.met[n],
        }
    return {
        "workload": request.cluster.name,
        "policy": comparison.policy,
        "nodes": len(request.cluster.nodes),
        "without": [*names],
        "again": [left.running[n].name for n in left.again],
        "stranded": [*left.stranded],
        "never": [*comparison.never],
        "not_modelled": left.unmodelled(left.waiting),
        "slot_seconds": request.slot_seconds,
        "seeds": request.seeds,
        "goals": goals,
        "later": {"waiting": mean_or_none(comparison.later[0]), "again": mean_or_none(comparison.later[1])},
    }


def seconds(values: Sequence[float | None], slot_seconds: float) -> str:
    """Return the mean over seeds in seconds, with its interval."""
    if None in values:
        return NEVER
    return estimate(*mean_and_half([value * slot_seconds for value in values if value is not None]))


def cell(trial: Trial | None, n: int, slot_seconds: float) -> str:
    return number(None) if trial is None else seconds(trial.values[n], slot_seconds)


def mean_or_none(values: Sequence[float | None]) -> list[float | None]:
    """Return mean and interval in slots, None unless all pods start."""
    return [*(Interval(None, None, None) if None in values else interval(values))]


def print_cluster(cluster: Cluster, notes: Sequence[str], nodes: int) -> None:
    """Print the cluster, its `nodes` today, notes and omissions."""
    console = text_console()
    waiting = counted(len(cluster.waiting), "pod")
    never = counted_by_reason({why: cluster.left_out.get(why, 0) for why in (FITS_NOWHERE, NEVER_WHOLE)})
    unfit = f", {never}" if never else ""
    console.print(f"[bold]{cluster.name}[/bold]: {counted(nodes, 'node')}, {waiting} in the queue{unfit}", highlight=False)
    for line in (*notes, *left_out_lines(cluster.left_out)):
        console.print(line, highlight=False, markup=False)


def goals_record(goals: Sequence[QueueGoal], columns: dict[str, Trial | None]) -> list[dict[str, Any]]:
    """Return the JSON of each trial's measures, in slots."""
    return [
        {"goal": goal.text, "limit": goal.limit}
        | {name: None if trial is None else mean_or_none(trial.values[n]) for name, trial in columns.items()}
        for n, goal in enumerate(goals)
    ]
