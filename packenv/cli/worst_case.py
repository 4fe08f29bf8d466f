"""`packenv worst-case`: look for the workload on which a policy supports as little of ρ* as possible."""

from __future__ import annotations

import click
from rich.console import Console

from packenv.cli.judge.tables import judgments_table, record_of
from packenv.cli.outputs import ResultFile, check_outputs, wide_console, write_all
from packenv.files import write_json
from packenv.policy import find_policy
from packenv.runs.judge_runs import JudgeRuns
from packenv.runs.log import RunLog
from packenv.runs.runner import Runner
from packenv.runs.text import counted
from packenv.theory.stability.worst_case import TRIES, worst_case
from packenv.workloads.laws import parse_law

SERVICES = ("geometric:100",)


@click.command("worst-case")
@click.option("--policy", "-p", required=True, help="Policy to find a bad workload for, e.g. bf-js, vqs:J=4.")
@click.option("--service", "services", multiple=True, default=SERVICES, show_default=True, help="Service laws; repeat for more.")
@click.option("--tries", type=click.IntRange(min=1), default=TRIES, show_default=True, help="Short runs of the search.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the search.")
@click.option("--processes", type=click.IntRange(min=1), help="Runs side by side  [default: one per core].")
@click.option("--log", type=click.Path(dir_okay=False), help="Keep the outcome of every judged run here.")
@click.option("--out", type=click.Path(dir_okay=False), help="Write the worst workload as JSON; evaluate and judge read it.")
@click.option("--json", "json_path", type=ResultFile(), help="Write the judgments of all that were judged.")
def worst_case_command(
    policy: str,
    services: tuple[str, ...],
    tries: int,
    seed: int,
    processes: int | None,
    log: str | None,
    out: str | None,
    json_path: str | None,
) -> None:
    """Look for the workload on which a policy supports the smallest share of ρ*.

    Candidates are small: up to five sizes, a dozen servers, ρ* known exactly. Where the policy's guarantee holds, the
    result is an upper bound on how tight it is; with --service fixed:100 it holds no more.

    \b
    packenv worst-case -p bf-js --tries 10000 --out worst.json
    packenv judge worst.json -p bf-js
    """
    check_outputs(out, log, json_path)
    find_policy(policy)
    laws = [parse_law(text, "--service") for text in services]
    kept = RunLog(log)
    with Runner(processes) as runner, Console(stderr=True).status(f"{policy}: looking for bad workloads") as status:
        found = worst_case(policy, laws, tries, seed, JudgeRuns(runner, kept), lambda what: status.update(f"{policy}: {what}"))
    console = wide_console()
    console.print(judgments_table([one.workload for one in found], [one.judgment for one in found], 1))
    for workload, _ in found:
        console.print(
            f"{workload.name}: {workload.sizes}, {counted(len(workload.servers), 'server')}, {workload.service}", highlight=False
        )

    def save_worst(path: str) -> None:
        found[0].workload.save(path)
        console.print(f"the worst of them: {path}", highlight=False)

    records = [record_of(one.judgment) | {"workload": one.workload.to_dict()} for one in found]
    write_all((out, save_worst), (json_path, lambda path: write_json(path, records)))
