"""Training runs: Stable-Baselines3's loop, watched, checkpointed, resumed, and what comes out of it saved.

A run has a folder: `settings.json` says which run it is, `checkpoint.safetensors` where it is, `agent.*` what it has
learned so far; TensorBoard's files lie beside them.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger

from packenv.envs.faces.sb3 import PackVecEnv
from packenv.errors import InputError
from packenv.files import write_json
from packenv.learning.agents.description import describe
from packenv.learning.agents.saved import SavedAgent, load_agent, save_agent
from packenv.learning.algorithms import make_model
from packenv.learning.buffers import AverageReward
from packenv.learning.checkpoints import best_of, restore, seed_at, write_checkpoint
from packenv.learning.cluster_log import ClusterLog
from packenv.learning.evaluation import Evaluation, overall, supported
from packenv.learning.evolution import Evolution
from packenv.learning.imitation import ROWS, demonstrations, imitate
from packenv.learning.progress import Bar
from packenv.learning.sb3_policies import network_of
from packenv.learning.settings import EVOLUTION, Settings
from packenv.learning.tensorboard import REFERENCES, Board, check_installed

CHECKPOINT, SETTINGS, AGENT = "checkpoint.safetensors", "settings.json", "agent"
LOGS = 500  # in a whole run
PROVEN = ("bf-js", "vqs-bf")  # beside whose supported fraction the agent's is shown

Weights = dict[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Plan:
    """How a run is watched and kept; nothing here changes what is learned, but for `keep`. Intervals in samples; 0: never."""

    folder: Path
    out: Path | None = None
    resume: bool = False
    threads: int = 2
    checkpoint_every: int = 0  # 0: a twentieth of the run
    evaluate_every: int = 0  # 0: a tenth of the run
    judge_every: int = 0
    against: str = "bf-js"
    evaluation_slots: int = 200_000
    evaluation_seeds: int = 4
    keep: str = "best"
    command: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    agent: Path
    samples: int
    samples_per_second: float
    measured: dict[str, float]
    kept_at: int  # samples after which the agent that was kept was made


def train(settings: Settings, plan: Plan) -> Outcome:
    """Train, or go on training, and save the agent. Raises InputError for what cannot be, before anything is run."""
    check_installed()
    check_folder(settings, plan)
    torch.set_num_threads(plan.threads)
    checkpoint = plan.folder / CHECKPOINT
    average = AverageReward() if settings.average_reward else None
    env: PackVecEnv | None = None
    model: Any
    if settings.algorithm == EVOLUTION:
        model = Evolution(settings, plan.threads)
    else:
        env = PackVecEnv(settings.environment, settings.envs, bare=True, **settings.env_options())
        model = make_model(replace(settings, seed=seed_at(settings.seed, 0)), env, average)
    run = Run(settings, plan, model, env, average)
    if settings.start is not None and not checkpoint.exists():
        network_of(model.policy).begin_with(load_agent(settings.start))
    plan.folder.mkdir(parents=True, exist_ok=True)
    write_json(plan.folder / SETTINGS, settings.record())
    if checkpoint.exists():
        run.take_up(checkpoint)
    elif settings.imitate is not None:
        warm_start(settings, model)
    policy: Any = model.policy
    if hasattr(policy, "q_net_target") and not checkpoint.exists():
        policy.q_net_target.load_state_dict(policy.q_net.state_dict())
    with Bar(plan.folder.name, settings.samples, model.num_timesteps) as bar:
        run.begin(bar)
        left = settings.samples - model.num_timesteps
        if left > 0:
            model.learn(left, callback=run, reset_num_timesteps=False, **run.learn_options)
        return run.finish()


def check_folder(settings: Settings, plan: Plan) -> None:
    """InputError unless the run's folder is free, or holds this run and it is to go on."""
    folder, record = plan.folder, settings.record()
    known = folder / SETTINGS
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: not a folder")
    if not known.exists():
        if folder.exists() and any(not name.name.startswith(".") for name in folder.iterdir()):
            raise InputError(f"{folder}: not empty, and holds no training run: choose another --name")
        return
    try:
        found = json.loads(known.read_text())
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise InputError(f"{known}: not the settings of a training run")
    different = [key for key in record if json.loads(json.dumps(record[key])) != found.get(key)]
    if different:
        key = different[0]
        there = f"{key} is {found.get(key)!r} there, not {record[key]!r}"
        raise InputError(f"{folder} holds another run: {there}; choose another --name")
    if not plan.resume:
        raise InputError(f"{folder} holds this run already: --resume goes on with it, another --name begins anew")


def warm_start(settings: Settings, model: Any) -> None:
    """Let the actor imitate a policy, on clusters of their own."""
    assert settings.imitate is not None
    unguarded = {key: value for key, value in settings.env_options().items() if key not in ("guard", "guard_limit")}
    env = PackVecEnv(settings.environment, min(ROWS, settings.envs), bare=True, **unguarded)
    env.seed(seed_at(settings.seed, 1))
    seen, actions = demonstrations(env, settings.imitate, settings.imitation_steps)
    if len(actions) == 0:
        raise InputError(f"--imitate {settings.imitate}: it made no choice in {settings.imitation_steps} steps")
    share = imitate(network_of(model.policy), seen, actions)
    print_accuracy(settings.imitate, share, len(actions))


def print_accuracy(policy: str, share: float, count: int) -> None:
    """One line on standard error."""
    from rich.console import Console

    Console(stderr=True).print(f"imitates {policy}: the same action in {share:.1%} of {count:,} choices", highlight=False)


class Run(BaseCallback):
    """What happens between the algorithm's iterations: logs, evaluations, checkpoints."""

    def __init__(self, settings: Settings, plan: Plan, model: Any, env: PackVecEnv | None, average: AverageReward | None) -> None:
        super().__init__()
        self.settings, self.plan, self.algorithm, self.env, self.average = settings, plan, model, env, average
        self.learn_options: dict[str, Any] = {"log_interval": None}
        if settings.algorithm == "maskable-ppo":
            self.learn_options["use_masking"] = False
        self.said = Logger(folder=None, output_formats=[])
        model.set_logger(self.said)
        self.best: Weights = {}
        self.best_score, self.best_at = float("inf"), 0
        self.measured: dict[str, float] = {}
        self.best_measured: dict[str, float] = {}
        self.resumed = False

    # life of a run

    def take_up(self, path: Path) -> None:
        """Go on from a checkpoint, with fresh episodes."""
        checkpoint = restore(path, self.algorithm)
        counters = checkpoint.counters
        self.best = best_of(checkpoint)
        self.best_score = counters["best_score"] if counters["best_score"] is not None else float("inf")
        self.best_at, self.measured, self.best_measured = counters["best_at"], counters["measured"], counters["best_measured"]
        if self.average is not None:
            self.average.reward, self.average.elapsed = counters["average"]
        self.resumed = True
        if hasattr(self.algorithm, "learning_starts"):  # the replay buffer is empty again: let it fill before it is used
            self.algorithm.learning_starts += self.algorithm.num_timesteps
        self.algorithm.set_random_seed(seed_at(self.settings.seed, self.algorithm.num_timesteps))

    def begin(self, bar: Bar) -> None:
        """Open what is written to, and set the next moments."""
        self.bar = bar
        if self.resumed:
            bar.say(f"goes on after {self.algorithm.num_timesteps:,} samples, with fresh episodes")
        samples, done = self.settings.samples, self.algorithm.num_timesteps
        self.board = Board(self.plan.folder, done)
        if done == 0:
            self.board.settings(self.settings.record(), self.plan.command)
        self.evaluation = Evaluation(self.settings, self.plan.against, self.plan.evaluation_slots, self.plan.evaluation_seeds)
        self.every = {
            self.log: max(samples // LOGS, 1),
            self.evaluate: self.plan.evaluate_every or max(samples // 10, 1),
            self.judge: self.plan.judge_every,
            self.checkpoint: self.plan.checkpoint_every or max(samples // 20, 1),
        }
        self.next = {act: (done // every + 1) * every for act, every in self.every.items() if every}

    def _on_training_start(self) -> None:
        if self.env is not None:
            self.env.stagger()
            self.cluster = ClusterLog(self.env)
        self.bar.start()

    def _on_step(self) -> bool:
        if self.env is not None:
            self.cluster.step()
        return True

    def _on_rollout_start(self) -> None:
        """Between two iterations: weights, optimizer and counters belong together."""
        samples = self.num_timesteps
        self.bar.reach(samples)
        for act, moment in self.next.items():
            if samples >= moment:
                began = time.monotonic()
                act()
                self.bar.pause(time.monotonic() - began)
                every = self.every[act]
                self.next[act] = (samples // every + 1) * every

    def finish(self) -> Outcome:
        """The last evaluation and checkpoint; save the agent that is kept."""
        self.bar.reach(self.algorithm.num_timesteps)
        speed = self.bar.speed()
        self.evaluate()
        if self.plan.judge_every:
            self.judge()
        self.checkpoint()
        done = self.algorithm.num_timesteps
        weights, at, measured = network_of(self.algorithm.policy).exported(), done, self.measured
        if self.plan.keep == "best" and self.best:
            weights, at, measured = self.best, self.best_at, self.best_measured
        agent = self.plan.out or self.plan.folder / AGENT
        for path in dict.fromkeys((self.plan.folder / AGENT, agent)):
            self.save(path, weights, at, self.plan.keep, measured)
        self.board.hyperparameters(self.settings.record(), measured)
        self.board.close()
        return Outcome(agent, done, speed, measured, at)

    # what happens now and then

    def log(self) -> None:
        """Numbers of the clusters and of learning."""
        samples = self.algorithm.num_timesteps
        learned: dict[str, Any] = self.said.name_to_value
        learning = {name: float(value) for name, value in learned.items()}
        learned.clear()
        found = (self.cluster.take() if self.env is not None else {}) | learning | {"speed/samples per second": self.bar.speed()}
        if self.average is not None:
            found["train/average reward per slot"] = self.average.rate
        self.board.scalars(found, samples)

    def evaluate(self) -> None:
        """The agent beside the policy, on the same jobs."""
        samples = self.algorithm.num_timesteps
        weights = network_of(self.algorithm.policy).exported()
        compared = self.evaluation(self.agent(weights))
        score = overall(compared)
        self.measured = {f"mean queue ratio to {self.plan.against}": score}
        self.measured |= {f"mean queue ratio to {self.plan.against} at {each.label}": each.ratio for each in compared}
        self.measured |= {f"mean queue at {each.label}": each.agent for each in compared}
        if score < self.best_score:
            self.best, self.best_score, self.best_at, self.best_measured = weights, score, samples, self.measured
        self.board.scalars({f"evaluation/{name}": value for name, value in self.measured.items()}, samples)
        if self.env is not None:
            self.board.picture(self.env.core, samples)
        self.board.flush()
        shown = ", ".join(f"{each.agent:.3g} ({each.ratio:.3f}) at {each.label}" for each in compared)
        self.bar.say(f"{samples:,} samples: mean queue (ratio to {self.plan.against}) {shown}")

    def judge(self) -> None:
        """The supported fraction of ρ*, coarsely, between its reference lines."""
        samples = self.algorithm.num_timesteps
        workload = next(iter(self.evaluation.workloads.values()))
        said = lambda: self.bar.reach(samples)  # noqa: E731
        low, high = supported(workload, self.agent(network_of(self.algorithm.policy).exported()), said)
        if not hasattr(self, "references"):
            found = {name: supported(workload, name, said)[0] for name in PROVEN}
            best = max(found, key=lambda name: found[name])
            self.references = {f"judge/{best}, lower end": found[best]} | REFERENCES
            self.board.layout([f"judge/{best}, lower end"])
        self.board.scalars({"judge/agent, lower end": low, "judge/agent, upper end": high} | self.references, samples)
        self.bar.say(f"{samples:,} samples: supports between {low:.3g} and {high:.3g} of ρ*")

    def checkpoint(self) -> None:
        """Everything that a later run needs, and the agent as it is."""
        counters = {
            "best_score": self.best_score if self.best else None,
            "best_at": self.best_at,
            "measured": self.measured,
            "best_measured": self.best_measured,
            "average": None if self.average is None else [self.average.reward, self.average.elapsed],
        }
        samples = self.algorithm.num_timesteps
        self.save(self.plan.folder / AGENT, network_of(self.algorithm.policy).exported(), samples, "last", self.measured)
        write_checkpoint(self.plan.folder / CHECKPOINT, self.algorithm, counters, self.best)
        self.board.flush()

    # agents

    def about(self, samples: int, kept: str, measured: dict[str, float]) -> dict[str, Any]:
        """What is said of a saved agent."""
        return describe(self.settings, self.plan.command, samples, kept, measured)

    def agent(self, weights: Weights) -> Any:
        """The policy that these weights are."""
        return SavedAgent(self.plan.folder.name, self.about(self.algorithm.num_timesteps, "last", {}), weights)

    def save(self, path: Path, weights: Weights, samples: int, kept: str, measured: dict[str, float]) -> None:
        """Write an agent to PATH.safetensors and PATH.json."""
        save_agent(path, self.about(samples, kept, measured), weights)
