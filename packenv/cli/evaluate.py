"""`packenv evaluate`: policies compared on one workload."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from packenv.cli.options.names import POLICY, WORKLOAD, Loads
from packenv.cli.options.of_fields import SCHEDULE_FILES, options_of, process_options, runs_in, tensorboard_option
from packenv.cli.options.workload import begin_lines, chosen_policies, print_workload, workload_from
from packenv.cli.outputs import FileOf, Outputs, output_option, output_options
from packenv.cli.tables import text_console
from packenv.errors import InputError
from packenv.options.shared import INTENSITIES, ProcessOptions, WorkloadOptions
from packenv.options.verbs import EvaluateOptions

if TYPE_CHECKING:
    from packenv.content.showable import Showable
    from packenv.runs.evaluate import Evaluation
    from packenv.workloads.workload import Workload


@click.command()
@click.argument("source", metavar="[WORKLOAD|TRACE]", required=False, type=WORKLOAD)
@click.option(
    "--policy", "-p", "policies", multiple=True, type=POLICY,
    help="Policy: bf-js, vqs:J=4, my_module:MyPolicy, my_rule.py:priority, …; repeat for more.",
)  # fmt: skip
@options_of(
    WorkloadOptions,
    "of_workload",
    types=dict.fromkeys(INTENSITIES, Loads()),
    load="Arrivals as a share of ρ*; several, 0.5,0.7,0.9, make a figure.",
    intensity="Arrivals as a share of the area bound (the papers' α); several make a figure.",
    rate="Tasks per slot; several make a figure.",
)
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
    packenv evaluate paper/fig4b --intensity 0.5,0.7,0.9 --until 2% --plot f.pdf
    """
    outputs.check(schedule)
    from packenv.results.schedule_table import write_schedule
    from packenv.runs.contest import contest_on
    from packenv.runs.evaluate import make_runs
    from packenv.runs.measured import measured
    from packenv.runs.sweep import Sweep
    from packenv.runs.tensorboard import check_tensorboard, write_tensorboard

    check_tensorboard(tensorboard)
    scheduled = {
        "schedule": bool(schedule or outputs.gantt),
        "jobs_schedule": outputs.report is not None,
        "devices_schedule": outputs.plot is not None,
    }
    several = loads_of(of_workload)
    if several is not None and (schedule or outputs.gantt):
        raise InputError(f"--schedule and --gantt show one load: give one --{several[0]}")
    evaluations, dropped = evaluations_from(policies, of_workload, options, several, **scheduled)
    first, backlog = evaluations[0], options.backlog
    workload = first.workload
    console = text_console()

    def say(lines: Iterable[str], style: str | None = None) -> None:
        for line in lines:
            console.print(line, style=style, highlight=False)

    drawn = f" with seed {options.seed}" if workload.draw else ""
    for each in evaluations:
        print_workload(console, each.workload.at(options.seed), dropped, drawn, backlog, options.drain, options.reject)
    say(begin_lines(workload))
    noticed = notices(workload, tuple(first.policies.values()))
    say(noticed, "yellow")
    once = [first.policies[name] for name, seeds in first.seeds.items() if len(seeds) < len(first.all_seeds)]
    if once:
        say([f"no chance in the jobs, nor in {', '.join(once)}: one run, not {len(first.all_seeds)}"])
    failure = make_runs(evaluations, runs_in(where))
    comparisons = [each.comparison() for each in evaluations]
    if failure is not None and not all(each.by_policy for each in comparisons):
        raise failure
    answer: Showable = comparisons[0]
    if several is not None:
        answer = Sweep(*several, comparisons, options.measure or "mean_queue")
    outputs.show(answer)

    def to_tensorboard(folder: str) -> None:
        for each in comparisons:
            at = contest_on(each.workload, 0, speedup=of_workload.speedup).name
            at = at if backlog is None else f"{workload.name}, {backlog} always waiting"
            for group in each.by_policy:
                write_tensorboard(folder, at, group[0].policy, [*map(measured, group)])

    outputs.write(
        answer,
        (schedule, lambda path: write_schedule(path, workload, comparisons[0].all_runs)),
        (tensorboard, to_tensorboard),
        notices=noticed,
    )
    if failure is not None:
        raise failure


def loads_of(of_workload: WorkloadOptions) -> tuple[str, list[float]] | None:
    """Return the option with several loads, and these, ascending; None if there is none."""
    from packenv.runs.sweep import several_loads

    return several_loads({key: getattr(of_workload, key) for key in INTENSITIES})


def evaluations_from(
    policies: tuple[str, ...],
    of_workload: WorkloadOptions,
    options: EvaluateOptions,
    several: tuple[str, Sequence[float]] | None = None,
    **scheduled: bool,
) -> tuple[list[Evaluation], dict[str, int]]:
    """Return the evaluation at each load, and dropped rows by reason.

    `scheduled`: runs that store their schedules (`planned`). Raises InputError.
    """
    from packenv.api import at_a_rate
    from packenv.runs.evaluate import check_figure, planned

    named = chosen_policies(policies) if policies else ()  # unknown policies are reported before a trace is read
    check_figure(options, several is not None)
    if several is None:
        workload, dropped = workload_from(of_workload)
        workloads = [workload]
    else:
        axis, values = several
        at: list[dict[str, Any]] = [{axis: value} for value in values]
        workload, dropped = workload_from(replace(of_workload, **at[0]))
        workloads = [workload, *(at_a_rate(workload.with_(**each)) for each in at[1:])]
    chosen = named or chosen_policies((), workload)
    if options.backlog is not None and any(getattr(of_workload, key) is not None for key in INTENSITIES):
        raise InputError("--backlog sets how many tasks wait: leave out --load, --intensity and --rate")
    return [planned(each, chosen, options, **scheduled) for each in workloads], dropped


def notices(workload: Workload, policies: tuple[str, ...]) -> list[str]:
    """Return notes on policies: known durations, own notices, and guarantees.

    The last is the guarantee left if J is too low (Corollary 1).
    """
    from packenv.policy import asks_estimates, distinct_names, find_policy, is_told_durations
    from packenv.simulation import setting_of
    from packenv.workloads.demand import scalar_cdf

    setting = setting_of(workload)
    default = setting.levels
    by_name = dict(zip(distinct_names(policies), map(find_policy, policies), strict=True))
    clairvoyant = [name for name, policy in by_name.items() if is_told_durations(policy, setting)]
    estimates = workload.jobs is not None and workload.jobs.estimate is not None
    durations = workload.provenance.estimates or f"{'estimated' if estimates else 'true'} durations"
    lines = [f"policies that see {durations}: {', '.join(clairvoyant)}"] if clairvoyant else []
    for name, chosen in by_name.items():
        if not estimates and asks_estimates(chosen):
            of_table = "; --estimates exact gives true durations" if workload.jobs is not None else ""
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
