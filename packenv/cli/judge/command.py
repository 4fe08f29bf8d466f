"""`packenv judge`: which fraction of the maximum supportable workload a policy keeps stable, against its guarantee."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from packenv.cli.judge.judgments import judge_all
from packenv.cli.judge.plot import draw_judgments
from packenv.cli.judge.tables import judgments_table, open_loads, proved, record_of
from packenv.cli.outputs import ResultFile, check_outputs, wide_console, write_all
from packenv.cli.workload_options import RESOURCES_HELP, WorkloadOptions, chosen_policies, workload_from
from packenv.files import write_json
from packenv.theory.stability.judge import SEEDS, WIDTH


@click.command("judge")
@click.argument("sources", metavar="[WORKLOAD|TRACE]…", nargs=-1)
@click.option("--policy", "-p", "policies", multiple=True, help="Policy to judge, e.g. bf-js, vqs:J=4; repeat for more.")
@click.option("--sizes", help="Instead of a workload: uniform:0.1:0.9, discrete:0.4@0.5,0.6@0.5, …")
@click.option("--servers", help="5, or 3x1,2x0.5, or 3x1:0.5 for several resources, or a file.")
@click.option("--service", help="geometric:100, fixed:100, lognormal:100:2, …")
@click.option("--resources", default="max", show_default=True, help=RESOURCES_HELP)
@click.option("--slot-seconds", default="0.1", show_default=True, help="Length of a slot, for traces in seconds.")
@click.option("--seeds", type=click.IntRange(min=1), default=SEEDS, show_default=True, help="Runs at each load.")
@click.option("--width", type=float, default=WIDTH, show_default=True, help="Of the interval that ends the search.")
@click.option("--processes", type=click.IntRange(min=1), help="Runs side by side  [default: one per core].")
@click.option("--log", type=click.Path(dir_okay=False), help="Keep the outcome of every run here; started again, go on from it.")
@click.option("--json", "json_path", type=ResultFile(), help="Write the judgments with all evidence as JSON.")
@click.option("--plot", type=click.Path(dir_okay=False), help="Draw the intervals beside ½ and ⅔ (PNG, PDF, SVG).")
def judge_command(
    sources: tuple[str, ...],
    policies: tuple[str, ...],
    seeds: int,
    width: float,
    processes: int | None,
    log: str | None,
    json_path: str | None,
    plot: str | None,
    **words: Any,
) -> None:
    """Find the interval of ρ*-fractions that each policy supports on each workload.

    \b
    packenv judge paper/fig3a paper/fig3b -p bf-js -p vqs --log judge.jsonl
    packenv judge --sizes uniform:0.1:0.9 --servers 5 -p vqs:J=5 --plot judged.png
    """
    check_outputs(log, json_path, plot=plot)
    named = chosen_policies(policies)
    given = WorkloadOptions(None, **words)
    workloads = [workload_from(replace(given, source=source))[0] for source in sources or (None,)]
    judged = judge_all([(workload, name) for workload in workloads for name in named], seeds, width, processes, log)
    console = wide_console()
    console.print(judgments_table(workloads, judged, len(named)))
    for n, judgment in enumerate(judged):
        if judgment.needed is not None:
            console.print(open_loads(judgment, workloads[n // len(named)]), style="yellow", highlight=False)
        bound = proved(judgment, workloads[n // len(named)])
        if bound is not None and bound > judgment.high:
            said = (
                f"{judgment.policy} on {judgment.workload}: proved stable up to {bound:.3f}, where runs of this length still grow"
            )
            console.print(said, style="yellow", highlight=False)
    write_all(
        (json_path, lambda path: write_json(path, [record_of(judgment) for judgment in judged])),
        (plot, lambda path: draw_judgments(judged, path)),
    )
