"""`train`: make the learner that the settings ask for, run it, and save the agent. The command `packenv train` calls it."""

from __future__ import annotations

import torch

from packenv.errors import InputError
from packenv.executors.choose import PROCESSES
from packenv.files import check_folder_writable, make_folder, write_json
from packenv.learning.learner import Learner
from packenv.learning.settings import EVOLUTION, Settings
from packenv.learning.training.plan import RunPlan, TrainedAgent
from packenv.learning.training.progress import TrainingProgress
from packenv.learning.training.run import TrainingRun
from packenv.learning.training.run_folder import CHECKPOINT, SETTINGS, check_folder
from packenv.learning.training.training_log import require_tensorboard


def make_learner(settings: Settings, processes: int = 1, on: str = PROCESSES) -> Learner:
    """The settings' algorithm with fresh weights. Evolution runs its candidates on `packenv.executor(on, processes)`."""
    if settings.algorithm == EVOLUTION:
        from packenv.learning.evolution.evolution import Evolution

        return Evolution(settings, processes, on)
    from packenv.learning.reinforcement.sb3_learner import Sb3Learner

    if on != PROCESSES:
        raise InputError(f"--on {on} is for --algo {EVOLUTION}: RLlib trains others on a cluster")
    return Sb3Learner(settings)


def train(settings: Settings, plan: RunPlan) -> TrainedAgent:
    """Train an agent, or resume its training, and save it. Raises InputError, before anything is run, for bad input."""
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
