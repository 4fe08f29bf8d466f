"""`packenv judge`: which fraction of the maximum supportable workload a policy keeps stable, against its guarantee."""

from __future__ import annotations

from dataclasses import replace

import click

from packenv.cli.options import shared
from packenv.cli.options.shared import COUNT, POLICY, WORKLOAD, option
from packenv.cli.options.workload import WorkloadOptions, chosen_policies, workload_told
from packenv.cli.outputs import Outputs, output_options
from packenv.content.text import counted
from packenv.runs.log import RunLog
from packenv.runs.many import judge_all
from packenv.runs.runner import RunOptions, RunsFailed
from packenv.theory.stability.judge import MOST_TASKS, SEEDS, WIDTH
from packenv.theory.stability.judgment import Judgments


@click.command("judge")
@click.argument("sources", metavar="[WORKLOAD|TRACE]…", nargs=-1, type=WORKLOAD)
@click.option(
    "--policy", "-p", "policies", multiple=True, type=POLICY, help="Policy to judge, e.g. bf-js, vqs:J=4; repeat for more."
)
@shared.workload_options(
    "servers", "sizes", "service", "resources", "slot_seconds", "columns", "time_unit", "partition", "finished_only"
)
@option("--seeds", type=COUNT, default=SEEDS, help="Runs at each load.")
@option("--width", type=float, default=WIDTH, help="Stop when the interval is at most this wide.")
@option("--tasks", type=COUNT, default=MOST_TASKS, help="Arrivals in the longest runs; the first ones have a 64th of them.")
@shared.run_options
@shared.log
@output_options(
    "Write intervals, and verdicts on loads,",
    plot="Draw the intervals beside the guarantees ½ and ⅔",
    report=True,
    width="--plot-width",
)
def judge_command(
    sources: tuple[str, ...],
    policies: tuple[str, ...],
    seeds: int,
    width: float,
    tasks: int,
    of_workload: WorkloadOptions,
    run_options: RunOptions,
    log: str | None,
    outputs: Outputs,
) -> None:
    """Find which fraction of ρ* each policy keeps stable on each workload, as an interval.

    \b
    packenv judge paper/fig3a paper/fig3b -p bf-js -p vqs --log judge.jsonl
    packenv judge --sizes uniform:0.1:0.9 --servers 5 -p vqs:J=5 --plot judged.png
    """
    outputs.check(log)
    chosen = chosen_policies(policies)
    workloads = [workload_told(replace(of_workload, source=source)) for source in sources or (None,)]
    cases = [(workload, policy) for workload in workloads for policy in chosen]
    finished = judge_all(cases, run_options, RunLog(log), seeds=seeds, width=width, tasks=tasks)
    judgments = Judgments(tuple(judgment for judgment in finished if judgment is not None))
    if not judgments:
        raise RunsFailed("every judgment failed, as runs did (above)")
    outputs.show(judgments)
    outputs.write(judgments)
    if len(judgments) < len(cases):
        raise RunsFailed(f"{len(cases) - len(judgments)} of {counted(len(cases), 'judgment')} failed, as runs did (above)")
