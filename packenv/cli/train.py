"""`packenv train`: train an agent, log to TensorBoard, resume a run, and save the agent."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from packenv.cli.options import shared
from packenv.cli.options.completed_names import POLICY, WORKLOAD
from packenv.cli.options.shared import COUNT, FILE, option
from packenv.cli.options.workload import WorkloadOptions, workload_told
from packenv.cli.outputs import check_outputs
from packenv.envs.job_fill.absent import assumptions
from packenv.envs.registration import ENVIRONMENTS, find_definition
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
@click.argument("source", metavar="[WORKLOAD|TRACE]", required=False, type=WORKLOAD)
@option("--env", "environment", default="ServerFill", help=f"{', '.join(ENVIRONMENTS)}.")
@option("--algo", "algorithm", default="maskable-ppo", help="maskable-ppo, ppo, a2c, dqn, cma-es.")
@option("--network", default="shared", help="shared, linear, sum or varying (the order of actions does not matter), or mlp.")
@click.option("--hidden", type=int, default=0, help="Width of the network's layers  [default: shared 32, mlp 64].")
@click.option("--load", help="Arrivals as a share of ρ*: X, or LOW:HIGH, from which each episode draws its own.")
@click.option("--intensity", help="Arrivals as a share of the area bound: X or LOW:HIGH  [default on paper/fig4b: 0.85:0.97].")
@click.option("--rate", help="Tasks per slot: X or LOW:HIGH.")
@shared.servers
@shared.sizes
@shared.service
@shared.resources
@shared.slot_seconds
@shared.columns
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
@option("--logdir", type=click.Path(file_okay=False), default="runs", help="Folder in which each run has a folder of its own.")
@click.option("--name", help="Name of this run's folder  [default: from environment, workload, algorithm and seed].")
@click.option("--resume", is_flag=True, help="Continue the run of this name, or start it if there is none.")
@click.option("--checkpoint-every", type=int, default=0, metavar="N", help="Samples between checkpoints  [default: a 20th].")
@click.option("--evaluate-every", type=int, default=0, metavar="N", help="Samples between evaluations  [default: a 10th].")
@click.option("--judge-every", type=int, metavar="N", help="Samples between judgments, 0 for none  [default: a 3rd].")
@click.option("--against", type=POLICY, help="Policy that evaluations compare with  [default: bf-js; JobFill tetris:f=0].")
@option("--evaluation-slots", type=click.IntRange(min=1000), default=200_000, help="Slots of each run of an evaluation.")
@option("--evaluation-seeds", type=COUNT, default=4, help="Runs of an evaluation at each load.")
@option("--keep", type=click.Choice(["best", "last"]), default="best", help="Save the best agent in evaluations, or the last.")
@click.option("--out", type=FILE, help="Also save the agent here (.safetensors and .json).")
def train_command(source: str | None, **words: Any) -> None:
    """Train an agent on a workload, a name, a .json file, or one given by --sizes and --service; or on a trace.

    \b
    packenv train paper/fig4b --intensity 0.85:0.97
    packenv train paper/fig3b --rate 0.0306 --guard vqs --option passing=true
    packenv train tasks.csv --env JobFill --servers 4 --slot-seconds 1
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
    if find_definition(settings.environment).follows_jobs and settings.workload.jobs is not None:
        absent = assumptions(settings.workload.jobs)
        if absent is not None:
            Console(stderr=True, soft_wrap=True).print(f"{settings.workload.name} has {absent}", highlight=False)
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
        source = find_definition(words["environment"]).defaults.get("workload", DEFAULT_WORKLOAD)
    arrivals = {key: interval(f"--{key}", words[key]) for key in given}
    if source == DEFAULT_WORKLOAD and not given:
        arrivals = {"intensity": DEFAULT_INTENSITY}
    said = {key: words[key] for key in ("servers", "sizes", "service", "resources", "slot_seconds", "columns")}
    workload = workload_told(WorkloadOptions(source, **said))
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
    from packenv.learning.objective import QUEUE, objective

    words["against"] = words["against"] or ("bf-js" if objective(settings.reward).measure == QUEUE else "tetris:f=0")
    find_policy(words["against"])
    out = words["out"]
    check_outputs(out)
    name = words["name"] or default_name(settings)
    if Path(name).name != name or name in (".", ".."):
        raise InputError(f"--name {name}: a name, not a path; --logdir says where")
    judged = 0 if settings.workload.draw is not None else settings.samples // 3 + 1
    judge_every = judged if words["judge_every"] is None else words["judge_every"]
    direct = "resume threads on checkpoint_every evaluate_every against evaluation_slots evaluation_seeds keep"
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
