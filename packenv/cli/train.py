"""`packenv train`: train an agent, log to TensorBoard, resume a run, and save the agent."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import click
from rich.console import Console

from packenv.cli.options import shared
from packenv.cli.options.shared import COUNT, FILE, POLICY, WORKLOAD, option
from packenv.cli.options.workload import WorkloadOptions, workload_told
from packenv.cli.outputs import check_files
from packenv.envs.registration import ENVIRONMENTS
from packenv.errors import InputError
from packenv.inputs.numbers import LARGEST_WHOLE, read_number, read_whole
from packenv.learning.training.train import (
    ENVIRONMENT,
    LOGDIR,
    Training,
    default_workload,
    training,
    usual_arrivals,
)
from packenv.workloads.workload import INTENSITIES

NONE = "none"
SPECIAL = {"true": True, "false": False}


@click.command("train")
@click.argument("source", metavar="[WORKLOAD|TRACE]", required=False, type=WORKLOAD)
@option("--env", "environment", default=ENVIRONMENT, help=f"{', '.join(ENVIRONMENTS)}.")
@option("--algo", "algorithm", default="maskable-ppo", help="maskable-ppo, ppo, a2c, dqn, cma-es.")
@option("--network", default="shared", help="shared, linear, sum or varying (the order of actions does not matter), or mlp.")
@click.option("--hidden", type=int, default=0, help="Width of the network's layers  [default: shared 32, mlp 64].")
@click.option("--load", help="Arrivals as a share of ρ*: X, or LOW:HIGH, from which each episode draws its own.")
@click.option("--intensity", help="Arrivals as a share of the area bound: X or LOW:HIGH  [default on paper/fig4b: 0.85:0.97].")
@click.option("--rate", help="Tasks per slot: X or LOW:HIGH.")
@shared.workload_options(
    "servers", "sizes", "service", "resources", "slot_seconds", "columns", "time_unit", "partition", "finished_only"
)
@click.option("--J", "levels", type=int, help="Divide sizes into 2J virtual queues, as VQS does  [default: by the workload].")
@click.option("--types", type=int, help="Divide sizes into so many virtual queues of equal width instead.")
@click.option("--window", type=int, default=0, help="How many tasks (JobFill: groups) the agent sees  [default: 16; JobFill 32].")
@option("--observation", default="actions", help="actions, full or compact.")
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="Option of the environment: passing, rule, …")
@click.option(
    "--reward",
    default="",
    help="size, tasks, queue, …; JobFill: completion, makespan, value [:unfairness=PRICE]  [default: the first].",
)
@option("--reward-scale", type=float, default=1.0, help="Multiply rewards by this.")
@option("--timescale", type=float, default=5000.0, help="Discount a reward t slots ahead by exp(−t/timescale).")
@click.option("--average-reward", is_flag=True, help="Maximise the mean reward per slot instead of the discounted sum.")
@click.option(
    "--guard",
    default="",
    type=POLICY,
    help="Policy that schedules while too many tasks wait; none: the agent always does  [default: bf-js; JobFill none].",
)
@option("--guard-limit", type=int, default=500, help="The guard schedules while more tasks than this wait.")
@click.option("--from", "start", metavar="AGENT", help="Start from the weights of this saved agent (a name or a path).")
@click.option("--imitate", metavar="POLICY", type=POLICY, help="Begin with weights that imitate this policy.")
@click.option("--imitation-steps", type=int, default=0, help="Steps of imitation  [default: 400; JobFill 10,000].")
@option("--samples", type=int, default=16_000_000, help="Train for so many decisions; cma-es: tasks.")
@option("--envs", type=int, default=512, help="Environments that run side by side.")
@option("--horizon", type=int, default=100_000, help="Slots of an episode.")
@option("--seed", type=int, default=0, help="Seed of the jobs and of the training.")
@click.option(
    "--learning-rate",
    type=float,
    default=0.0,
    help="Learning rate at the start, which falls to a tenth  [default: 0.001; dqn 0.0005]; cma-es: step size  "
    "[default: 0.15; after --imitate 0.05].",
)
@option("--entropy", type=float, default=0.003, help="Weight of the entropy bonus.")
@option("--lambda", "gae_lambda", type=float, default=0.95, help="λ of the generalised advantage estimate.")
@click.option("--steps", type=int, default=0, help="Steps of each environment in an iteration  [default: 64; a2c 16, dqn 1].")
@click.option("--epochs", type=int, default=0, help="Passes over the samples; dqn: gradient steps  [default: 3; dqn 1].")
@click.option("--batch", type=int, default=0, help="Samples in a gradient step  [default: 4096; dqn 1024].")
@click.option("--population", type=int, default=0, help="cma-es: candidates in a generation  [default: by the weights].")
@option("--threads", type=COUNT, default=2, help="Threads that train the network; cma-es: processes.")
@shared.on
@option("--logdir", type=click.Path(file_okay=False), default=LOGDIR, help="Folder in which each run has a folder of its own.")
@click.option("--name", help="Name of this run's folder  [default: from environment, workload, algorithm and seed].")
@click.option("--resume", is_flag=True, help="Continue the run of this name, or start it if there is none.")
@click.option("--checkpoint-every", type=int, default=0, metavar="N", help="Samples between checkpoints  [default: a 20th].")
@click.option(
    "--evaluate-every",
    type=int,
    default=0,
    metavar="N",
    help="Samples between evaluations  [default: a 10th; the first after a 50th].",
)
@click.option("--judge-every", type=int, metavar="N", help="Samples between judgments, 0 for none  [default: a 3rd].")
@click.option("--against", type=POLICY, help="Policy that evaluations compare with  [default: bf-js; JobFill tetris:f=0].")
@option("--evaluation-slots", type=click.IntRange(min=1000), default=200_000, help="Slots of each run of an evaluation.")
@option("--evaluation-seeds", type=COUNT, default=4, help="Runs of an evaluation at each load.")
@option("--keep", type=click.Choice(["best", "last"]), default="best", help="Save the best agent in evaluations, or the last.")
@click.option("--out", type=FILE, help="Also save the agent here (.safetensors and .json).")
def train_command(of_workload: WorkloadOptions, **options: Any) -> None:
    """Train an agent on a workload, a name, a .json file, or one given by --sizes and --service; or on a trace.

    \b
    packenv train paper/fig4b --intensity 0.85:0.97
    packenv train paper/fig3b --rate 0.0306 --guard vqs --option passing=true
    packenv train tasks.csv --env JobFill --servers 4 --slot-seconds 1
    tensorboard --logdir runs
    """
    check_files(options["out"])
    prepared = training_from(of_workload, options)
    for notice in prepared.notices:
        Console(stderr=True, soft_wrap=True).print(notice, style="yellow", highlight=False)
    trained = prepared.run()
    Console(soft_wrap=True).print(repr(trained), highlight=False, markup=False)


def training_from(of_workload: WorkloadOptions, options: dict[str, Any]) -> Training:
    """The training that the options ask for. Raises InputError for options that contradict each other."""
    intensities = [key for key in INTENSITIES if options[key] is not None]
    if len(intensities) > 1:
        raise InputError("give one of --load, --intensity and --rate")
    if of_workload.source is None and of_workload.sizes is None:
        of_workload = replace(of_workload, source=default_workload(options["environment"]))
    arrivals = {key: interval(f"--{key}", options[key]) for key in intensities} or usual_arrivals(of_workload.source)
    workload = workload_told(of_workload)
    arguments = {key: value for key, value in options.items() if key not in (*INTENSITIES, "levels")}
    arguments |= {
        "J": options["levels"],
        "options": dict(own_option(text) for text in options["options"]),
        "guard": None if options["guard"] == NONE else options["guard"],
        "command": shlex.join(["packenv", *(click.get_current_context().find_root().obj or ())]),
    }
    return training(workload, arrivals, **arguments)


def interval(option: str, text: str) -> tuple[float, float]:
    """Ends of the interval `X` or `LOW:HIGH`. Raises InputError unless 0 < LOW <= HIGH."""
    try:
        ends = [read_number(part) for part in text.split(":")]
    except InputError:
        ends = []
    if len(ends) not in (1, 2) or not 0 < ends[0] <= ends[-1] < float("inf"):
        raise InputError(f"{option} must be a number above 0, or LOW:HIGH, not {text!r}")
    return ends[0], ends[-1]


def own_option(text: str) -> tuple[str, Any]:
    """Key and value of `KEY=VALUE`; the value an integer, true, false or a word. Raises InputError for another form."""
    key, equals, value = text.partition("=")
    if not key or not equals or not value:
        raise InputError(f"--option {text}: must be KEY=VALUE")
    if value.lower() in SPECIAL:
        return key, SPECIAL[value.lower()]
    return key, read_whole(value, -LARGEST_WHOLE) if value.lstrip("+-").isdigit() else value
