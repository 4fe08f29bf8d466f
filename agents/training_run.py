"""What the training scripts of this folder share: their options, the training with its evaluations, and the comparison."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from typing import Any

from packenv.learning.agents.agent import SavedAgent
from packenv.learning.agents.metadata import agent_metadata
from packenv.learning.agents.saved import load_agent, save_agent
from packenv.learning.reinforcement.sb3_learner import Sb3Learner
from packenv.learning.settings import Settings
from packenv.learning.training.evaluation import Evaluation, overall

UNSEEN = 2_000_000  # first seed of jobs that neither training nor the choice of the best agent has seen


def options_of(description: str | None, arguments: Sequence[str] | None, **more: Any) -> argparse.Namespace:
    """`--out`, `--quick` and `--seed`, and integers `more` by name with their defaults."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", required=True, help="The agent: OUT.safetensors and OUT.json.")
    parser.add_argument("--quick", action="store_true", help="A first look.")
    parser.add_argument("--seed", type=int, default=0)
    for name, default in more.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser.parse_args(arguments)


def train(settings: Settings, out: str, against: str, every: int, slots: int = 200_000, seeds: int = 4) -> None:
    """Train an agent with Stable-Baselines3 and save it as it was when it did best in evaluations `every` so many samples.

    An evaluation runs the agent and `against` on the same jobs, for so many slots and seeds at three loads.
    """
    learner = Sb3Learner(settings)
    print(learner.initialise())  # how well the actor imitates `settings.imitate`; None where it imitates nobody
    evaluation = Evaluation(settings, against, slots, seeds)
    best, due = float("inf"), every

    def evaluate() -> None:
        nonlocal best
        about = agent_metadata(settings, command(), learner.samples, "best", {})
        agent = SavedAgent(out, about, learner.network.exported())
        score = overall(evaluation(agent))  # geometric mean of the ratios of mean queues
        print(f"{learner.samples:,} samples: mean queue {score:.3f} times that of {against}", flush=True)
        if score < best:
            best = score
            save_agent(out, agent.about, agent.weights)

    def between_iterations() -> None:
        nonlocal due
        if learner.samples >= due:
            evaluate()
            due += every

    learner.learn(settings.samples, between_iterations)
    evaluate()


def compare(settings: Settings, out: str, against: str, slots: int = 200_000, seeds: int = 4) -> None:
    """Print the saved agent's mean queue beside that of `against`, on jobs that it has never seen."""
    for each in Evaluation(settings, against, slots, seeds, first_seed=UNSEEN)(load_agent(out)):
        print(f"{each.label}: mean queue {each.agent:.2f}, {against} {each.other:.2f}, ratio {each.ratio:.3f}")


def command() -> str:
    """The command line of this run, for the agent's description."""
    return shlex.join(["python", *sys.argv])
