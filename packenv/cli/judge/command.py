"""`packenv judge`: which fraction of the maximum supportable workload a policy keeps stable, against its guarantee."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from packenv.cli.judge.judgments import judge_all
from packenv.cli.judge.tables import LEFT_OUT, judgments_table, open_loads, proved, record_of
from packenv.cli.options import shared
from packenv.cli.options.completed_names import POLICY, WORKLOAD
from packenv.cli.options.shared import COUNT, FILE, JSON, option
from packenv.cli.options.workload import WorkloadOptions, chosen_policies, workload_told
from packenv.cli.outputs import check_outputs, write_all, write_report
from packenv.cli.tables import format_option, show, text_console
from packenv.files import write_json
from packenv.runs.runner import RunOptions, RunsFailed
from packenv.runs.text import counted
from packenv.theory.stability.judge import MOST_TASKS, SEEDS, WIDTH


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
        from packenv.cli.judge.report import judge_chart  # brings matplotlib with it

        judge_chart(judged).save(path)

    def tell(path: str) -> None:
        from packenv.cli.judge.report import judge_report  # brings the profile of traces with it

        write_report(judge_report(judged, judged_on, table, notices, seeds), path)

    write_all(
        (json_path, lambda path: write_json(path, records)),
        (plot, draw),
        (report, tell),
    )
    if len(judged) < len(cases):
        raise RunsFailed(f"{len(cases) - len(judged)} of {counted(len(cases), 'judgment')} failed, as runs did (above)")
