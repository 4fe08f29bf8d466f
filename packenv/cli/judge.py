"""`packenv judge`: the fraction of ρ* that a policy keeps stable."""

from __future__ import annotations

from dataclasses import replace

import click

from packenv.cli.options.names import POLICY, WORKLOAD
from packenv.cli.options.of_fields import log, options_of, process_options, runs_in, workload_options
from packenv.cli.options.workload import chosen_policies, workload_with_notes
from packenv.cli.outputs import Outputs, output_options
from packenv.content.text import counted
from packenv.options.shared import OF_TRACES, ProcessOptions, WorkloadOptions
from packenv.options.verbs import JudgeOptions


@click.command("judge")
@click.argument("sources", metavar="[WORKLOAD|TRACE]…", nargs=-1, type=WORKLOAD)
@click.option(
    "--policy", "-p", "policies", multiple=True, type=POLICY, help="Policy to judge: bf-js, vqs:J=4, …; repeat for more."
)
@workload_options("servers", "sizes", "service", "arrivals", "resources", *OF_TRACES)
@options_of(JudgeOptions)
@process_options
@log
@output_options(
    "Write intervals and the verdicts on loads",
    plot="Draw intervals and the guarantees ½ and ⅔",
    report=True,
    width="--plot-width",
)
def judge_command(
    sources: tuple[str, ...],
    policies: tuple[str, ...],
    of_workload: WorkloadOptions,
    options: JudgeOptions,
    where: ProcessOptions,
    log: str | None,
    outputs: Outputs,
) -> None:
    """Find the fraction of ρ* that each policy keeps stable on each workload, as an interval.

    \b
    packenv judge paper/fig3a paper/fig3b -p bf-js -p vqs --log judge.jsonl
    packenv judge --sizes uniform:0.1:0.9 --servers 5 -p vqs:J=5 --plot judged.png
    """
    outputs.check(log)
    from packenv.runs.log import RunLog
    from packenv.runs.many import judge_all
    from packenv.runs.runner import RunsFailed
    from packenv.theory.stability.judgment import Judgments

    named = chosen_policies(policies) if policies else ()
    workloads = [workload_with_notes(replace(of_workload, source=source)) for source in sources or (None,)]
    chosen = named or chosen_policies((), *workloads)
    cases = [(workload, policy) for workload in workloads for policy in chosen]
    finished = judge_all(cases, runs_in(where), RunLog(log), options)
    judgments = Judgments(tuple(judgment for judgment in finished if judgment is not None))
    if not judgments:
        raise RunsFailed("every judgment failed, as runs did (above)")
    outputs.show(judgments)
    outputs.write(judgments)
    if len(judgments) < len(cases):
        raise RunsFailed(f"{len(cases) - len(judgments)} of {counted(len(cases), 'judgment')} failed, as runs did (above)")
