"""`packenv plan --without`: each goal's measure with all servers and without those that fail, on the same tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from packenv.cli.plan.answers import SURER, Asked, Say, Shown, cell, plan_all, seen_in
from packenv.planning.goals import Goal
from packenv.planning.trials import AskRuns, Trial
from packenv.planning.what_if import Failure, compare_failure, without_servers
from packenv.report.page import Report, Section
from packenv.report.tables import Column, Table, numbers
from packenv.runs.runner import RunOptions
from packenv.runs.statistics import interval, mean_and_half
from packenv.runs.text import counted, estimate, listed
from packenv.workloads.workload import Workload


def plan_failure(asked: Asked, failing: tuple[int, ...], made: RunOptions, log: str | None) -> Shown:
    """Each policy on the workload's own servers, with and without those that fail. Raises InputError if a task fits none left."""
    without_servers(asked.workload, failing)  # before any run

    def compare(policy: str, ask: AskRuns, say: Say) -> Failure:
        say(f"with and without {counted(len(failing), 'server')}")
        return compare_failure(asked.search(policy), failing, ask)

    found, _ = plan_all(asked.policies, compare, made, asked.log(log))
    table = _table(asked, failing, found)
    said = "\n".join(_said(asked, one) for one in found)
    records = [_record(asked.workload, asked.goals, failing, one) for one in found]

    def report() -> Report:
        servers = len(asked.workload.servers)
        about = [
            ("Goals", "; ".join(goal.text for goal in asked.goals) or "a stable queue"),
            ("Servers", f"{servers:,}, and {servers - len(failing):,} without {_shown(failing)}"),
            ("Policies", ", ".join(asked.policies)),
        ]
        section = Section("With and without these servers", notes=["All runs saw the same tasks."], tables=[table])
        first, *others = said.splitlines()
        return Report(f"What if servers of {asked.workload.name} fail", first, about, [section], others)

    return Shown([table], said, records, None, report)


def _table(asked: Asked, failing: Sequence[int], found: Sequence[Failure]) -> Table:
    workload, seconds = asked.workload, asked.shown_slot
    servers = len(workload.servers)
    unit = "; times in " + ("slots" if seconds is None else "seconds") if asked.goals else ""
    title = f"{workload.name}: {counted(servers, 'server')}, and {servers - len(failing):,} without {_shown(failing)}{unit}"
    heads = [heading for goal in asked.goals for heading in (goal.title, "without", "difference")]
    stable_heads = [Column("stable"), Column("without")] if workload.jobs is None else []
    table = Table(title, [Column("policy"), *numbers(*heads), *stable_heads])
    for one in found:
        cells = []
        for n, goal in enumerate(asked.goals):
            cells += [cell(trial, n, goal, seconds) for trial in (one.whole, one.left)]
            scale = seconds or 1.0 if goal.is_time else 1.0
            cells.append(estimate(*mean_and_half([None if by is None else by * scale for by in one.change(n)])))
        stable = [_yes(one.whole.stable), _yes(one.left.stable)] if workload.jobs is None else []
        table.add(one.policy, *cells, *stable)
    return table


def _said(asked: Asked, one: Failure) -> str:
    """Which goals still hold, and which of them noise leaves open."""
    trials = [(counted(trial.servers, "server"), trial) for trial in (one.whole, one.left)]
    left_open = seen_in(asked.goals, trials, asked.shown_slot)
    noise = f" Not decided{left_open}; {SURER}." if left_open else ""
    broken = _broken(asked.goals, one.left)
    if not broken:
        return f"{one.policy}: without these servers all goals are met.{noise}"
    before = _broken(asked.goals, one.whole)
    lost = [what for what in broken if what not in before]
    if not lost:
        return f"{one.policy}: not met with these servers or without: {listed(broken)}.{noise}"
    also = f"; with them neither: {listed(before)}" if before else ""
    return f"{one.policy}: met with these servers, not without: {listed(lost)}{also}.{noise}"


def _broken(goals: Sequence[Goal], trial: Trial) -> list[str]:
    own = [goal.text for goal, met in zip(goals, trial.met, strict=True) if not met]
    return own if trial.stable else ["a stable queue", *own]


def _record(workload: Workload, goals: Sequence[Goal], failing: Sequence[int], one: Failure) -> dict[str, Any]:
    """The JSON of one policy; times are in slots."""
    return {
        "workload": workload.name,
        "policy": one.policy,
        "servers": len(workload.servers),
        "without": [*failing],
        "slot_seconds": workload.slot_seconds,
        "goals": [
            {
                "goal": goal.text,
                "limit": goal.limit,
                "value": [*one.whole.estimate(n)],
                "value_without": [*one.left.estimate(n)],
                "difference": [*interval(one.change(n))],
                "met": one.whole.met[n],
                "met_without": one.left.met[n],
            }
            for n, goal in enumerate(goals)
        ],
        "stable": one.whole.stable,
        "stable_without": one.left.stable,
    }


def _shown(failing: Sequence[int]) -> str:
    """`3,7,10-12`, as `--without` reads them."""
    parts: list[list[int]] = []
    for server in failing:
        if parts and parts[-1][1] == server - 1:
            parts[-1][1] = server
        else:
            parts.append([server, server])
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in parts)


def _yes(stable: bool) -> str:
    return "yes" if stable else "no"
