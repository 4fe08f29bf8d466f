"""`packenv.train`: an agent from a workload and settings. What is asked for is checked before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packenv.envs.job_fill.features import assumptions
from packenv.envs.registration import find_definition
from packenv.errors import ArgumentError, InputError, install_command
from packenv.executors.choose import PROCESSES
from packenv.files import check_folder_writable, make_folder, write_json
from packenv.learning.objective import QUEUE, objective
from packenv.learning.settings import EVOLUTION, Arrivals, Settings
from packenv.learning.training.plan import RunPlan, TrainedAgent
from packenv.learning.training.run_folder import CHECKPOINT, SETTINGS, check_folder
from packenv.policy import find_policy, guarantee_of
from packenv.simulation import setting_of
from packenv.workloads.find import workload as find_workload
from packenv.workloads.workload import INTENSITIES, Workload

if TYPE_CHECKING:  # brings PyTorch with it
    from packenv.learning.learner import Learner

DEFAULT_WORKLOAD, DEFAULT_INTENSITY = "paper/fig4b", (0.85, 0.97)
ENVIRONMENT, LOGDIR = "ServerFill", "runs"
OF_SETTINGS = frozenset(field.name for field in fields(Settings))


@dataclass(frozen=True)
class Training:
    """The checked training that `train` runs."""

    settings: Settings
    plan: RunPlan

    @property
    def notices(self) -> list[str]:
        """Notices that no theorem is known of the guard, and of what is assumed where the table of jobs lacks columns."""
        workload, guard, lines = self.settings.workload, self.settings.guard, []
        if guard is not None and not guarantee_of(find_policy(guard), setting_of(workload)):
            lines.append(f"the guard {guard} has no guarantee on {workload.name}: no theorem says that it keeps the queue stable")
        if find_definition(self.settings.environment).follows_jobs and workload.jobs is not None:
            absent = assumptions(workload.jobs)
            lines += [] if absent is None else [f"{workload.name} has {absent}"]
        return lines

    def run(self) -> TrainedAgent:
        """Train the agent, or resume its training, and save it. Raises InputError, before anything is run, for bad input."""
        try:
            import torch

            from packenv.learning.training.run import TrainingRun
            from packenv.learning.training.training_log import TrainingProgress, require_tensorboard
        except ImportError as error:
            raise InputError(f"training needs {error.name}, which is not installed: {install_command('agents')}") from None
        settings, plan = self.settings, self.plan
        require_tensorboard()
        check_folder(plan.folder, settings, plan.resume)
        check_folder_writable(plan.folder)
        torch.set_num_threads(plan.threads)
        learner = make_learner(settings, plan.threads, plan.on)
        checkpoint = plan.folder / CHECKPOINT
        resumes = checkpoint.exists()
        run = TrainingRun(settings, plan, learner)
        if resumes:
            run.resume(checkpoint)
        with TrainingProgress(plan.folder.name, settings.samples, learner.samples) as progress:
            after = f"goes on after {learner.samples:,} samples, with fresh episodes"
            line = after if resumes else learner.initialise(progress.say)
            make_folder(plan.folder)
            write_json(plan.folder / SETTINGS, settings.record())
            if line is not None:
                progress.say(line)
            return run.run(progress)


def training(
    workload: Workload,
    arrivals: Arrivals,
    *,
    logdir: str | Path = LOGDIR,
    name: str | None = None,
    against: str | None = None,
    judge_every: int | None = None,
    out: str | Path | None = None,
    command: str = "packenv.train",
    **arguments: Any,
) -> Training:
    """The checked training that `train` runs, on a workload and arrivals; other arguments as there. Raises InputError."""
    settings = Settings(workload, arrivals=arrivals, **{key: arguments.pop(key) for key in OF_SETTINGS & {*arguments}})
    for key in ("checkpoint_every", "evaluate_every"):
        if arguments.get(key, 0) < 0:
            raise ArgumentError(f"`{key}` must not be negative, not {arguments[key]}")
    if judge_every is None:
        judge_every = 0 if workload.draw is not None else settings.samples // 3 + 1
    if judge_every < 0:
        raise ArgumentError(f"`judge_every` must not be negative, not {judge_every}")
    against = against or ("bf-js" if objective(settings.reward).measure == QUEUE else "tetris:f=0")
    find_policy(against)
    name = name or default_name(settings)
    if Path(name).name != name or name in (".", ".."):
        raise ArgumentError(f"`name` {name}: a name, not a path; `logdir` says where")
    out = None if out is None else Path(str(out).removesuffix(".safetensors"))
    plan = RunPlan(Path(logdir) / name, out, against=against, judge_every=judge_every, command=command, **arguments)
    return Training(settings, plan)


def train(
    workload: Any = None,
    *,
    environment: str = ENVIRONMENT,
    logdir: str | Path = LOGDIR,
    name: str | None = None,
    resume: bool = False,
    against: str | None = None,
    keep: str = "best",
    out: str | Path | None = None,
    threads: int = 2,
    on: str = PROCESSES,
    checkpoint_every: int = 0,
    evaluate_every: int = 0,
    judge_every: int | None = None,
    evaluation_slots: int = 200_000,
    evaluation_seeds: int = 4,
    **arguments: Any,
) -> TrainedAgent:
    """Train an agent on a workload, log to TensorBoard, and save it.

    workload     a Workload, or what `packenv.workload` takes; by default what the environment is usually trained on
    environment  ServerFill, Placement, Configuration or JobFill
    arguments    `load`, `intensity` or `rate`: a number, or (low, high), from which each episode draws its own; by default the
                 workload's own, on paper/fig4b an intensity of 0.85 to 0.97. Fields of `packenv.learning.settings.Settings`:
                 `algorithm`, `network` (of the agent), `samples`, `seed`, `envs`, `horizon`, `guard`, …. The others are
                 `packenv.workload`'s: `servers`, `slot_seconds`, …
    logdir       the folder in which each run has a folder of its own, which has this `name`
    resume       go on with the run of this name, or start it if there is none
    against      the policy that evaluations compare with: by default bf-js; of whole jobs tetris:f=0
    keep         save the "best" agent of the evaluations, or the "last"
    out          also save the agent here
    threads      that train the network; of cma-es, processes
    on           where cma-es runs its candidates, as of `packenv.executor`
    checkpoint_every, evaluate_every, judge_every  in samples: by default a 20th, a 10th and a 3rd of them; 0 judgments are none
    evaluation_slots, evaluation_seeds  of each run of an evaluation, and how many at each load

    Lines on how far it is go to standard error. Raises InputError, before anything is run, for what does not go together.
    """
    source = default_workload(environment) if workload is None else workload
    rates = [key for key in INTENSITIES if arguments.get(key) is not None]
    if len(rates) > 1:
        raise ArgumentError("give one of `load`, `intensity` and `rate`")
    arrivals = {key: ends_of(key, arguments.pop(key)) for key in rates} or usual_arrivals(source)
    changes = {key: arguments.pop(key) for key in [*arguments] if key not in OF_SETTINGS}
    loaded = source if isinstance(source, Workload) and not changes else find_workload(source, **changes)
    return training(
        loaded, arrivals, environment=environment, logdir=logdir, name=name, resume=resume, against=against, keep=keep, out=out,
        threads=threads, on=on, checkpoint_every=checkpoint_every, evaluate_every=evaluate_every, judge_every=judge_every,
        evaluation_slots=evaluation_slots, evaluation_seeds=evaluation_seeds, **arguments,
    ).run()  # fmt: skip


def default_workload(environment: str) -> str:
    """The workload that agents of the environment are trained on by default."""
    return str(find_definition(environment).defaults.get("workload", DEFAULT_WORKLOAD))


def usual_arrivals(source: Any) -> Arrivals:
    """The default arrivals of DEFAULT_WORKLOAD; other workloads have their own."""
    return {"intensity": DEFAULT_INTENSITY} if isinstance(source, str) and source == DEFAULT_WORKLOAD else {}


def ends_of(key: str, value: float | Sequence[float]) -> tuple[float, float]:
    """Ends of an interval that may be a number. Raises InputError unless 0 < low <= high."""
    ends = [*value] if isinstance(value, Sequence) else [value]
    if len(ends) not in (1, 2) or not 0 < ends[0] <= ends[-1] < float("inf"):
        raise ArgumentError(f"`{key}` must be a number above 0, or (low, high), not {value!r}")
    return float(ends[0]), float(ends[-1])


def default_name(settings: Settings) -> str:
    """The name of a run's folder: environment, workload, algorithm and seed."""
    workload = settings.workload.name.replace("/", "-").replace(":", "-")
    return f"{settings.environment}-{workload}-{settings.algorithm}-{settings.seed}"


def make_learner(settings: Settings, processes: int = 1, on: str = PROCESSES) -> Learner:
    """The settings' algorithm with fresh weights. Evolution runs its candidates on `packenv.executor(on, processes)`."""
    if settings.algorithm == EVOLUTION:
        from packenv.learning.evolution import Evolution

        return Evolution(settings, processes, on)
    from packenv.learning.reinforcement.sb3_learner import Sb3Learner

    if on != PROCESSES:
        raise InputError(f"--on {on} is for --algo {EVOLUTION}: RLlib trains others on a cluster")
    return Sb3Learner(settings)
