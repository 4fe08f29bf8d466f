"""`packenv.train`: an agent from a workload and checked settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from packenv.envs.job_fill.features import assumptions
from packenv.envs.registration import find_definition
from packenv.errors import ArgumentError, InputError
from packenv.files import check_folder_writable, make_folder, write_json
from packenv.learning.agents.saved import SETTINGS
from packenv.learning.objective import QUEUE, objective
from packenv.learning.settings import PPO, Arrivals, Settings, check_unused
from packenv.learning.training.plan import RunPlan, TrainedAgent
from packenv.learning.training.run_folder import CHECKPOINT, check_folder
from packenv.options.fields import takes
from packenv.options.verbs import LearningOptions, TrainingOptions
from packenv.policy import find_policy, guarantee_of
from packenv.simulation import setting_of
from packenv.workloads.find import workload as find_workload
from packenv.workloads.workload import INTENSITIES, Workload

DEFAULT_WORKLOAD, DEFAULT_INTENSITY = "paper/fig4b", (0.85, 0.97)


@dataclass(frozen=True)
class Training:
    """The checked training that `train` runs."""

    settings: Settings
    plan: RunPlan

    @property
    def notices(self) -> list[str]:
        """Return notices on the guard's theorem and missing columns."""
        workload, guard, lines = self.settings.workload, self.settings.guard, []
        if guard is not None and not guarantee_of(find_policy(guard), setting_of(workload)):
            lines.append(f"the guard {guard} has no guarantee on {workload.name}: no theorem proves its queue stable")
        if find_definition(self.settings.environment).follows_jobs and workload.jobs is not None:
            absent = assumptions(workload.jobs)
            lines += [] if absent is None else [f"{workload.name} has {absent}"]
        return lines

    def run(self) -> TrainedAgent:
        """Train or resume, and save the agent (InputError first)."""
        from packenv.learning.training.training_log import require_tensorboard

        settings, plan = self.settings, self.plan
        require_tensorboard()
        check_folder(plan.folder, settings, plan.resume)
        check_folder_writable(plan.folder)
        return self._learn() if settings.way == PPO else self._evolve()

    def _learn(self) -> TrainedAgent:
        from packenv.learning.training.training_log import TrainingProgress

        settings, plan = self.settings, self.plan
        try:
            from packenv.learning.training.ppo import train_by_ppo
        except ImportError as error:
            raise InputError(
                f"ppo needs sb3-contrib, which cannot be imported ({error}): pip install 'packenv[agents]'"
            ) from None
        make_folder(plan.folder)
        write_json(plan.folder / SETTINGS, settings.record())
        with TrainingProgress(plan.folder.name, settings.samples, 0) as progress:
            return train_by_ppo(settings, plan, progress)

    def _evolve(self) -> TrainedAgent:
        from packenv.learning.evolution import Evolution
        from packenv.learning.training.run import TrainingRun
        from packenv.learning.training.training_log import TrainingProgress

        settings, plan = self.settings, self.plan
        learner = Evolution(settings, plan.threads, plan.on)
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
            try:
                return run.run(progress)
            except KeyboardInterrupt:
                if run.saved:
                    progress.say(f"{plan.folder}: the same command with --resume goes on after {run.saved:,} samples")
                raise


def training(
    workload: Workload,
    arrivals: Arrivals,
    learning: LearningOptions,
    plan: TrainingOptions,
    command: str = "packenv.train",
    **others: Any,
) -> Training:
    """Return the checked training of `train`, otherwise InputError."""
    settings = Settings(workload, arrivals=arrivals, **fields_of(learning), **others)
    if settings.way == PPO:
        check_unused(plan, TrainingOptions, ("threads", "on", "resume", "checkpoint_every", "judge_every"))
    for key in ("checkpoint_every", "evaluate_every"):
        if getattr(plan, key) < 0:
            raise ArgumentError(f"`{key}` must not be negative, not {getattr(plan, key)}")
    judge_every = plan.judge_every
    if judge_every is None:
        judge_every = 0 if workload.draw is not None else settings.samples // 3 + 1
    if judge_every < 0:
        raise ArgumentError(f"`judge_every` must not be negative, not {judge_every}")
    usual = "bf-js" if objective(settings.reward).measure == QUEUE else "tetris:f=0"
    against = plan.against or find_definition(settings.environment).defaults.get("baseline", usual)
    find_policy(against)
    source = settings.workload.name.replace("/", "-").replace(":", "-")
    name = plan.name or f"{settings.environment}-{source}-{settings.way}-{settings.seed}"
    if Path(name).name != name or name in (".", ".."):
        raise ArgumentError(f"`name` {name} must be a name, not a path: set the folder with `logdir`")
    out = None if plan.out is None else Path(str(plan.out).removesuffix(".safetensors"))
    decided = {"name": name, "out": out, "against": against, "judge_every": judge_every}
    return Training(settings, RunPlan(Path(plan.logdir) / name, command=command, **fields_of(plan) | decided))


def fields_of(options: LearningOptions | TrainingOptions) -> dict[str, Any]:
    return {item.name: getattr(options, item.name) for item in fields(options)}


@takes(LearningOptions, "learning")
@takes(TrainingOptions, "plan")
def train(workload: Any = None, *, learning: LearningOptions, plan: TrainingOptions, **arguments: Any) -> TrainedAgent:
    """Train an agent on a workload, log, and save it.

    workload     a Workload, or an argument of `packenv.workload`; by default the environment's usual workload
    arguments    `load`, `intensity` or `rate`: a number, or (low, high) for draws of the episodes; by default the workload's own,
    on paper/fig4b an intensity of 0.85 to 0.97. `baseline`: the policy of the reward `advantage`. The others are
                 `packenv.workload`'s: `servers`, `slot_seconds`, …

    What is learned, and how:

    learning     fields of LearningOptions

    Where the run is kept, and how its agents are evaluated:

    plan         fields of TrainingOptions

    Progress goes to standard error. Raises InputError for incompatible arguments before anything runs.
    """
    source = default_workload(learning.environment) if workload is None else workload
    rates = [key for key in INTENSITIES if arguments.get(key) is not None]
    if len(rates) > 1:
        raise ArgumentError("give one of `load`, `intensity` and `rate`")
    arrivals = {key: ends_of(key, arguments.pop(key)) for key in rates} or usual_arrivals(source)
    others = {key: arguments.pop(key) for key in ("baseline",) if key in arguments}
    loaded = source if isinstance(source, Workload) and not arguments else find_workload(source, **arguments)
    return training(loaded, arrivals, learning, plan, **others).run()


def default_workload(environment: str) -> str:
    return str(find_definition(environment).defaults.get("workload", DEFAULT_WORKLOAD))


def usual_arrivals(source: Any) -> Arrivals:
    """Return DEFAULT_WORKLOAD's arrivals, for others their own."""
    return {"intensity": DEFAULT_INTENSITY} if isinstance(source, str) and source == DEFAULT_WORKLOAD else {}


def ends_of(key: str, value: float | Sequence[float]) -> tuple[float, float]:
    """Return an interval's ends, with 0 < low <= high (InputError)."""
    ends = [*value] if isinstance(value, Sequence) else [value]
    if len(ends) not in (1, 2) or not 0 < ends[0] <= ends[-1] < float("inf"):
        raise ArgumentError(f"`{key}` must be a number above 0, or (low, high), not {value!r}")
    return float(ends[0]), float(ends[-1])
