"""`packenv judge`: which fraction of the maximum supportable workload a policy keeps stable, against its guarantee."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from packenv.cli.options import shared
from packenv.cli.options.completed_names import POLICY, WORKLOAD
from packenv.cli.options.shared import COUNT, FILE, JSON, option
from packenv.cli.options.workload import WorkloadOptions, chosen_policies, workload_told
from packenv.cli.outputs import check_outputs, write_all, write_report
from packenv.cli.tables import format_option, show, text_console
from packenv.files import write_json
from packenv.policy import find_policy
from packenv.report.tables import Column, Table, numbers
from packenv.results.stability import Verdict
from packenv.runs.log import RunLog
from packenv.runs.many import JudgeRuns
from packenv.runs.runner import RunOptions, RunsFailed
from packenv.runs.text import counted
from packenv.theory.capacity.configuration_bounds import vqs_bound
from packenv.theory.stability.judge import MOST_TASKS, SEEDS, WIDTH, Judgment, judge
from packenv.workloads.workload import Workload


@click.command("judge")
@click.argument("sources", metavar="[WORKLOAD|TRACE]…", nargs=-1, type=WORKLOAD)
@click.option(
    "--policy", "-p", "policies", multiple=True, type=POLICY, help="Policy to judge, e.g. bf-js, vqs:J=4; repeat for more."
)
@shared.sizes
@shared.servers
@shared.service
@shared.resources
@shared.slot_seconds
@shared.columns
@option("--seeds", type=COUNT, default=SEEDS, help="Runs at each load.")
@option("--width", type=float, default=WIDTH, help="Stop when the interval is at most this wide.")
@option("--tasks", type=COUNT, default=MOST_TASKS, help="Arrivals in the longest runs; the first ones have a 64th of them.")
@shared.run_options
@click.option("--log", type=FILE, help="Keep each finished run in this file; a second call makes only the runs that it lacks.")
@format_option
@click.option("--json", "json_path", type=JSON, help="Write intervals, and verdicts on loads, as JSON; - is standard output.")
@click.option("--plot", type=FILE, help="Draw the intervals beside the guarantees ½ and ⅔ (PNG, PDF, SVG).")
@shared.report_option
def judge_command(
    sources: tuple[str, ...],
    policies: tuple[str, ...],
    seeds: int,
    width: float,
    tasks: int,
    made: RunOptions,
    log: str | None,
    form: str,
    json_path: str | None,
    plot: str | None,
    report: str | None,
    **words: Any,
) -> None:
    """Find which fraction of ρ* each policy keeps stable on each workload, as an interval.

    \b
    packenv judge paper/fig3a paper/fig3b -p bf-js -p vqs --log judge.jsonl
    packenv judge --sizes uniform:0.1:0.9 --servers 5 -p vqs:J=5 --plot judged.png
    """
    check_outputs(log, json_path, plot=plot, report=report)
    named = chosen_policies(policies)
    given = WorkloadOptions(None, **words)
    workloads = [workload_told(replace(given, source=source)) for source in sources or (None,)]
    cases = [(workload, name) for workload in workloads for name in named]
    outcomes = judge_all(cases, seeds, width, made, log, tasks)
    judged = [judgment for judgment in outcomes if judgment is not None]
    if not judged:
        raise RunsFailed("every judgment failed, as runs did (above)")
    judged_on = [workload for (workload, _), judgment in zip(cases, outcomes, strict=True) if judgment is not None]
    console = text_console()
    records = [record_of(judgment) for judgment in judged]
    table = judgments_table(judged_on, judged)
    show(form, [table], records, LEFT_OUT)
    notices = []
    for workload, judgment in zip(judged_on, judged, strict=True):
        if judgment.needed is not None:
            notices.append(open_loads(judgment, workload))
        bound = proved(judgment, workload)
        if bound is not None and bound > judgment.high:
            where = f"{judgment.policy} on {judgment.workload}"
            notices.append(f"{where}: proved stable up to {bound:.3f}, where runs of this length still grow")
    for notice in notices:
        console.print(notice, style="yellow", highlight=False)

    def draw(path: str) -> None:
        from packenv.report.judgment_page import judgment_chart  # brings matplotlib with it

        judgment_chart(judged).save(path)

    def tell(path: str) -> None:
        from packenv.report.judgment_page import judgment_page  # brings the profile of traces with it

        write_report(judgment_page(judged, judged_on, table, notices, seeds), path)

    write_all(
        (json_path, lambda path: write_json(path, records)),
        (plot, draw),
        (report, tell),
    )
    if len(judged) < len(cases):
        raise RunsFailed(f"{len(cases) - len(judged)} of {counted(len(cases), 'judgment')} failed, as runs did (above)")


def judge_all(
    cases: list[tuple[Workload, str]], seeds: int, width: float, made: RunOptions, log: str | None, tasks: int = MOST_TASKS
) -> list[Judgment | None]:
    """All judgments side by side, in the order of the cases (workload, policy); progress on standard error.

    None where runs failed, which is said.
    """
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), TimeElapsedColumn()
    stop = threading.Event()
    kept = RunLog(log)
    with made.runner() as runner, Progress(*columns, console=console, transient=True) as shown:
        run = JudgeRuns(runner, kept)

        def one(workload: Workload, name: str) -> Judgment | None:
            what = f"{name} on {workload.name}"
            bar = shown.add_task(f"{what}: ρ*")

            def say(low: float, high: float, load: float, slots: int) -> None:
                if stop.is_set():
                    raise KeyboardInterrupt
                shown.update(bar, description=f"{what}: in [{low:g}, {high:g}], at {load:g}, {slots:.1e} slots{runner.where()}")

            try:
                return judge(workload, name, seeds=seeds, width=width, tasks=tasks, run=run, progress=say)
            except RunsFailed:  # each has been reported
                return None
            finally:
                shown.remove_task(bar)

        with ThreadPoolExecutor(len(cases)) as threads:
            try:
                return list(threads.map(lambda case: one(*case), cases))
            except BaseException:
                stop.set()
                raise


LEFT_OUT = ("VQS at least", "guarantee")
"""Columns that a narrow terminal does without, the first of them first."""

STATUS_COLOURS = {"held": "green", "broken": "red", "undecided": "yellow", "not claimed": "dim"}


def open_loads(judgment: Judgment, workload: Workload) -> str:
    """What it would take to decide the loads that stayed undecided."""
    said = f"{judgment.policy} on {judgment.workload}: some loads stay undecided, about {judgment.needed:.2g} slots would decide"
    if workload.jobs is None:
        return said
    return f"{said}; too short for that, the table has {int(workload.jobs.arrival[-1]) + 1:.2g} at its own rate"


def record_of(judgment: Judgment) -> dict[str, Any]:
    """The JSON of a judgment."""
    record = {key: value for key, value in vars(judgment).items() if key != "evidence"} | {"rho": list(judgment.rho)}
    evidence = [seen._asdict() | {"verdict": _verdict_record(seen.verdict)} for seen in judgment.evidence]
    return record | {"needed": judgment.needed, "evidence": evidence}


def judgments_table(workloads: list[Workload], judged: list[Judgment]) -> Table:
    """A line for each judgment; `workloads` are theirs."""
    heads = numbers("supported", "≥ ½", "≥ ⅔", "guarantee", "VQS at least")
    table = Table("fractions of ρ* that are supported", [Column("workload"), Column("policy"), *heads])
    above = None
    for workload, judgment in zip(workloads, judged, strict=True):
        bound = proved(judgment, workload)
        marks = [Text(mark, STATUS_COLOURS[mark]) for mark in (judgment.half, judgment.two_thirds)]
        interval = f"{judgment.low:.3f} – {judgment.high:.3f}"
        claim = f"{judgment.claimed:.3f}" if judgment.claimed else "–"
        table.add(
            "" if workload is above else judgment.workload,
            judgment.policy,
            interval,
            *marks,
            claim,
            "" if bound is None else f"{bound:.3f}",
        )
        above = workload
    return table


def proved(judgment: Judgment, workload: Workload) -> float | None:
    """The share of ρ* that VQS supports at least, by the program over K_RED; None for other policies and settings."""
    if judgment.policy.split(":")[0] != "vqs" or workload.D > 1 or len(workload.servers.kinds) > 1:
        return None
    levels = getattr(find_policy(judgment.policy), "J", 0) or None
    return vqs_bound(workload, levels) / judgment.rho[1]


def _verdict_record(verdict: Verdict) -> dict[str, Any]:
    return {"kind": verdict.kind, "confidence": verdict.confidence, "drift": verdict.drift, "level": verdict.level}
