"""`packenv evaluate`: policies side by side on one workload."""

from __future__ import annotations

import math
from itertools import chain, repeat
from typing import Any

import click

from packenv.cli.evaluate.about import begin_lines, notices, print_workload
from packenv.cli.evaluate.records import record_of, summary_of
from packenv.cli.evaluate.size_classes import by_size, mean_by_size, sizes_table
from packenv.cli.evaluate.tables import LEFT_OUT, Times, classes_table, data_table, jobs_table, legend, results_table
from packenv.cli.evaluate.whole_jobs import whole_jobs
from packenv.cli.leaderboard.contests import contest_name
from packenv.cli.options.completed_names import POLICY, WORKLOAD
from packenv.cli.options.shared import JSON, report_option, run_options
from packenv.cli.options.workload import (
    RESOURCES_HELP,
    SLOT_SECONDS_HELP,
    WorkloadOptions,
    chosen_policies,
    shown_slot,
    workload_from,
)
from packenv.cli.outputs import check_outputs, write_all
from packenv.cli.report.page import write_report
from packenv.cli.schedule_file import write_schedule
from packenv.cli.tables import format_option, show, text_console
from packenv.errors import InputError
from packenv.files import write_json
from packenv.runs.chance import seeds_for
from packenv.runs.measured import measured
from packenv.runs.run import runs_of
from packenv.runs.runner import RunOptions, run_most
from packenv.runs.tensorboard import TENSORBOARD_HELP, check_tensorboard, write_tensorboard
from packenv.simulation import WAITING_LIMIT
from packenv.workloads.estimates import misjudged
from packenv.workloads.in_service import begins_busy
from packenv.workloads.workload import INTENSITIES

DEFAULT_SLOTS = 200_000


@click.command()
@click.argument("source", metavar="[WORKLOAD|TRACE]", required=False, type=WORKLOAD)
@click.option(
    "--policy", "-p", "policies", multiple=True, type=POLICY,
    help="Policy to run, e.g. bf-js, vqs:J=4, my_module:MyPolicy; repeat for more.",
)  # fmt: skip
@click.option("--servers", help="5, or 3x1,2x0.5, or 3x1:0.5 for several resources, or a file (also a trace's machines).")
@click.option("--load", type=float, help="Arrivals as a share of the maximum supportable workload ρ*.")
@click.option("--intensity", type=float, help="Arrivals as a share of the area bound (the papers' α).")
@click.option("--rate", type=float, help="Tasks per slot.")
@click.option("--sizes", help="uniform:0.1:0.9, discrete:0.4@0.5,0.6@0.5, constant:0.5, …")
@click.option("--service", help="geometric:100, fixed:100, lognormal:100:2, …")
@click.option("--resources", default="max", show_default=True, help=RESOURCES_HELP)
@click.option("--slot-seconds", help=SLOT_SECONDS_HELP)
@click.option("--speedup", default="1", show_default=True, help="β: arrivals of a trace come this many times as fast.")
@click.option("--estimate-error", type=float, help="Durations are believed with up to this share of error (tables of jobs).")
@click.option("--cutoff", type=float, help="Jobs whose tasks take longer than this on average (s) are shown apart, as long ones.")
@click.option(
    "--by-size", "sized", is_flag=True, help="Also show delays by the size of tasks: of each of a few, or by quartiles."
)
@click.option("--racks", type=click.IntRange(min=1), help="So many servers in a rack, for tables that say where data lie.")
@click.option("--network", metavar="S:F,…", help="Remote overheads are multiplied by F from second S on: 0:1,600:4.")
@click.option("--reading", metavar="A:B:…", help="What a task away from its data takes of each resource beyond its demand.")
@click.option("--serving", metavar="A:B:…", help="And what it takes on the server that has the data.")
@click.option("--slots", type=int, help=f"Slots to simulate  [default: a trace's own; {DEFAULT_SLOTS:,} otherwise].")
@click.option(
    "--backlog", type=click.IntRange(min=1), help="Keep so many tasks waiting: utilisation is then what a policy can carry."
)
@click.option("--drain", is_flag=True, help="Go on until all work is done.")
@click.option("--warmup", type=int, help="Slots at the start that are not measured  [default: 0 for traces, a tenth otherwise].")
@click.option("--seed", type=int, default=0, show_default=True, help="First seed.")
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many seeds: of the jobs, the same for every policy; of a trace, of the policies that draw by chance.",
)
@click.option(
    "--max-waiting", type=click.IntRange(min=1), default=WAITING_LIMIT, show_default=True, help="Stop a run when more tasks wait."
)
@run_options
@click.option("--schedule", type=click.Path(dir_okay=False), help="Write when and where each task ran (Parquet).")
@format_option
@click.option("--json", "json_path", type=JSON, help="Write all records as JSON; - is standard output.")
@click.option("--plot", type=click.Path(dir_okay=False), help="Draw queues over time and delays (PNG, PDF, SVG).")
@report_option
@click.option("--tensorboard", metavar="DIR", help=TENSORBOARD_HELP)
def evaluate(
    policies: tuple[str, ...],
    estimate_error: float | None,
    cutoff: float | None,
    sized: bool,
    slots: int | None,
    backlog: int | None,
    drain: bool,
    warmup: int | None,
    seed: int,
    seeds: int,
    max_waiting: int,
    made: RunOptions,
    schedule: str | None,
    form: str,
    json_path: str | None,
    plot: str | None,
    report: str | None,
    tensorboard: str | None,
    **words: Any,
) -> None:
    """Compare policies on a workload (a name or a .json file) or a trace (see `packenv trace --help`).

    \b
    packenv evaluate paper/fig4b --intensity 0.95 --seeds 8
    packenv evaluate --sizes uniform:0.1:0.9 --servers 5 -p bf-js -p vqs:J=5
    packenv evaluate trace.parquet --servers 160 --speedup 1.3 --plot queues.png
    """
    if seed < 0:
        raise InputError(f"--seed must not be negative, not {seed}")
    check_outputs(schedule, json_path, plot=plot, report=report)
    check_tensorboard(tensorboard)
    named = chosen_policies(policies)
    said = WorkloadOptions(**words)
    workload, dropped = workload_from(said)
    if estimate_error is not None:
        workload = misjudged(workload, estimate_error)
    if backlog is not None and any(words[key] is not None for key in INTENSITIES):
        raise InputError("--backlog says how much waits, whatever arrives: leave out --load, --intensity and --rate")
    if backlog is not None and sized:
        raise InputError("--by-size shows delays from arrival on; with --backlog nothing arrives at a time of its own")
    if (workload.jobs is None or begins_busy(workload)) and slots is None:
        slots = DEFAULT_SLOTS
    has_jobs = workload.jobs is not None and workload.jobs.job is not None
    if cutoff is not None and not (has_jobs and 0 < cutoff < math.inf):
        raise InputError("--cutoff is a number of seconds above 0, for tables that say which tasks make a job")
    scheduled = schedule is not None or has_jobs or sized or (report is not None and workload.jobs is not None)
    options = {"drain": drain or None, "warmup": warmup, "waiting_limit": max_waiting, "schedule": scheduled, "backlog": backlog}
    seeds_of = {name: seeds_for(name, workload, range(seed, seed + seeds)) for name in named}
    runs = [run for name in named for run in runs_of(workload, [name], seeds_of[name], slots, options)]
    console = text_console()
    print_workload(console, workload.at(seed), dropped, f" with seed {seed}" if workload.draw else "", backlog)
    for line in begin_lines(workload):
        console.print(line, highlight=False)
    noticed = notices(workload, named)
    for notice in noticed:
        console.print(notice, style="yellow")
    once = [name for name in named if len(seeds_of[name]) < seeds]
    if once:
        console.print(f"no chance in the jobs, nor in {', '.join(once)}: one run, not {seeds}", highlight=False)
    found, failure = run_most(runs, made)
    left = iter(found)
    groups = [[next(left) for _ in seeds_of[name]] for name in named]
    by_policy = [[run for run in group if run is not None] for group in groups if None not in group]
    if failure is not None and not by_policy:
        raise failure
    results = [*chain(*by_policy)]
    whole = whole_jobs(workload, by_policy, cutoff)
    times = Times(shown_slot(said, workload))
    summaries = [summary_of(*group, times.slot_seconds) for group in zip(by_policy, whole, strict=True)]
    tables = [results_table(summaries, times)]
    records = [*map(record_of, results, chain(*whole), repeat(times.slot_seconds))]
    if sized:
        classes = by_size(workload, by_policy)
        for record, own in zip(records, chain(*classes), strict=True):
            record["by_size"] = own
        for summary, group in zip(summaries, classes, strict=True):
            summary["by_size"] = mean_by_size(group)
        tables.append(sizes_table(summaries, times))
    if results[0].jobs is not None:
        tables.append(jobs_table(summaries, times))
        if cutoff is not None:
            tables.append(classes_table(summaries, cutoff, times))
    if results[0].data is not None:
        tables.append(data_table(summaries, times))
    show(form, tables, summaries, LEFT_OUT)
    marks = legend(tables, summaries)
    for line in marks:
        console.print(line, highlight=False)
    remarks = [f"{run.policy}: {run.remark} (seed {run.seed})" for run in (own[0] for own in by_policy) if run.remark]
    for line in remarks:
        console.print(line, style="yellow")
    stopped = [f"{s['policy']}: stopped, {s['stopped']}" for s in summaries if s["stopped"]]
    for line in stopped:
        console.print(line, style="red")

    def to_tensorboard(folder: str) -> None:
        where = contest_name(workload, words["speedup"]) if backlog is None else f"{workload.name}, {backlog} kept waiting"
        for group in by_policy:
            write_tensorboard(folder, where, group[0].policy, [*map(measured, group)])

    def draw(path: str) -> None:
        from packenv.cli.evaluate.plot import draw_runs  # brings matplotlib with it

        draw_runs(by_policy, workload, path, backlog)

    def tell(path: str) -> None:
        from packenv.cli.evaluate.report import evaluate_report  # brings the profile of traces with it

        told = evaluate_report(by_policy, summaries, tables, marks, [*noticed, *remarks, *stopped], workload, times, backlog)
        write_report(told, path)

    write_all(
        (json_path, lambda path: write_json(path, [*records, *summaries])),
        (schedule, lambda path: write_schedule(path, workload, results)),
        (tensorboard, to_tensorboard),
        (plot, draw),
        (report, tell),
    )
    if failure is not None:
        raise failure
