"""`packenv evaluate`: policies compared on one workload."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from packenv.cli.groups import output_option
from packenv.cli.options.names import POLICY, WORKLOAD
from packenv.cli.options.of_fields import options_of
from packenv.cli.options.shared import SCHEDULE_FILES, process_options, runs_in, tensorboard_option
from packenv.cli.options.workload import begin_lines, chosen_policies, print_workload, workload_from
from packenv.cli.outputs import FileOf, Outputs, output_options
from packenv.cli.tables import text_console
from packenv.errors import InputError
from packenv.options.shared import INTENSITIES, ProcessOptions, WorkloadOptions
from packenv.options.verbs import EvaluateOptions

if TYPE_CHECKING:
    from packenv.runs.comparison import Evaluation
    from packenv.workloads.workload import Workload


@click.command()
@click.argument("source", metavar="[WORKLOAD|TRACE]", required=False, type=WORKLOAD)
@click.option(
    "--policy", "-p", "policies", multiple=True, type=POLICY,
    help="Policy: bf-js, vqs:J=4, my_module:MyPolicy, my_rule.py:priority, …; repeat for more.",
)  # fmt: skip
@options_of(WorkloadOptions, "of_workload")
@options_of(EvaluateOptions)
@process_options
@output_option("--schedule", type=FileOf(*SCHEDULE_FILES), help="Write when and where each task ran (.parquet, .csv).")
@output_options("Write all records", plot="Draw queues over time, and delays", gantt=True, report=True)
@tensorboard_option
def evaluate(
    policies: tuple[str, ...],
    of_workload: WorkloadOptions,
    options: EvaluateOptions,
    where: ProcessOptions,
    schedule: str | None,
    outputs: Outputs,
    tensorboard: str | None,
) -> None:
    """Compare policies on a workload (a name or a .json file) or a trace (see `packenv trace --help`).

    \b
    packenv evaluate paper/fig4b --intensity 0.95 --seeds 8
    packenv evaluate --sizes uniform:0.1:0.9 --servers 5 -p bf-js -p vqs:J=5
    packenv evaluate trace.parquet --servers 160 --speedup 1.3 --plot queues.png
    packenv evaluate tasks.csv --servers 3 -p bf-js --gantt gantt.png
    """
    outputs.check(schedule)
    from packenv.results.schedule_table import write_schedule
    from packenv.runs.contest import contest_on
    from packenv.runs.measured import measured
    from packenv.runs.runner import run_most
    from packenv.runs.tensorboard import check_tensorboard, write_tensorboard

    check_tensorboard(tensorboard)
    scheduled = {
        "schedule": bool(schedule or outputs.gantt),
        "jobs_schedule": outputs.report is not None,
        "devices_schedule": outputs.plot is not None,
    }
    prepared, dropped = evaluation_from(policies, of_workload, options, **scheduled)
    workload, backlog = prepared.workload, options.backlog
    console = text_console()

    def say(lines: Iterable[str], style: str | None = None) -> None:
        for line in lines:
            console.print(line, style=style, highlight=False)

    drawn = f" with seed {options.seed}" if workload.draw else ""
    print_workload(console, workload.at(options.seed), dropped, drawn, backlog, options.drain)
    say(begin_lines(workload))
    noticed = notices(workload, tuple(prepared.seeds))
    say(noticed, "yellow")
    once = [name for name, seeds in prepared.seeds.items() if len(seeds) < len(prepared.all_seeds)]
    if once:
        say([f"no chance in the jobs, nor in {', '.join(once)}: one run, not {len(prepared.all_seeds)}"])
    finished, failure = run_most(prepared.runs, runs_in(where))
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
    policies: tuple[str, ...], of_workload: WorkloadOptions, options: EvaluateOptions, **scheduled: bool
) -> tuple[Evaluation, dict[str, int]]:
    """Return the evaluation of these options, and dropped rows by reason.

    `scheduled`: runs that store their schedules (`evaluation`). Raises InputError.
    """
    from packenv.runs.comparison import evaluation

    named = chosen_policies(policies) if policies else ()  # unknown policies are reported before a trace is read
    workload, dropped = workload_from(of_workload)
    chosen = named or chosen_policies((), workload)
    if options.backlog is not None and any(getattr(of_workload, key) is not None for key in INTENSITIES):
        raise InputError("--backlog sets how many tasks wait: leave out --load, --intensity and --rate")
    return evaluation(workload, chosen, options, **scheduled), dropped


def notices(workload: Workload, policies: tuple[str, ...]) -> list[str]:
    """Return notes on policies: known durations, own notices, and guarantees.

    The last is the guarantee left if J is too low (Corollary 1).
    """
    from packenv.policy import asks_estimates, distinct_names, find_policy, is_told_durations
    from packenv.simulation import setting_of
    from packenv.workloads.demand import scalar_cdf

    setting = setting_of(workload)
    default = setting.levels
    shown = dict(zip(distinct_names(policies), map(find_policy, policies), strict=True))
    clairvoyant = [name for name, policy in shown.items() if is_told_durations(policy, setting)]
    estimates = workload.jobs is not None and workload.jobs.estimate is not None
    believed = "estimated" if estimates else "true"
    lines = [f"told {workload.believed or f'{believed} durations'}: {', '.join(clairvoyant)}"] if clairvoyant else []
    for name, chosen in shown.items():
        if not estimates and asks_estimates(chosen):
            of_table = "; --estimates exact shows it true durations" if workload.jobs is not None else ""
            lines.append(f"{name} needs estimates, and {workload.name} has none: it sees 0{of_table}")
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
