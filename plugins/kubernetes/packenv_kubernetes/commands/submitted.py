"""`packenv kubernetes submit`: starts of new pods, delays, remedies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from packenv.extend import (
    Answer,
    AskRuns,
    Column,
    Page,
    RunOptions,
    Say,
    Section,
    Table,
    counted,
    estimate,
    interval,
    left_out_lines,
    mean_and_half,
    numbers,
    plan_all,
    text_console,
)
from packenv_kubernetes.changed import without_submitted
from packenv_kubernetes.commands.nodes import ClusterRequest, print_cluster
from packenv_kubernetes.commands.pod_starts import MOST_SHOWN, start_cell, start_record, start_title
from packenv_kubernetes.fits_nowhere import unfit_lines
from packenv_kubernetes.planning.queue import covered, trust_lines
from packenv_kubernetes.planning.submitted import Later, Submission, SubmittedPods
from packenv_kubernetes.pod_groups import gang_lines
from packenv_kubernetes.preemption import first_cycle
from packenv_kubernetes.texts import MOST_NAMED, some


def plan_submitted(request: ClusterRequest, notes: Sequence[str], slots: int, draws: int, run_options: RunOptions) -> Answer:
    """Return submitted pods' fate by policy, with `notes` (InputError)."""
    cluster, seconds = request.cluster, request.slot_seconds
    submitted = SubmittedPods(cluster, request.service, seconds, request.preemption)
    before = without_submitted(cluster)
    print_cluster(before, before.notes(request.service), len(cluster.nodes))
    # Notes that are new with the pods.
    known = {*unfit_lines(before), *gang_lines(before)}
    new = [line for line in (*gang_lines(cluster), *unfit_lines(cluster)) if line not in known]
    begun = first_cycle(cluster, submitted.lowest) if request.preemption else []
    new += [line for line in cluster.begun_notes(begun) if line not in cluster.begun_notes(first_cycle(before, submitted.lowest))]
    if any(start.delay for start in begun if cluster.waiting[start.pod].submitted):
        new.append("now: or as soon as the pods in whose place they start are gone, at the end of their grace periods")
    for line in (*notes, *new, *trust_lines(request.service)):
        text_console().print(line, highlight=False, markup=False)

    def plan(policy: str, ask: AskRuns, say: Say) -> Submission:
        say("with and without the pods")
        return submitted.answer(policy, slots, draws, ask)

    answers, _ = plan_all(request.policies, plan, run_options, None)
    alone = cluster.fitting_alone(cluster.unfit, cluster.unfit_demand)
    of_gangs = {pod.name for pod, fits in zip(cluster.unfit, alone, strict=True) if fits}  # it fits a node, its gang cannot start
    table = _table(answers, of_gangs, slots, seconds)
    sentences = "\n".join(line for answer in answers for line in _sentences(answer, of_gangs, seconds))

    def page() -> Page:
        about = [("Nodes", f"{len(cluster.nodes):,}"), ("Policies", ", ".join(request.policies))]
        section = Section(
            "Start of the pods",
            notes=[*cluster.notes(request.service), *notes, *trust_lines(request.service), *left_out_lines(before.left_out)],
            tables=[table],
        )
        first, *others = sentences.splitlines()
        return Page(f"What if pods are submitted to {cluster.name}", first, about, [section], others)

    return Answer([table], sentences.splitlines(), [_record(request, answer) for answer in answers], write=page)


def _table(answers: Sequence[Submission], of_gangs: set[str], slots: int, seconds: float) -> Table:
    title = start_title("the submitted pods", [answer.starts for answer in answers], slots, seconds)
    table = Table(title, [Column("pod"), *numbers(*(answer.policy for answer in answers))])
    pods = answers[0].pods
    for n, name in enumerate(pods[:MOST_SHOWN]):
        table.add(name, *(start_cell(answer.starts[n], seconds) for answer in answers))
    for name in answers[0].unfit[: max(MOST_SHOWN - len(pods), 0)]:
        table.add(name, *("not as a whole gang" if name in of_gangs else "fits on no node" for _ in answers))
    return table


def _sentences(answer: Submission, of_gangs: set[str], seconds: float) -> list[str]:
    """Return sentences on starts, delayed pods, and remedies."""
    count = len(answer.pods) + len(answer.unfit)
    start = "starts" if len(answer.now) == 1 else "start"
    first = f"{answer.policy}: {len(answer.now):,} of {count:,} submitted pods {start} now"
    if (never := len(answer.unfit) - len(of_gangs.intersection(answer.unfit))) > 0:
        first += f", {never:,} {'fits' if never == 1 else 'fit'} on no node"
    if (whole := len(answer.unfit) - never) > 0:
        first += f", {whole:,} {'is' if whole == 1 else 'are'} of gangs that cannot start as a whole"
    lines = [f"{first}."]
    if answer.preempted:
        names = some(answer.preempted)
        lines.append(f"{answer.policy}: {counted(len(answer.preempted), 'pod')} preempted for them, whose work is lost: {names}.")
    if answer.later:
        longer = [_later(later, seconds) for later in answer.later[:MOST_NAMED]]
        more = len(answer.later) - len(longer)
        longer += [f"{more:,} more"] if more else []
        lines.append(f"{answer.policy}: waiting pods that start later on average: {'; '.join(longer)}.")
    elif answer.pods:
        lines.append(f"{answer.policy}: no pod that waits starts later for them.")
    for change in answer.changes:
        nodes = f"on {some(change.nodes)}"
        all_of = some(change.pods) if len(change.pods) == 1 else f"all of {some(change.pods)}"
        lines.append(f"{answer.policy}: {all_of} would start now {change.text}: {nodes}.")
    late = count - len(answer.now)
    if late and not answer.changes:
        lines.append(f"{answer.policy}: no single change that was tried would make them all start now.")
    return lines


def _later(later: Later, seconds: float) -> str:
    by = estimate(*mean_and_half([slots * seconds for slots in later.slots])) if later.slots else ""
    parts = [f"{by} s"] if by else []
    parts += [f"not in the run in {later.lost:.0%} more of the draws"] if later.lost else []
    return f"{later.pod} ({', '.join(parts)})"


def _record(request: ClusterRequest, answer: Submission) -> dict[str, Any]:
    """Return the JSON of one policy, times in seconds."""
    cluster, seconds, now = request.cluster, request.slot_seconds, {*answer.now}
    pods = [
        start_record(name, answer.policy, start, seconds) | {"now": name in now}
        for name, start in zip(answer.pods, answer.starts, strict=True)
    ]
    return {
        "workload": cluster.name,
        "policy": answer.policy,
        "covered": None if (shares := covered(request.service)) is None else [*shares],
        "pods": pods,
        "fits_nowhere": [*answer.unfit],
        "not_modelled": request.cluster.unmodelled(pod for pod in request.cluster.waiting if pod.submitted),
        "preempted": [*answer.preempted],
        "later": [
            {"pod": later.pod, "later_s": [*interval(slots * seconds for slots in later.slots)], "lost": later.lost}
            for later in answer.later
        ],
        "changes": [
            {"pods": [*entry.pods], "kind": entry.kind, "change": entry.text, "amount": entry.amount, "nodes": [*entry.nodes]}
            for entry in answer.changes
        ],
    }
