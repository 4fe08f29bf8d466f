"""`packenv judge`: which fraction of the maximum supportable workload a policy keeps stable, against its guarantee."""

from __future__ import annotations

from dataclasses import replace

import click

from packenv.cli.options.names import FILE, POLICY, WORKLOAD
from packenv.cli.options.of_fields import options_of
from packenv.cli.options.shared import JSON, log, process_options, report_option, runs_in, workload_options
from packenv.cli.options.workload import chosen_policies, workload_told
from packenv.cli.outputs import check_outputs, write_all, write_report
from packenv.cli.tables import format_option, show, text_console
from packenv.files import write_json
from packenv.options.shared import OF_TRACES, ProcessOptions, WorkloadOptions
from packenv.options.verbs import JudgeOptions
from packenv.runs.text import counted


@click.command("judge")
@click.argument("sources", metavar="[WORKLOAD|TRACE]…", nargs=-1, type=WORKLOAD)
@click.option(
    "--policy", "-p", "policies", multiple=True, type=POLICY, help="Policy to judge, e.g. bf-js, vqs:J=4; repeat for more."
)
@workload_options("servers", "sizes", "service", "resources", *OF_TRACES)
@options_of(JudgeOptions)
@process_options
@log
@format_option
@click.option("--json", "json_path", type=JSON, help="Write intervals, and verdicts on loads, as JSON; - is standard output.")
@click.option("--plot", type=FILE, help="Draw the intervals beside the guarantees ½ and ⅔ (PNG, PDF, SVG).")
@report_option
def judge_command(
    sources: tuple[str, ...],
    policies: tuple[str, ...],
    of_workload: WorkloadOptions,
    options: JudgeOptions,
    where: ProcessOptions,
    log: str | None,
    form: str,
    json_path: str | None,
    plot: str | None,
    report: str | None,
) -> None:
    """Find which fraction of ρ* each policy keeps stable on each workload, as an interval.

    \b
    packenv judge paper/fig3a paper/fig3b -p bf-js -p vqs --log judge.jsonl
    packenv judge --sizes uniform:0.1:0.9 --servers 5 -p vqs:J=5 --plot judged.png
    """
    check_outputs(log, json_path, plot=plot, report=report)
    from packenv.report.judgment_tables import LEFT_OUT
    from packenv.runs.log import RunLog
    from packenv.runs.many import judge_all
    from packenv.runs.runner import RunsFailed
    from packenv.theory.stability.judge import Judgments

    chosen = chosen_policies(policies)
    workloads = [workload_told(replace(of_workload, source=source)) for source in sources or (None,)]
    cases = [(workload, policy) for workload in workloads for policy in chosen]
    finished = judge_all(cases, runs_in(where), RunLog(log), options)
    judgments = Judgments(tuple(judgment for judgment in finished if judgment is not None))
    if not judgments:
        raise RunsFailed("every judgment failed, as runs did (above)")
    tables = judgments.table()
    show(form, tables.tables, judgments.records, LEFT_OUT)
    for notice in tables.notes:
        text_console().print(notice, style="yellow", highlight=False)

    def write_page(path: str) -> None:
        from packenv.report.judgment_page import judgment_page  # brings the profile of traces with it

        write_report(judgment_page(judgments, options.seeds), path)

    write_all(
        (json_path, lambda path: write_json(path, judgments.records)),
        (plot, lambda path: judgments.plot().save(path)),
        (report, write_page),
    )
    if len(judgments) < len(cases):
        raise RunsFailed(f"{len(cases) - len(judgments)} of {counted(len(cases), 'judgment')} failed, as runs did (above)")
