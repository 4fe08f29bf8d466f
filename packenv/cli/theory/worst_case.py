"""`packenv worst-case`: look for the workload on which a policy supports as little of ρ* as possible."""

from __future__ import annotations

import click

from packenv.cli.options.names import COUNT, FILE, POLICY
from packenv.cli.options.shared import JSON, option, process_options, runs_in
from packenv.cli.outputs import check_outputs, write_all
from packenv.cli.tables import format_option, show, text_console
from packenv.files import write_json
from packenv.options.shared import ProcessOptions
from packenv.runs.text import counted

SERVICES = ("geometric:100",)


@click.command("worst-case")
@click.option("--policy", "-p", required=True, type=POLICY, help="Policy to find a bad workload for, e.g. bf-js, vqs:J=4.")
@option("--service", "services", multiple=True, default=SERVICES, help="Law of service; repeat for more.")
@option("--tries", type=COUNT, default=3000, help="Number of short runs that the search makes.")
@option("--seed", type=int, default=0, help="Seed of the search.")
@process_options
@click.option("--log", type=FILE, help="Keep each finished run of a judgment in this file.")
@click.option("--out", type=FILE, help="Write the worst workload as JSON, which evaluate and judge read.")
@format_option
@click.option("--json", "json_path", type=JSON, help="Write the judgments of the candidates as JSON; - is standard output.")
def worst_case_command(
    policy: str,
    services: tuple[str, ...],
    tries: int,
    seed: int,
    where: ProcessOptions,
    log: str | None,
    out: str | None,
    form: str,
    json_path: str | None,
) -> None:
    """Search for the workload on which a policy keeps the smallest fraction of ρ* stable.

    Candidates have at most five sizes and a dozen servers, so ρ* is known exactly. The fraction found shows how tight the
    policy's guarantee can be at most. No guarantee holds with --service fixed:100.

    \b
    packenv worst-case -p bf-js --tries 10000 --out worst.json
    packenv judge worst.json -p bf-js
    """
    check_outputs(out, log, json_path)
    from rich.console import Console

    from packenv.policy import find_policy
    from packenv.report.judgment_tables import LEFT_OUT, judgments_table
    from packenv.runs.log import RunLog
    from packenv.runs.many import JudgeRuns
    from packenv.theory.stability.worst_case import worst_case
    from packenv.workloads.laws import parse_law

    find_policy(policy)
    laws = [parse_law(text, "--service") for text in services]
    run_log = RunLog(log)
    with runs_in(where).runner() as runner, Console(stderr=True).status(f"{policy}: looking for bad workloads") as status:

        def show_step(what: str) -> None:
            status.update(f"{policy}: {what}{runner.where()}")

        cases = worst_case(policy, laws, tries, seed, JudgeRuns(runner, run_log), show_step)
    console = text_console()
    table = judgments_table([case.judgment for case in cases])
    records = [case.judgment.record | {"workload": case.workload.to_dict()} for case in cases]
    show(form, [table], [case.judgment.record for case in cases], LEFT_OUT)
    for workload, _ in cases:
        console.print(
            f"{workload.name}: {workload.sizes}, {counted(len(workload.servers), 'server')}, {workload.service}", highlight=False
        )

    def save_worst(path: str) -> None:
        cases[0].workload.save(path)
        console.print(f"the worst of them: {path}", highlight=False)

    write_all((out, save_worst), (json_path, lambda path: write_json(path, records)))
