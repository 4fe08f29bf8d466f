"""`packenv worst-case`: look for the workload on which a policy supports as little of ρ* as possible."""

from __future__ import annotations

import click
from rich.console import Console

from packenv.cli.options import shared
from packenv.cli.options.shared import COUNT, FILE, POLICY, option
from packenv.cli.outputs import FileOf, Outputs, output_options
from packenv.cli.tables import text_console
from packenv.content.showable import Answer
from packenv.content.text import counted
from packenv.policy import find_policy
from packenv.runs.log import RunLog
from packenv.runs.many import JudgeRuns
from packenv.runs.runner import RunOptions
from packenv.theory.stability.judgment import judgments_table
from packenv.theory.stability.worst_case import TRIES, worst_case
from packenv.workloads.laws import parse_law

SERVICES = ("geometric:100",)


@click.command("worst-case")
@click.option("--policy", "-p", required=True, type=POLICY, help="Policy to find a bad workload for, e.g. bf-js, vqs:J=4.")
@option("--service", "services", multiple=True, default=SERVICES, help="Law of service; repeat for more.")
@option("--tries", type=COUNT, default=TRIES, help="Number of short runs that the search makes.")
@option("--seed", type=int, default=0, help="Seed of the search.")
@shared.run_options
@click.option("--log", type=FILE, help="Keep each finished run of a judgment in this file.")
@click.option("--out", type=FileOf(".json"), help="Write the worst workload as JSON, which evaluate and judge read.")
@output_options("Write the judgments of the candidates")
def worst_case_command(
    policy: str,
    services: tuple[str, ...],
    tries: int,
    seed: int,
    run_options: RunOptions,
    log: str | None,
    out: str | None,
    outputs: Outputs,
) -> None:
    """Search for the workload on which a policy keeps the smallest fraction of ρ* stable.

    Candidates have at most five sizes and a dozen servers, so ρ* is known exactly. The fraction found shows how tight the
    policy's guarantee can be at most. No guarantee holds with --service fixed:100.

    \b
    packenv worst-case -p bf-js --tries 10000 --out worst.json
    packenv judge worst.json -p bf-js
    """
    outputs.check(out, log)
    find_policy(policy)
    laws = [parse_law(text, "--service") for text in services]
    run_log = RunLog(log)
    with run_options.runner() as runner, Console(stderr=True).status(f"{policy}: looking for bad workloads") as status:

        def show_step(what: str) -> None:
            status.update(f"{policy}: {what}{runner.where()}")

        cases = worst_case(policy, laws, tries, seed, JudgeRuns(runner, run_log), show_step)
    workloads = [case.workload for case in cases]
    candidates = [f"{each.name}: {each.sizes}, {counted(len(each.servers), 'server')}, {each.service}" for each in workloads]
    records = [case.judgment.record | {"workload": case.workload.to_dict()} for case in cases]
    lines = [case.judgment.record for case in cases]
    answer = Answer([judgments_table([case.judgment for case in cases])], candidates, records, lines)
    outputs.show(answer)

    def save_worst(path: str) -> None:
        cases[0].workload.save(path)
        text_console().print(f"the worst of them: {path}", highlight=False)

    outputs.write(answer, (out, save_worst))
