"""`packenv optimum`: the shortest schedule of a table, and a bound."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from packenv.cli.options.names import POLICY, WORKLOAD
from packenv.cli.options.of_fields import SCHEDULE_FILES, options_of, workload_options
from packenv.cli.options.workload import workload_with_notes
from packenv.cli.outputs import FileOf, Outputs, output_option, output_options
from packenv.cli.tables import text_console
from packenv.content.tables import Column, Table, numbers
from packenv.content.text import counted
from packenv.errors import InputError
from packenv.options.shared import OF_TRACES, WorkloadOptions
from packenv.options.verbs import OptimumOptions
from packenv.policy_names import registered

if TYPE_CHECKING:
    from rich.console import Console

    from packenv.content.page import Charts
    from packenv.results.result import Result
    from packenv.theory.completion.bound import CompletionBound
    from packenv.theory.makespan.cp_sat import LeastCompletion
    from packenv.theory.makespan.optimum import Optimum
    from packenv.workloads.workload import Workload

COMPLETING = ("srpt", "critical-path", "weighted-fair")
MOST_SOLVED = 200  # tasks: the solver proves little about the sum of completion times of more


@click.command()
@click.argument("source", metavar="WORKLOAD|TRACE", type=WORKLOAD)
@click.option(
    "--policy", "-p", "policies", multiple=True, type=POLICY, help="Policy to compare; repeat for more  [default: quick ones]."
)
@workload_options(
    "servers",
    "resources",
    *OF_TRACES,
    resources="Resources that count in tasks with several: `max` or `all`.",
)
@options_of(OptimumOptions)
@output_option("--schedule", type=FileOf(*SCHEDULE_FILES), help="Write the schedule (.parquet, .csv); -p replay:FILE runs it.")
@output_options("Write the numbers", plot="Draw the resources in use over time", gantt=True)
def optimum(
    policies: tuple[str, ...],
    of_workload: WorkloadOptions,
    options: OptimumOptions,
    schedule: str | None,
    outputs: Outputs,
) -> None:
    """Find the shortest schedule of a table of jobs, and compare policies with it.

    A solver that knows all jobs in advance searches for it. The simulator replays its schedule as a check.
    Needs OR-tools: pip install 'packenv[sat]'.

    \b
    packenv optimum tasks.csv --servers 2 --limit 60 -p bf-js -p fifo-ff
    packenv optimum paper/fig4b --slots 100 --json optimum.json
    packenv optimum dag --objective completion -p srpt -p tetris

    With `--objective completion` the bound is on the mean completion time of jobs. The solver then searches for a schedule
    only if the table has at most 200 tasks.
    """
    by_completion = options.objective == "completion"
    if by_completion and (outputs.plot or outputs.gantt or schedule or options.fixed_allocation or options.gap > 0):
        raise InputError("--objective completion takes none of --plot, --gantt, --schedule, --fixed-allocation and --gap")
    if not options.time_limit > 0:
        raise InputError(f"--limit must be positive, not {options.time_limit:g}")
    if not 0 <= options.gap < float("inf"):
        raise InputError(f"--gap must be a number from 0 on, not {options.gap:g}")
    from packenv.policy import find_policy
    from packenv.runs.run import runs_of
    from packenv.runs.runner import RunOptions, run_all
    from packenv.theory.makespan.cp_sat import cp_model
    from packenv.theory.makespan.optimum import HEURISTICS
    from packenv.theory.makespan.tasks import check_known

    cp_model()
    outputs.check(schedule)

    # The table of jobs, and the policies; usual ones only if they can play it.
    usual = (*HEURISTICS, *COMPLETING) if by_completion else HEURISTICS
    chosen = tuple(dict.fromkeys(policies)) or tuple(name for name in usual if name in registered())
    able = [find_policy(name) for name in chosen]
    workload = finite(workload_with_notes(of_workload), options.seed, options.slots)
    if workload.has_gangs:
        check_known(workload)
    console = text_console()
    if not policies:
        able, unplayable = playable(able, workload, options.seed)
        for reason in unplayable:
            console.print(f"left out: {reason}", style="dim", highlight=False, markup=False)

    # Their schedules, and the optimum.
    runs = runs_of(workload, able, [options.seed], options={"drain": True, "schedule": True})
    results = run_all(runs, RunOptions(processes=1))
    if by_completion:
        show_completion(workload, results, options, console, outputs)
    else:
        show_shortest(workload, results, options, console, outputs, schedule)


def show_shortest(
    workload: Workload,
    results: list[Result],
    options: OptimumOptions,
    console: Console,
    outputs: Outputs,
    schedule: str | None,
) -> None:
    """Show the shortest schedule found, replayed, and the policies.

    `schedule`: file for it.
    """
    from rich.console import Console

    from packenv.api import simulate
    from packenv.content.showable import Answer
    from packenv.policies.replay import Replay
    from packenv.results.schedule_table import write_schedule
    from packenv.runs.run_charts import schedule_charts, use_charts
    from packenv.theory.makespan.optimum import optimal_schedule

    # The search, from the best policy's schedule on, and its replay.
    first, seed = shortest(workload, results), options.seed
    with Console(stderr=True).status(f"{workload.name}: searching") as status:
        best = optimal_schedule(
            workload,
            options=options,
            hint=first.schedule if first else None,
            warm_start=(),
            progress=lambda seconds, makespan, bound: status.update(
                f"makespan {makespan}, at least {bound}: {makespan / bound - 1:.1%} above the bound after {seconds:.0f} s"
            ),
        )
    replayed = simulate(workload, Replay(best.schedule.start, best.schedule.server, "sat"), seed=seed, drain=True, schedule=True)
    assert makespan_of(workload, replayed) == best.makespan

    # Show and write the answer.
    size = f"{len(best.schedule.start)} tasks on {counted(len(workload.servers), 'server')}"
    console.print(f"[bold]{workload.label}[/bold]: {size}; no schedule is shorter than {best.bound} slots", highlight=False)
    drawn = [replace(replayed, policy="optimum" if best.proven else "best found"), *([first] if first else [])]

    def draw(kind: str = "use") -> Charts:
        if kind == "schedule":
            return schedule_charts([[run] for run in drawn], workload)
        return use_charts(workload, drawn, best.bound, f"{workload.label}: {size}")

    record = optimum_record(workload, best, results, seed, options.fixed_allocation)
    answer = Answer([optimum_table(workload, best, results)], [], record, draw=draw)
    outputs.show(answer)
    outputs.write(answer, (schedule, lambda path: write_schedule(path, workload, [replayed])))


def show_completion(
    workload: Workload, results: list[Result], options: OptimumOptions, console: Console, outputs: Outputs
) -> None:
    """Show the bound on the mean completion time, and the policies.

    Also the solver's schedule for a small table.
    """
    from packenv.content.showable import Answer
    from packenv.theory.completion.bound import completion_bound
    from packenv.theory.makespan.cp_sat import least_completion

    assert workload.jobs is not None
    least, seed = completion_bound(workload), options.seed
    solved = (
        least_completion(workload, options.time_limit, options.workers or 0, seed) if len(workload.jobs) <= MOST_SOLVED else None
    )
    bound = best_bound(least, solved)
    size = f"{counted(least.jobs, 'job')} on {counted(len(workload.servers), 'server')}"
    line = f"[bold]{workload.label}[/bold]: {size}; no mean completion time is below {bound:.2f} slots"
    if bound * least.jobs <= least.paths:
        line += ", as if no job waited: more is not known"
    console.print(line, highlight=False, soft_wrap=True)
    record = completion_record(workload, least, solved, results, seed)
    answer = Answer([completion_table(workload, bound, solved, least.jobs, results)], [], record)
    outputs.show(answer)
    outputs.write(answer)


def playable(policies: list[Any], workload: Workload, seed: int) -> tuple[list[Any], list[str]]:
    """Return the policies that can play the workload, and others' reasons."""
    from packenv.policy import initial_state_of
    from packenv.simulation import setting_of

    able, reasons, setting = [], [], setting_of(workload)
    for policy in policies:
        try:
            initial_state_of(policy, setting, seed)
        except InputError as error:
            reasons.append(str(error))
        else:
            able.append(policy)
    return able, reasons


def finite(workload: Workload, seed: int, slots: int | None) -> Workload:
    """Return the workload with a Jobs table.

    Raises InputError for a random one without `slots`, and for a table with them.
    """
    if workload.jobs is not None:
        if slots is not None:
            raise InputError(f"--slots is for random workloads, and {workload.name} is a table of jobs: leave it out")
        return workload.at(seed)
    if slots is None:
        raise InputError(f"workload {workload.name} has no last job: give --slots")
    return workload.tabulated(seed, slots)


def makespan_of(workload: Workload, result: Result) -> int | None:
    """Return slots from first arrival to last end, None unless all ended."""
    assert workload.jobs is not None and result.schedule is not None
    start, _, end, *_ = result.schedule
    complete = len(start) == len(workload.jobs) and (start >= 0).all()
    return int(end.max() - workload.jobs.arrival[0]) if complete else None


def shortest(workload: Workload, results: list[Result]) -> Result | None:
    """Return the policy's run that ends first, None if none is complete."""
    spans = [(makespan_of(workload, result), result) for result in results]
    complete = [(span, n) for n, (span, _) in enumerate(spans) if span is not None]
    return results[min(complete)[1]] if complete else None


def optimum_table(workload: Workload, best: Optimum, results: list[Result]) -> Table:
    """Return makespans, and their distances from the bound."""
    table = Table("", [Column(""), *numbers("makespan", "above the bound"), Column("")])
    status = "proven" if best.proven else f"not proven in {best.seconds:.0f} s"
    table.add("optimum" if best.proven else "best found", str(best.makespan), f"{best.gap:.1%}", status)
    for result in results:
        span = makespan_of(workload, result)
        table.add(result.policy, *(("–", "–") if span is None else (str(span), f"{span / best.bound - 1:.1%}")), "")
    return table


def optimum_record(workload: Workload, best: Optimum, results: list[Result], seed: int, fixed: bool) -> dict[str, Any]:
    """Return the JSON of `packenv optimum`. Gaps are shares of the bound."""
    assert workload.jobs is not None
    spans = {result.policy: makespan_of(workload, result) for result in results}
    return {
        **workload.record,
        "servers": str(workload.servers),
        "tasks": len(workload.jobs),
        "seed": seed,
        "fixed_allocation": fixed,
        "makespan": best.makespan,
        "bound": best.bound,
        "gap": best.gap,
        "proven": best.proven,
        "seconds": best.seconds,
        "history": [list(step) for step in best.history],
        "policies": [
            {"policy": name, "makespan": span, "gap": None if span is None else span / best.bound - 1}
            for name, span in spans.items()
        ],
    }


def mean_completion(workload: Workload, result: Result) -> float | None:
    """Return a job's mean slots from first arrival to end, or None.

    None unless all jobs ended.
    """
    from packenv.results.job_times import job_times

    assert workload.jobs is not None and result.schedule is not None
    complete = len(result.schedule.start) == len(workload.jobs) and bool((result.schedule.start >= 0).all())
    return job_times(workload.jobs, result.schedule, int(result.schedule.end.max())).mean if complete else None


def completion_table(workload: Workload, bound: float, solved: LeastCompletion | None, jobs: int, results: list[Result]) -> Table:
    """Return mean completion times in slots, and distances from the bound."""
    table = Table("", [Column(""), *numbers("mean completion", "above the bound")])
    rows = [] if solved is None else [("optimum" if solved.proven else "best found", solved.total / jobs)]
    for name, mean in [*rows, *((result.policy, mean_completion(workload, result)) for result in results)]:
        table.add(name, *(("–", "–") if mean is None else (f"{mean:.2f}", f"{mean / bound - 1:.1%}")))
    return table


def completion_record(
    workload: Workload, least: CompletionBound, solved: LeastCompletion | None, results: list[Result], seed: int
) -> dict[str, Any]:
    """Return the JSON of `packenv optimum --objective completion`.

    Times are in slots, gaps are shares of the bound.
    """
    assert workload.jobs is not None
    bound = best_bound(least, solved)
    means = {result.policy: mean_completion(workload, result) for result in results}
    return {
        **workload.record,
        "servers": str(workload.servers),
        "tasks": len(workload.jobs),
        "jobs": least.jobs,
        "seed": seed,
        "objective": "completion",
        "bound": bound,
        "bound_pooled": least.pooled / least.jobs,
        "bound_paths": least.paths / least.jobs,
        "best": None if solved is None else solved.total / least.jobs,
        "proven": solved is not None and solved.proven,
        "policies": [
            {"policy": name, "mean_completion": mean, "gap": None if mean is None else mean / bound - 1}
            for name, mean in means.items()
        ],
    }


def best_bound(least: CompletionBound, solved: LeastCompletion | None) -> float:
    """Return the larger bound on the mean, of relaxation or solver.

    The solver does not preempt.
    """
    return least.mean if solved is None else max(least.total, solved.bound) / least.jobs
