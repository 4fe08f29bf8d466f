"""`packenv plan --without`: goals with and without failing servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from packenv.content.page import Page, Section
from packenv.content.showable import Answer
from packenv.content.tables import Column, Table, numbers
from packenv.content.text import NONE, counted, estimate, listed
from packenv.planning.plan import PlanRequest, Say, plan_all
from packenv.planning.server_plans import SURER, cell, open_goals
from packenv.planning.trials import AskRuns, Trial
from packenv.planning.what_if import Failure, compare_failure, without_servers
from packenv.runs.runner import RunOptions
from packenv.runs.statistics import interval, mean_and_half
from packenv.workloads.servers import Servers

MOST_NAMED = 5  # servers in a title or a sentence


def plan_failure(request: PlanRequest, failing: tuple[int, ...], run_options: RunOptions, log: str | None) -> Answer:
    """Return each policy with and without the failing servers.

    Raises InputError if most tasks fit no other server.
    """
    jobs = request.workload.jobs
    left, unfit = without_servers(request.workload, failing)

    def compare(policy: str, ask: AskRuns, say: Say) -> Failure:
        say(f"with and without {counted(len(failing), 'server')}")
        return compare_failure(request.search(policy), left, ask)

    comparisons, _ = plan_all(request.policies, compare, run_options, request.log(log))
    table = _table(request, failing, comparisons, unfit)
    sentences = [_sentence(request, failing, comparison, unfit) for comparison in comparisons]
    if jobs is not None and unfit:
        fit = f"{unfit:,} of {counted(len(jobs), 'task')} {'fits' if unfit == 1 else 'fit'} none of the servers that are left"
        others = "the measures without are of the other tasks, and have no difference from those of all"
        sentences.insert(0, f"{fit}: no goal is met without them; {others}.")
    records = [_record(request, failing, comparison, unfit) for comparison in comparisons]

    def page() -> Page:
        servers = len(request.workload.servers)
        about = [
            ("Goals", "; ".join(goal.text for goal in request.goals) or "a stable queue"),
            ("Servers", f"{servers:,}, and {servers - len(failing):,} without {_which(request.workload.servers, failing)}"),
            ("Policies", ", ".join(request.policies)),
        ]
        notes = [] if unfit else ["All runs saw the same tasks."]
        section = Section("With and without these servers", notes=notes, tables=[table])
        first, *others = sentences
        return Page(f"What if servers of {request.workload.label} fail", first, about, [section], others, [request.workload])

    return Answer([table], sentences, records, write=page)


def _table(request: PlanRequest, failing: Sequence[int], comparisons: Sequence[Failure], unfit: int) -> Table:
    workload, seconds = request.workload, request.shown_slot
    servers = len(workload.servers)
    unit = "; times in " + ("slots" if seconds is None else "seconds") if request.goals else ""
    which = _which(workload.servers, failing)
    title = f"{workload.label}: {counted(servers, 'server')}, and {servers - len(failing):,} without {which}{unit}"
    heads = [heading for goal in request.goals for heading in (goal.title, "without", "difference")]
    stable_heads = [Column("stable"), Column("without")] if workload.jobs is None else []
    table = Table(title, [Column("policy"), *numbers(*heads), *stable_heads])
    for comparison in comparisons:
        cells = []
        for n, goal in enumerate(request.goals):
            cells += [cell(trial, n, goal, seconds) for trial in (comparison.whole, comparison.left)]
            scale = goal.scale(seconds)
            change = [None if by is None else by * scale for by in comparison.change(n)]
            cells.append(NONE if unfit else estimate(*mean_and_half(change)))
        stable = [_yes(comparison.whole.stable), _yes(comparison.left.stable)] if workload.jobs is None else []
        table.add(comparison.policy, *cells, *stable)
    return table


def _sentence(request: PlanRequest, failing: Sequence[int], comparison: Failure, unfit: int) -> str:
    """Return the goals that hold, are open, or have tasks that never start."""
    trials = [(counted(trial.servers, "server"), trial) for trial in (comparison.whole, comparison.left)]
    left_open = open_goals(request.goals, trials, request.shown_slot)
    noise = f" Not decided{left_open}; {SURER}." if left_open else ""
    noise += "".join(f" With {which} {trial.stopped}." for which, trial in trials if trial.stopped)
    broken = _broken(request, comparison.left)
    servers = request.workload.servers
    these = _which(servers, failing) if servers.names else "these servers"
    if unfit:
        of_others = f"for the other tasks not: {listed(broken)}" if broken else "for the other tasks all would be"
        return f"{comparison.policy}: not met without {these}; {of_others}.{noise}"
    if request.workload.much_left_out:
        text = f"for the rest not without {these}: {listed(broken)}" if broken else f"for the rest all would be without {these}"
        return f"{comparison.policy}: no goal is met for what is left out; {text}.{noise}"
    if not broken:
        return f"{comparison.policy}: without {these} all goals are met.{noise}"
    before = _broken(request, comparison.whole)
    lost = [what for what in broken if what not in before]
    if not lost:
        return f"{comparison.policy}: not met with {these} or without: {listed(broken)}.{noise}"
    also = f"; with {'it' if servers.names and len(failing) == 1 else 'them'} neither: {listed(before)}" if before else ""
    return f"{comparison.policy}: met with {these}, not without: {listed(lost)}{also}.{noise}"


def _broken(request: PlanRequest, trial: Trial) -> list[str]:
    missed = [goal.text for goal, met in zip(request.goals, trial.met, strict=True) if not met]
    return missed if trial.stable or request.workload.jobs is not None else ["a stable queue", *missed]


def _record(request: PlanRequest, failing: Sequence[int], comparison: Failure, unfit: int) -> dict[str, Any]:
    """Return the JSON of one policy, times in slots.

    Differences are of the same tasks.
    """
    workload, names = request.workload, request.workload.servers.names
    return {
        **workload.record,
        "policy": comparison.policy,
        "servers": len(workload.servers),
        "without": [names[server] for server in failing] if names else [*failing],
        "slot_seconds": workload.shown_slot,
        "goals": [
            {
                "goal": goal.text,
                "limit": goal.limit,
                "value": [*comparison.whole.estimate(n)],
                "value_without": [*comparison.left.estimate(n)],
                "difference": [*interval([] if unfit else comparison.change(n))],
                "met": comparison.whole.met[n] and not workload.much_left_out,
                "met_without": comparison.left.met[n] and not unfit and not workload.much_left_out,
            }
            for n, goal in enumerate(request.goals)
        ],
        "stable": comparison.whole.stable,
        "stable_without": comparison.left.stable,
        "fits_nowhere": unfit,
    }


def _which(servers: Servers, failing: Sequence[int]) -> str:
    """Return the failing servers, by name or number, at most a few names."""
    if not servers.names:
        return _ranges(failing)
    names = [servers.names[server] for server in failing]
    return listed(names if len(names) <= MOST_NAMED else [*names[:MOST_NAMED], f"{len(names) - MOST_NAMED:,} more"])


def _ranges(failing: Sequence[int]) -> str:
    """Return numbers as `3,7,10-12`, the form of `--without`."""
    parts: list[list[int]] = []
    for server in failing:
        if parts and parts[-1][1] == server - 1:
            parts[-1][1] = server
        else:
            parts.append([server, server])
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in parts)


def _yes(stable: bool) -> str:
    return "yes" if stable else "no"
