"""`packenv evaluate`: policies side by side on one workload."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click

from packenv.cli.options.shared import (
    COUNT,
    OF_WORKLOAD,
    POLICY,
    WORKLOAD,
    Seconds,
    option,
    run_options,
    workload_options,
)
from packenv.cli.options.workload import (
    WorkloadOptions,
    begin_lines,
    chosen_policies,
    print_workload,
    workload_from,
)
from packenv.cli.outputs import FileOf, Outputs, output_options
from packenv.cli.tables import text_console
from packenv.errors import InputError
from packenv.policy import find_policy, needs_of
from packenv.results.schedule_table import SCHEDULE_FILES, write_schedule
from packenv.runs.comparison import DEFAULT_SLOTS, Evaluation, evaluation
from packenv.runs.contest import contest_on
from packenv.runs.measured import measured
from packenv.runs.runner import RunOptions, run_most
from packenv.runs.tensorboard import TENSORBOARD_HELP, check_tensorboard, write_tensorboard
from packenv.simulation import WAITING_LIMIT, setting_of
from packenv.workloads.demand import scalar_cdf
from packenv.workloads.workload import INTENSITIES, Workload


@click.command()
@click.argument("source", metavar="[WORKLOAD|TRACE]", required=False, type=WORKLOAD)
@click.option(
    "--policy", "-p", "policies", multiple=True, type=POLICY,
    help="Policy to run, e.g. bf-js, vqs:J=4, my_module:MyPolicy; repeat for more.",
)  # fmt: skip
@workload_options(*OF_WORKLOAD)
@click.option("--estimate-error", type=float, help="Durations are believed with up to this share of error (tables of jobs).")
@click.option("--cutoff", type=float, help="Jobs whose tasks take longer than this on average (s) are shown apart, as long ones.")
@click.option(
    "--by-size", "sized", is_flag=True, help="Also show delays by the size of tasks: of each of a few, or by quartiles."
)
@click.option(
    "--slowdown-bound", type=Seconds(), metavar="10s",
    help="Show bounded slowdowns and responses: a run of less counts as if it took so long  [shown of logs of parallel jobs].",
)  # fmt: skip
@click.option("--slots", type=int, help=f"Slots to simulate  [default: a trace's own; {DEFAULT_SLOTS:,} otherwise].")
@click.option("--backlog", type=COUNT, help="Keep so many tasks waiting: utilisation is then what a policy can carry.")
@click.option("--drain", is_flag=True, help="Go on until all work is done.")
@click.option("--warmup", type=int, help="Slots at the start that are not measured  [default: 0 for traces, a tenth otherwise].")
@option("--seed", type=int, default=0, help="First seed.")
@option(
    "--seeds", type=COUNT, default=1,
    help="How many seeds: of the jobs, the same for every policy; of a trace, of the policies that draw by chance.",
)  # fmt: skip
@option("--max-waiting", type=COUNT, default=WAITING_LIMIT, help="Stop a run when more tasks wait.")
@run_options
@click.option("--schedule", type=FileOf(*SCHEDULE_FILES), help="Write when and where each task ran (.parquet, .csv).")
@output_options("Write all records", plot="Draw queues over time and delays", gantt=True, report=True)
@click.option("--tensorboard", metavar="DIR", help=TENSORBOARD_HELP)
def evaluate(
    of_workload: WorkloadOptions,
    run_options: RunOptions,
    schedule: str | None,
    outputs: Outputs,
    tensorboard: str | None,
    **options: Any,
) -> None:
    """Compare policies on a workload (a name or a .json file) or a trace (see `packenv trace --help`).

    \b
    packenv evaluate paper/fig4b --intensity 0.95 --seeds 8
    packenv evaluate --sizes uniform:0.1:0.9 --servers 5 -p bf-js -p vqs:J=5
    packenv evaluate trace.parquet --servers 160 --speedup 1.3 --plot queues.png
    packenv evaluate tasks.csv --servers 3 -p bf-js --gantt gantt.png
    """
    outputs.check(schedule)
    check_tensorboard(tensorboard)
    prepared, dropped = evaluation_from(options, of_workload, bool(schedule or outputs.gantt), outputs.report is not None)
    workload, backlog = prepared.workload, prepared.backlog
    console = text_console()

    def say(lines: Iterable[str], style: str | None = None) -> None:
        for line in lines:
            console.print(line, style=style, highlight=False)

    seed = options["seed"]
    print_workload(console, workload.at(seed), dropped, f" with seed {seed}" if workload.draw else "", backlog)
    say(begin_lines(workload))
    noticed = notices(workload, tuple(prepared.seeds))
    say(noticed, "yellow")
    once = [name for name, seeds in prepared.seeds.items() if len(seeds) < options["seeds"]]
    if once:
        say([f"no chance in the jobs, nor in {', '.join(once)}: one run, not {options['seeds']}"])
    finished, failure = run_most(prepared.runs, run_options)
    by_policy = prepared.groups(finished)
    if failure is not None and not by_policy:
        raise failure
    comparison = prepared.compare(by_policy)
    outputs.show(comparison)

    def to_tensorboard(folder: str) -> None:
        where = contest_on(workload, 0, speedup=of_workload.speedup).name
        where = where if backlog is None else f"{workload.name}, {backlog} kept waiting"
        for group in by_policy:
            write_tensorboard(folder, where, group[0].policy, [*map(measured, group)])

    outputs.write(
        comparison,
        (schedule, lambda path: write_schedule(path, workload, comparison.all_runs)),
        (tensorboard, to_tensorboard),
        notices=noticed,
    )
    if failure is not None:
        raise failure


def evaluation_from(
    options: Mapping[str, Any], of_workload: WorkloadOptions, scheduled: bool, reported: bool
) -> tuple[Evaluation, dict[str, int]]:
    """What the options ask for, `of_workload` those of the workload, and the rows of a trace that were dropped, by reason.

    Runs keep their schedules if `scheduled`, and of tables if `reported`. Raises InputError.
    """
    seed, backlog = options["seed"], options["backlog"]
    if seed < 0:
        raise InputError(f"--seed must not be negative, not {seed}")
    policies = chosen_policies(options["policies"])
    workload, dropped = workload_from(of_workload)
    if backlog is not None and any(getattr(of_workload, key) is not None for key in INTENSITIES):
        raise InputError("--backlog says how much waits, whatever arrives: leave out --load, --intensity and --rate")
    prepared = evaluation(
        workload, policies, range(seed, seed + options["seeds"]), options["slots"], drain=options["drain"],
        warmup=options["warmup"], waiting_limit=options["max_waiting"], backlog=backlog, estimate_error=options["estimate_error"],
        cutoff=options["cutoff"], by_size=options["sized"], slowdown_bound=options["slowdown_bound"], schedule=scheduled,
        jobs_schedule=reported,
    )  # fmt: skip
    return prepared, dropped


def notices(workload: Workload, policies: tuple[str, ...]) -> list[str]:
    """Which policies know durations, what others say of themselves, and which guarantee is left if J is too low (Corollary 1)."""
    setting = setting_of(workload)
    default = setting.levels
    clairvoyant = [name for name in policies if needs_of(find_policy(name), setting).durations]
    believed = "true" if workload.jobs is None or workload.jobs.estimate is None else "estimated"
    lines = [f"told {workload.believed or f'{believed} durations'}: {', '.join(clairvoyant)}"] if clairvoyant else []
    for name in policies:
        chosen = find_policy(name)
        if hasattr(chosen, "notice"):
            lines += filter(None, [chosen.notice(setting)])
        levels = getattr(chosen, "J", 0)
        if 0 < levels < default:
            largest = max(workload.servers.units.max(axis=0))
            below = scalar_cdf(workload.demand_law, workload.servers, int(largest) >> levels)
            lines.append(
                f"{name}: {below:.1%} of the sizes lie below 2^-{levels}; the guarantee left is {(1 - below) * 2 / 3:.3f}"
            )
    return lines
