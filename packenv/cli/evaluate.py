"""`packenv evaluate`: policies side by side on one workload."""

from __future__ import annotations

import math
from typing import Any

import click
import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from packenv.cli.contests import contest_name
from packenv.errors import InputError
from packenv.files import atomic_path, write_json
from packenv.policy import find_policy, needs_of
from packenv.results.result import Result
from packenv.runs.measured import measured
from packenv.runs.outputs import check_outputs, counted, wide_console
from packenv.runs.processes import Plan, run_all
from packenv.runs.setting import RESOURCES_HELP, SLOT_SECONDS_HELP, Words, chosen_policies, understand
from packenv.runs.summary import OF_DATA, OF_JOBS, Record, record_of, summary_of
from packenv.runs.tensorboard import HELP as BOARD_HELP
from packenv.runs.tensorboard import check_board, write_board
from packenv.runs.whole_jobs import whole_jobs
from packenv.simulation import WAITING_LIMIT, setting_of
from packenv.workloads.demand import scalar_cdf
from packenv.workloads.estimates import misjudged
from packenv.workloads.workload import INTENSITIES, Workload

DEFAULT_SLOTS = 200_000
SHARES_OF_JOBS = ("fragmentation", "over_allocation", "unfairness")
CLASSES = tuple(f"{length}_p{percent}" for length in ("short", "long") for percent in (50, 90, 99))


@click.command()
@click.argument("source", metavar="[WORKLOAD|TRACE]", required=False)
@click.option(
    "--policy", "-p", "policies", multiple=True, help="Policy to run, e.g. bf-js, vqs:J=4, my_module:MyPolicy; repeat for more."
)
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
@click.option("--racks", type=int, help="So many servers in a rack, for tables that say where data lie.")
@click.option("--network", metavar="S:F,…", help="Remote overheads are multiplied by F from second S on: 0:1,600:4.")
@click.option("--slots", type=int, help=f"Slots to simulate  [default: a trace's own; {DEFAULT_SLOTS} otherwise].")
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
    help="How many seeds, each the same jobs for every policy.",
)
@click.option(
    "--max-waiting", type=click.IntRange(min=1), default=WAITING_LIMIT, show_default=True, help="Stop a run when more tasks wait."
)
@click.option("--processes", type=click.IntRange(min=1), help="Runs side by side  [default: one per core].")
@click.option("--schedule", type=click.Path(dir_okay=False), help="Write when and where each task started (Parquet).")
@click.option("--json", "json_path", type=click.Path(dir_okay=False), help="Write all records as JSON.")
@click.option("--plot", type=click.Path(dir_okay=False), help="Draw queues over time and delays (PNG, PDF, SVG).")
@click.option("--tensorboard", metavar="DIR", help=BOARD_HELP)
def evaluate(
    policies: tuple[str, ...],
    estimate_error: float | None,
    cutoff: float | None,
    slots: int | None,
    backlog: int | None,
    drain: bool,
    warmup: int | None,
    seed: int,
    seeds: int,
    max_waiting: int,
    processes: int | None,
    schedule: str | None,
    json_path: str | None,
    plot: str | None,
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
    check_outputs(schedule, json_path, plot=plot)
    check_board(tensorboard)
    named = chosen_policies(policies)
    workload, dropped = understand(Words(**words))
    if estimate_error is not None:
        workload = misjudged(workload, estimate_error)
    if backlog is not None and any(words[key] is not None for key in INTENSITIES):
        raise InputError("--backlog says how much waits, whatever arrives: leave out --load, --intensity and --rate")
    if workload.jobs is None and slots is None:
        slots = DEFAULT_SLOTS
    if workload.jobs is not None and workload.draw is None and seeds > 1:
        raise InputError(f"{workload.name} has no randomness of its own: --seeds goes with workloads that are drawn")
    has_jobs = workload.jobs is not None and workload.jobs.job is not None
    if cutoff is not None and not (has_jobs and 0 < cutoff < math.inf):
        raise InputError("--cutoff is a number of seconds above 0, for tables that say which tasks make a job")
    scheduled = schedule is not None or has_jobs
    options = {"drain": drain or None, "warmup": warmup, "waiting_limit": max_waiting, "schedule": scheduled, "backlog": backlog}
    plan = Plan(workload, named, tuple(range(seed, seed + seeds)), slots, options)
    console = wide_console()
    print_workload(console, workload.at(seed), dropped, f" with seed {seed}" if workload.draw else "", backlog)
    for notice in notices(workload, named):
        console.print(notice, style="yellow")
    results = run_all(plan, processes)
    whole = whole_jobs(workload, results, cutoff)
    groups = [slice(n, n + seeds) for n in range(0, len(results), seeds)]
    by_policy = [results[group] for group in groups]
    summaries = [summary_of(results[group], whole[group]) for group in groups]
    console.print(results_table(summaries))
    if results[0].jobs is not None:
        console.print(jobs_table(summaries))
        if cutoff is not None:
            console.print(classes_table(summaries, cutoff))
    if results[0].data is not None:
        console.print(data_table(summaries))
    for stopped in (f"{s['policy']}: stopped, {s['stopped']}" for s in summaries if s["stopped"]):
        console.print(stopped, style="red")
    if json_path is not None:
        write_json(json_path, [*map(record_of, results, whole), *summaries])
    if schedule is not None:
        write_schedule(schedule, results)
    if tensorboard is not None:
        where = contest_name(workload, words["speedup"]) if backlog is None else f"{workload.name}, {backlog} kept waiting"
        for group in by_policy:
            write_board(tensorboard, where, group[0].policy, [*map(measured, group)])
    if plot is not None:
        from packenv.cli.plots.runs import draw_runs

        draw_runs(by_policy, workload, plot, backlog)


def print_workload(
    console: Console, workload: Workload, dropped: dict[str, int], drawn: str = "", backlog: int | None = None
) -> None:
    """What is simulated, in a line or two; `drawn` says how the table came about."""
    tasks = f"{len(workload.jobs)} tasks{drawn}, " if workload.jobs is not None else ""
    at_once = workload.jobs is not None and workload.jobs.arrival[-1] == 0
    if at_once:
        rate = "all there in slot 0"
    elif backlog is not None:
        rate = f"{backlog} tasks kept waiting, utilisation is what a policy can carry"
    else:
        rate = f"{workload.rate:.4g} tasks per slot, intensity {workload.intensity:.3f}"
    console.print(
        f"[bold]{workload.name}[/bold]: {tasks}{counted(len(workload.servers), 'server')}, {rate} "
        f"(area bound {workload.area_bound:.4g} tasks in service)",
        highlight=False,
    )
    if workload.rho is not None:
        console.print(f"load {workload.load:g} of ρ* >= {workload.rho[0]:.5g} (and <= {workload.rho[1]:.5g}) tasks in service")
    left_out = ", ".join(f"{count} {reason}" for reason, count in dropped.items() if count)
    if left_out:
        console.print(f"dropped rows: {left_out}", highlight=False)
    if workload.intensity >= 1 and not at_once and backlog is None:
        console.print("intensity is 1 or more: no policy is stable in the long run", style="yellow")


def notices(workload: Workload, policies: tuple[str, ...]) -> list[str]:
    """Who is told durations, and what is left of the guarantee where J is set too low for the sizes (Corollary 1)."""
    setting = setting_of(workload)
    default = setting.levels
    told = [name for name in policies if needs_of(find_policy(name), setting).durations]
    believed = "true" if workload.jobs is None or workload.jobs.estimate is None else "estimated"
    found = [f"told {believed} durations: {', '.join(told)}"] if told else []
    for name in policies:
        chosen = find_policy(name)
        levels = getattr(chosen, "J", 0)
        if 0 < levels < default:
            largest = max(workload.servers.units.max(axis=0))
            below = scalar_cdf(workload.demand_law, workload.servers, int(largest) >> levels)
            found.append(
                f"{name}: {below:.1%} of the sizes lie below 2^-{levels}; the guarantee left is {(1 - below) * 2 / 3:.3f}"
            )
    return found


def results_table(summaries: list[Record]) -> Table:
    """Means over the seeds, ± the half-width of a 95 % interval."""
    title = "delays in slots; ± 95 % over the seeds" if summaries[0]["seeds"] > 1 else "delays in slots"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("policy", no_wrap=True)
    for name in ("mean queue", "max", "mean delay", "p50", "p95", "p99", "utilisation", "waiting", "verdict", "tasks/s"):
        table.add_column(name, justify="left" if name == "verdict" else "right", no_wrap=True)
    for record in summaries:
        half = record["interval"]
        table.add_row(
            record["policy"],
            _number(record["mean_queue"], half["mean_queue"]),
            _number(record["max_queue"]),
            _number(record["mean_delay"], half["mean_delay"]),
            *(_number(record[key]) for key in ("delay_p50", "delay_p95", "delay_p99")),
            " ".join("–" if share is None else f"{share:.3f}" for share in record["utilisation"]),
            _number(record["waiting"]),
            f"[{_colour(record['verdict'])}]{record['verdict']}",
            f"{record['tasks_per_second']:.2g}",
        )
    return table


def jobs_table(summaries: list[Record]) -> Table:
    """What became of whole jobs, where the table of tasks says which of them make a job."""
    table = Table(title="jobs: slots from the first arrival to the last end", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("policy", no_wrap=True)
    for name in ("makespan", "mean completion", "p50", "p95", "p99", "fragmentation", "over-allocation", "unfairness"):
        table.add_column(name, justify="right", no_wrap=True)
    for record in summaries:
        table.add_row(record["policy"], *(_number(record[key], record["interval"][key]) for key in (*OF_JOBS, *SHARES_OF_JOBS)))
    return table


def classes_table(summaries: list[Record], cutoff: float) -> Table:
    """Completion times of short and of long jobs."""
    title = f"jobs whose tasks take up to {cutoff:g} s on average, and long ones: completion in slots"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("policy", no_wrap=True)
    for name in CLASSES:
        table.add_column(name.replace("_", " "), justify="right", no_wrap=True)
    for record in summaries:
        table.add_row(record["policy"], *(_number(record[key], record["interval"][key]) for key in CLASSES))
    return table


def data_table(summaries: list[Record]) -> Table:
    """Where tasks ran whose data lie somewhere, and what that cost."""
    title = "tasks with data: shares by where they ran; mean slots until the end, of overhead, and waiting beside room"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("policy", no_wrap=True)
    for name in ("at home", "in the rack", "elsewhere", "completion", "overhead", "idle wait"):
        table.add_column(name, justify="right", no_wrap=True)
    for record in summaries:
        table.add_row(record["policy"], *(_number(record[key], record["interval"][key]) for key in OF_DATA))
    return table


def _colour(verdict: str) -> str:
    return {"stable": "green", "unstable": "red"}.get(verdict, "yellow")


def _number(value: float | None, half: float | None = None) -> str:
    if value is None:
        return "–"
    shown = f"{value:.0f}" if float(value).is_integer() or abs(value) >= 1000 else f"{value:.3g}"
    return shown if half is None else f"{shown} ± {half:.2g}"


def write_schedule(path: str, results: list[Result]) -> None:
    """Columns job (row), start (slot), server, null where a task never started; policy and seed if there are several."""
    import pyarrow as pa
    import pyarrow.parquet

    tables = []
    for result in results:
        assert result.schedule is not None
        start, server, _ = result.schedule
        never = start < 0
        columns: dict[str, Any] = {
            "job": np.arange(len(start)),
            "start": pa.array(start, mask=never),
            "server": pa.array(server, mask=never),
        }
        if len(results) > 1:
            columns["policy"] = pa.array([result.policy] * len(start)).dictionary_encode()
            columns["seed"] = np.full(len(start), result.seed)
        tables.append(pa.table(columns))
    with atomic_path(path) as temporary:
        pyarrow.parquet.write_table(pa.concat_tables(tables), temporary)
