"""`packenv record`: a dataset of a policy's episodes, in Minari's form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console

from packenv.cli.options.shared import COUNT, JSON, OF_WORKLOAD, option, workload_option
from packenv.cli.options.workload import parse_columns
from packenv.cli.outputs import check_files
from packenv.cli.train import interval, own_option
from packenv.content.text import counted
from packenv.envs.registration import ENVIRONMENTS, FORMER, id_of, kind_of
from packenv.errors import InputError
from packenv.files import check_folder_writable, write_json
from packenv.inputs.numbers import LARGEST_WHOLE
from packenv.policy import find_policy
from packenv.runs.progress import progress_bar
from packenv.workloads.workload import INTENSITIES


@click.command("record")
@click.argument("workload")
@option("--env", "environment", default="ServerFill", help=f"{', '.join(ENVIRONMENTS)}.")
@option("--policy", "-p", default="bf-js", help="Policy or agent that plays; random: any action that the mask allows.")
@option("--episodes", type=COUNT, default=20, help="Episodes, of the seeds from --seed on.")
@click.option("--out", metavar="FOLDER", help="New folder for the dataset; its name is NAME-vN.")
@click.option("--gif", metavar="FILE.gif", help="Write a moving picture of the policy in the first episode.")
@click.option("--horizon", type=COUNT, help="Slots of an episode  [default: 10,000; of a table until its work is done].")
@option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the first episode.")
@click.option("--load", help="Arrivals as a share of ρ*: X, or LOW:HIGH, from which each episode draws its own.")
@click.option("--intensity", help="Arrivals as a share of the area bound: X or LOW:HIGH.")
@click.option("--rate", help="Tasks per slot: X or LOW:HIGH.")
@workload_option("servers")
@workload_option("slot_seconds")
@click.option("--resources", help=OF_WORKLOAD["resources"])
@workload_option("columns")
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="Option of the environment: observation, reward, …")
@click.option("--json", "json_path", type=JSON, help="Write returns and reference scores as JSON; - is standard output.")
def record_command(workload: str, environment: str, policy: str, episodes: int, out: str | None, **words: Any) -> None:
    """Record a policy's episodes on a workload (a name or a .json file) or a trace: as a Minari dataset, for offline learning,
    or as a moving picture.

    Action masks are in the dataset's infos; the mean returns of random valid actions and of bf-js on the same jobs in its
    metadata.

    \b
    packenv record paper/fig4b --policy bf-js --episodes 20 --out fig4b-bf-js-v0
    packenv record paper/fig4b --intensity 0.9 --policy agent:fig4b --out agent-v0
    packenv record paper/fig4b --option observation=flat --out flat-v0
    packenv record paper/fig4b --intensity 0.9 --policy vqs --gif vqs.gif
    """
    from packenv.runs.recording import RANDOM, check_name, film, needed, record

    gif = words.pop("gif")
    if out is None and (gif is None or words["json_path"] is not None):
        raise InputError("--out says where the dataset goes; a moving picture alone needs --gif, and has no --json")
    if gif is not None and Path(gif).suffix.lower() != ".gif":
        raise InputError(f"{gif}: a moving picture is .gif")
    check_files(words["json_path"], gif)
    if out is not None:
        needed()
        check_name(Path(out))
        check_folder_writable(out)
    if policy != RANDOM:
        find_policy(policy)
    seeds = range(words["seed"], words["seed"] + episodes)
    if seeds.stop > LARGEST_WHOLE:
        raise InputError(f"--seed {words['seed']} is too large")
    env = _made(workload, environment, words)
    console = Console(soft_wrap=True, highlight=False)
    if gif is not None:
        pictures = film(_made(workload, environment, words, "rgb_array"), policy, gif, seeds[0])
        console.print(f"{gif}: {counted(pictures, 'picture')} of {policy} on {workload}", markup=False)
    if out is None:
        return
    done = 0

    def ended() -> None:
        nonlocal done
        done += 1

    with progress_bar(lambda: f"{policy} on {workload}", 3 * episodes, lambda: done):
        dataset = record(env, policy, out, seeds, ended, f"{policy} on {environment}, {workload}")
    console.print(f"{out}: {counted(dataset.episodes, 'episode')}, {counted(dataset.steps, 'step')}", markup=False)
    console.print(f"  mean return of {policy}: {dataset.mean_return:,.6g}", markup=False)
    for name, score in dataset.reference_scores.items():
        console.print(f"  {name}, on the same jobs: {score:,.6g}", markup=False)
    if words["json_path"] is not None:
        write_json(words["json_path"], {"dataset": out, "policy": policy, **dataset._asdict()})


def _made(workload: str, environment: str, words: dict[str, Any], render_mode: str | None = None) -> Any:
    """The environment, by options that JSON can hold. Raises InputError."""
    import gymnasium

    kind = kind_of(environment)
    options: dict[str, Any] = {"workload": workload} | ({} if words["horizon"] is None else {"horizon": words["horizon"]})
    intensities = [key for key in INTENSITIES if words[key] is not None]
    if len(intensities) > 1:
        raise InputError("give one of --load, --intensity and --rate")
    for key in intensities:
        low, high = interval(f"--{key}", words[key])
        options[key] = low if low == high else (low, high)
    options |= {key: words[key] for key in ("servers", "slot_seconds", "resources") if words[key] is not None}
    if words["columns"] is not None:
        options["columns"] = parse_columns(words["columns"])
    options |= {} if render_mode is None else {"render_mode": render_mode}
    return gymnasium.make(id_of(kind), **FORMER.get(kind, {}) | options | dict(own_option(text) for text in words["options"]))
