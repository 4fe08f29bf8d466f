"""`packenv record`: a dataset of a policy's episodes, for Minari."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from packenv.cli.options.names import WORKLOAD
from packenv.cli.options.of_fields import JSON, options_of, workload_options
from packenv.cli.outputs import check_files, output_option
from packenv.cli.train import own_option
from packenv.content.text import counted
from packenv.envs.registration import ENVIRONMENTS, id_of, kind_of
from packenv.errors import InputError
from packenv.files import check_folder_writable, write_json
from packenv.inputs.numbers import LARGEST_WHOLE
from packenv.options.shared import OF_TRACES, WorkloadOptions
from packenv.options.verbs import ArrivalOptions, RecordOptions


@click.command("record")
@click.argument("source", metavar="WORKLOAD", type=WORKLOAD)
@options_of(RecordOptions, environment=f"{', '.join(ENVIRONMENTS)}.")
@options_of(ArrivalOptions, "arriving")
@workload_options("servers", *OF_TRACES, "estimates", "speedup")
@output_option("--json", "json_path", type=JSON, common=True, help="Write returns and scores as JSON (-: standard output).")
def record_command(of_workload: WorkloadOptions, arriving: ArrivalOptions, options: RecordOptions, json_path: str | None) -> None:
    """Record a policy's episodes as a Minari dataset for offline learning, or as an animation.

    WORKLOAD is a name, a .json file or a trace. The dataset's infos have the action masks. Its metadata have the mean returns
    of random valid actions and of bf-js on the same jobs.

    \b
    packenv record paper/fig4b --policy bf-js --episodes 20 --out fig4b-bf-js-v0
    packenv record paper/fig4b --intensity 0.9 --policy agent:fig4b --out agent-v0
    packenv record paper/fig4b --option observation=flat --out flat-v0
    packenv record paper/fig4b --intensity 0.9 --policy vqs --gif vqs.gif
    """
    out, gif, policy, workload = options.out, options.gif, options.policy, str(of_workload.source)
    if out is None and (gif is None or json_path is not None):
        raise InputError("no output: give --out for a dataset, or --gif alone (without --json) for an animation")
    if gif is not None and Path(gif).suffix.lower() != ".gif":
        raise InputError(f"{gif}: the name of an animation must end in .gif")
    check_files(json_path, gif)
    kind_of(options.environment)
    seeds = range(options.seed, options.seed + options.episodes)
    if seeds.stop > LARGEST_WHOLE:
        raise InputError(f"--seed {options.seed} is too large")
    from rich.console import Console

    from packenv.policy import find_policy
    from packenv.runs.progress import progress_bar
    from packenv.runs.recording import RANDOM, check_name, film, minari_library, record

    if out is not None:
        minari_library()
        check_name(Path(out))
        check_folder_writable(out)
    if policy != RANDOM:
        find_policy(policy)
    env = _environment(of_workload, arriving, options)
    console = Console(soft_wrap=True, highlight=False)
    if gif is not None:
        pictures = film(_environment(of_workload, arriving, options, "rgb_array"), policy, gif, seeds[0])
        console.print(f"{gif}: {counted(pictures, 'picture')} of {policy} on {workload}", markup=False)
    if out is None:
        return
    done = 0

    def ended() -> None:
        nonlocal done
        done += 1

    with progress_bar(lambda: f"{policy} on {workload}", 3 * len(seeds), lambda: done):
        dataset = record(env, policy, out, seeds, ended, f"{policy} on {options.environment}, {workload}")
    console.print(f"{out}: {counted(dataset.episodes, 'episode')}, {counted(dataset.steps, 'step')}", markup=False)
    console.print(f"  mean return of {policy}: {dataset.mean_return:,.6g}", markup=False)
    for name, score in dataset.reference_scores.items():
        console.print(f"  {name}, on the same jobs: {score:,.6g}", markup=False)
    if json_path is not None:
        write_json(json_path, {"dataset": out, "policy": policy, **dataset._asdict()})


def _environment(
    of_workload: WorkloadOptions, arriving: ArrivalOptions, options: RecordOptions, render_mode: str | None = None
) -> Any:
    """Return the environment, from options that JSON can hold.

    Raises InputError.
    """
    import gymnasium

    kind = kind_of(options.environment)
    arguments: dict[str, Any] = {
        "workload": of_workload.source,
        **({} if options.horizon is None else {"horizon": options.horizon}),
    }
    arguments |= {key: low if low == high else (low, high) for key, (low, high) in arriving.intervals().items()}
    read = {"servers": of_workload.servers, **of_workload.given(), "resources": options.resources}
    read |= {"columns": of_workload.theirs}
    arguments |= {key: value for key, value in read.items() if value is not None}
    arguments |= {} if render_mode is None else {"render_mode": render_mode}
    return gymnasium.make(id_of(kind), **arguments | dict(own_option(text) for text in options.options))
