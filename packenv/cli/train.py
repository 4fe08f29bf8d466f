"""`packenv train`: train an agent, log to TensorBoard, resume a run, and save the agent."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from packenv.cli.outputs import check_outputs
from packenv.cli.workload_options import RESOURCES_HELP, WorkloadOptions, workload_from
from packenv.envs.registration import ENVIRONMENTS
from packenv.errors import InputError
from packenv.inputs.numbers import LARGEST_WHOLE, read_number, read_whole
from packenv.policy import find_policy, guarantee_of
from packenv.simulation import setting_of
from packenv.workloads.workload import INTENSITIES

if TYPE_CHECKING:
    from packenv.learning.settings import Settings

DEFAULT_WORKLOAD, DEFAULT_INTENSITY = "paper/fig4b", (0.85, 0.97)
NONE = "none"
SPECIAL = {"true": True, "false": False}


@click.command("train")
@click.argument("source", metavar="[WORKLOAD]", required=False)
@click.option("--env", "environment", default="ServerFill", show_default=True, help=f"{', '.join(ENVIRONMENTS)}.")
@click.option("--algo", "algorithm", default="maskable-ppo", show_default=True, help="maskable-ppo, ppo, a2c, dqn, cma-es.")
@click.option("--network", default="shared", show_default=True, help="shared or linear (permutations do not matter), or mlp.")
@click.option("--hidden", type=int, default=0, help="Width of its layers  [default: 32 shared, 64 mlp].")
@click.option("--load", help="Share of ρ*: X, or LOW:HIGH from which each episode draws.")
@click.option("--intensity", help="Share of the area bound: X or LOW:HIGH  [default on paper/fig4b: 0.85:0.97].")
@click.option("--rate", help="Tasks per slot: X or LOW:HIGH.")
@click.option("--servers", help="5, or 3x1,2x0.5, or 3x1:0.5 for several resources, or a file.")
@click.option("--sizes", help="uniform:0.1:0.9, discrete:0.4@0.5,0.6@0.5, …")
@click.option("--service", help="geometric:100, fixed:100, lognormal:100:2, …")
@click.option("--resources", default="max", show_default=True, help=RESOURCES_HELP)
@click.option("--J", "levels", type=int, help="Levels of the partition: 2J virtual queues  [default: the workload's].")
@click.option("--types", type=int, help="So many virtual queues, for sizes of equal width, in place of 2J.")
@click.option("--window", type=int, default=16, show_default=True, help="Oldest tasks that are shown.")
@click.option("--observation", default="actions", show_default=True, help="actions, full or compact.")
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="Of the environment: order, passing, rule, …")
@click.option("--reward", default="size", show_default=True, help="size, tasks, queue, delay or advantage.")
@click.option("--reward-scale", type=float, default=1.0, show_default=True, help="Rewards are multiplied by this.")
@click.option("--timescale", type=float, default=5000.0, show_default=True, help="Slots; rewards count exp(−slots/timescale).")
@click.option("--average-reward", is_flag=True, help="Instead of discounting: reward per slot in the long run.")
@click.option("--guard", default="bf-js", show_default=True, help="Takes over when too many tasks wait; `none`.")
@click.option("--guard-limit", type=int, default=500, show_default=True, help="Waiting tasks from which the guard decides.")
@click.option("--from", "start", metavar="AGENT", help="Begin with the weights of this saved agent (a name or path).")
@click.option("--imitate", metavar="POLICY", help="First learn to do what this policy does.")
@click.option("--imitation-steps", type=int, default=400, show_default=True, help="Of it, in up to 64 environments.")
@click.option("--samples", type=int, default=16_000_000, show_default=True, help="Decisions in all.")
@click.option("--envs", type=int, default=512, show_default=True, help="Environments side by side.")
@click.option("--horizon", type=int, default=100_000, show_default=True, help="Slots of an episode.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--learning-rate",
    type=float,
    default=0.0,
    help="At the start; falls to a tenth  [default: 0.001; dqn 0.0005]; cma-es: its step size  [default: 0.15].",
)
@click.option("--entropy", type=float, default=0.003, show_default=True, help="Weight of the entropy bonus.")
@click.option("--lambda", "gae_lambda", type=float, default=0.95, show_default=True, help="Of the advantage estimate, per step.")
@click.option("--steps", type=int, default=0, help="Per environment and iteration  [default: 64; a2c 16, dqn 1].")
@click.option("--epochs", type=int, default=0, help="Passes over the samples; dqn: gradient steps  [default: 3; dqn 1].")
@click.option("--batch", type=int, default=0, help="Samples of a gradient step  [default: 4096; dqn 1024].")
@click.option("--population", type=int, default=0, help="Candidates of a generation of cma-es  [default: by the weights].")
@click.option("--threads", type=click.IntRange(min=1), default=2, show_default=True, help="Of the network; cma-es: processes.")
@click.option("--logdir", type=click.Path(file_okay=False), default="runs", show_default=True, help="Folder of all runs.")
@click.option("--name", help="Of this run: its folder in there  [default: made of environment, workload, algorithm, seed].")
@click.option("--resume", is_flag=True, help="Go on with this run where it stopped; begins it if it has not begun.")
@click.option("--checkpoint-every", type=int, default=0, metavar="SAMPLES", help="[default: a twentieth of the run]")
@click.option("--evaluate-every", type=int, default=0, metavar="SAMPLES", help="[default: a tenth of the run]")
@click.option("--judge-every", type=int, metavar="SAMPLES", help="0: never  [default: a third of the run]")
@click.option("--against", default="bf-js", show_default=True, help="Policy that evaluations compare with.")
@click.option("--evaluation-slots", type=click.IntRange(min=1000), default=200_000, show_default=True, help="Of each run.")
@click.option("--evaluation-seeds", type=click.IntRange(min=1), default=4, show_default=True, help="Runs at each load.")
@click.option("--keep", type=click.Choice(["best", "last"]), default="best", show_default=True, help="Which agent to save.")
@click.option("--out", type=click.Path(dir_okay=False), help="Save the agent here (.safetensors and .json), too.")
def train_command(source: str | None, **words: Any) -> None:
    """Train an agent on a workload (a name, or a .json file), or on one spelled out by --sizes.

    \b
    packenv train paper/fig4b --intensity 0.85:0.97
    packenv train paper/fig3b --rate 0.0306 --guard vqs --option passing=true --name fig3b
    tensorboard --logdir runs
    """
    try:
        from packenv.learning.training.plan import RunPlan
        from packenv.learning.training.train import train
    except ImportError as error:
        raise InputError(f"training needs {error.name}, which is not installed: pip install 'packenv[agents]'") from None
    settings = settings_of(source, words)
    plan = RunPlan(**plan_of(settings, words))
    if settings.guard is not None and not guarantee_of(find_policy(settings.guard), setting_of(settings.workload)):
        where = f"on {settings.workload.name}: no theorem says that it keeps the queue stable"
        Console(stderr=True, soft_wrap=True).print(f"the guard {settings.guard} has no guarantee {where}", style="yellow")
    trained = train(settings, plan)
    console = Console(soft_wrap=True)
    console.print(f"{trained.path}: {words['keep']} agent, of {trained.kept_at:,} samples", highlight=False)
    for name, value in trained.measured.items():
        console.print(f"  {name}: {value:.4g}", highlight=False)
    console.print(f"{trained.samples_per_second:,.0f} samples per second", highlight=False)


def settings_of(source: str | None, words: dict[str, Any]) -> Settings:
    """The training settings, from the command's options. Raises InputError for options that contradict each other."""
    from packenv.learning.settings import Settings

    given = [key for key in INTENSITIES if words[key] is not None]
    if len(given) > 1:
        raise InputError("give one of --load, --intensity and --rate")
    if source is None and words["sizes"] is None:
        source = DEFAULT_WORKLOAD
    arrivals = {key: interval(f"--{key}", words[key]) for key in given}
    if source == DEFAULT_WORKLOAD and not given:
        arrivals = {"intensity": DEFAULT_INTENSITY}
    said = {key: words[key] for key in ("servers", "sizes", "service", "resources")}
    workload, _ = workload_from(WorkloadOptions(source, **said))
    direct = (
        "environment algorithm network hidden types window observation reward reward_scale timescale average_reward guard_limit "
        "start imitate imitation_steps samples envs horizon seed learning_rate entropy gae_lambda steps epochs batch population"
    )
    return Settings(
        workload,
        arrivals=arrivals,
        J=words["levels"],
        options=dict(own_option(text) for text in words["options"]),
        guard=None if words["guard"] == NONE else words["guard"],
        **{key: words[key] for key in direct.split()},
    )


def plan_of(settings: Settings, words: dict[str, Any]) -> dict[str, Any]:
    """How a run is evaluated, logged and saved, from the command's options. Raises InputError for invalid ones."""
    for key in ("checkpoint_every", "evaluate_every", "judge_every"):
        if (words[key] or 0) < 0:
            raise InputError(f"--{key.replace('_', '-')} must not be negative, not {words[key]}")
    find_policy(words["against"])
    out = words["out"]
    check_outputs(out)
    name = words["name"] or default_name(settings)
    if Path(name).name != name or name in (".", ".."):
        raise InputError(f"--name {name}: a name, not a path; --logdir says where")
    judge_every = settings.samples // 3 + 1 if words["judge_every"] is None else words["judge_every"]
    direct = "resume threads checkpoint_every evaluate_every against evaluation_slots evaluation_seeds keep"
    return {
        "folder": Path(words["logdir"]) / name,
        "out": None if out is None else Path(out).with_suffix("") if out.endswith(".safetensors") else Path(out),
        "judge_every": judge_every,
        "command": shlex.join(["packenv", *click.get_current_context().find_root().obj]),
        **{key: words[key] for key in direct.split()},
    }


def default_name(settings: Settings) -> str:
    """The name of a run's folder: environment, workload, algorithm and seed."""
    workload = settings.workload.name.replace("/", "-").replace(":", "-")
    return f"{settings.environment}-{workload}-{settings.algorithm}-{settings.seed}"


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
