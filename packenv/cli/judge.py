"""`packenv judge`: which fraction of the maximum supportable workload a policy keeps stable, against its guarantee."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from packenv.files import write_json
from packenv.policy import find_policy
from packenv.runs.outcomes import Log, Outcomes, record_of_verdict
from packenv.runs.outputs import check_outputs, wide_console
from packenv.runs.setting import RESOURCES_HELP, Words, chosen_policies, understand
from packenv.theory.capacity.configuration_bounds import vqs_bound
from packenv.theory.stability.judge import SEEDS, WIDTH, Judgment, judge
from packenv.workloads.workload import Workload

COLOURS = {"held": "green", "broken": "red", "undecided": "yellow", "not claimed": "dim"}


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
@click.option("--json", "json_path", type=click.Path(dir_okay=False), help="Write the judgments with all evidence as JSON.")
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
    given = Words(None, **words)
    workloads = [understand(replace(given, source=source))[0] for source in sources or (None,)]
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
    if json_path is not None:
        write_json(json_path, [record_of(judgment) for judgment in judged])
    if plot is not None:
        from packenv.cli.plots.judgments import draw_judgments

        draw_judgments(judged, plot)


def judge_all(
    cases: list[tuple[Workload, str]], seeds: int, width: float, processes: int | None, log: str | None
) -> list[Judgment]:
    """All judgments side by side, in the order of the cases; progress on standard error."""
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), TimeElapsedColumn()
    stop = threading.Event()
    with Outcomes(Log(log), processes) as run, Progress(*columns, console=console, transient=True) as shown:

        def one(workload: Workload, name: str) -> Judgment:
            what = f"{name} on {workload.name}"
            bar = shown.add_task(f"{what}: ρ*")

            def say(low: float, high: float, load: float, slots: int) -> None:
                if stop.is_set():
                    raise KeyboardInterrupt
                shown.update(bar, description=f"{what}: in [{low:g}, {high:g}], at {load:g}, {slots:.1e} slots")

            try:
                return judge(workload, name, seeds=seeds, width=width, run=run, progress=say)
            finally:
                shown.remove_task(bar)

        with ThreadPoolExecutor(len(cases)) as threads:
            try:
                return list(threads.map(lambda case: one(*case), cases))
            except BaseException:
                stop.set()
                raise


def open_loads(judgment: Judgment, workload: Workload) -> str:
    """What it would take to decide the loads that stayed undecided."""
    said = f"{judgment.policy} on {judgment.workload}: some loads stay undecided, about {judgment.needed:.2g} slots would decide"
    if workload.jobs is None:
        return said
    return f"{said}; too short for that, the table has {int(workload.jobs.arrival[-1]) + 1:.2g} at its own rate"


def record_of(judgment: Judgment) -> dict[str, Any]:
    """The JSON of a judgment."""
    record = {key: value for key, value in vars(judgment).items() if key != "evidence"} | {"rho": list(judgment.rho)}
    evidence = [seen._asdict() | {"verdict": record_of_verdict(seen.verdict)} for seen in judgment.evidence]
    return record | {"needed": judgment.needed, "evidence": evidence}


def judgments_table(workloads: list[Workload], judged: list[Judgment], policies: int) -> Table:
    """A line for each policy and workload."""
    table = Table(title="fractions of ρ* that are supported", title_justify="left", box=SIMPLE_HEAD)
    for name in ("workload", "policy", "supported", "≥ ½", "≥ ⅔", "guarantee", "VQS at least"):
        table.add_column(name, justify="left" if name in ("workload", "policy") else "right", no_wrap=True)
    for n, judgment in enumerate(judged):
        workload = workloads[n // policies]
        bound = proved(judgment, workload)
        marks = [f"[{COLOURS[mark]}]{mark}" for mark in (judgment.half, judgment.two_thirds)]
        interval = f"{judgment.low:.3f} – {judgment.high:.3f}"
        claim = f"{judgment.claimed:.3f}" if judgment.claimed else "–"
        table.add_row(
            judgment.workload if n % policies == 0 else "",
            judgment.policy,
            interval,
            *marks,
            claim,
            "" if bound is None else f"{bound:.3f}",
        )
    return table


def proved(judgment: Judgment, workload: Workload) -> float | None:
    """The share of ρ* that VQS supports at least, by the program over K_RED; None for other policies and settings."""
    if judgment.policy.split(":")[0] != "vqs" or workload.D > 1 or len(workload.servers.kinds) > 1:
        return None
    levels = getattr(find_policy(judgment.policy), "J", 0) or None
    return vqs_bound(workload, levels) / judgment.rho[1]
