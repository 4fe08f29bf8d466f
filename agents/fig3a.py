"""Train `agent:fig3a` again: one server, jobs of sizes 0.4 and 0.6 (figure 3(a) of arXiv 1901.05998).

    python agents/fig3a.py --out fig3a            # 1.5 million samples: a minute at 100,000 samples/s (not timed)
    python agents/fig3a.py --out fig3a --quick    # a first look: about half a minute of processor time, once compiled

An environment is a cluster in which the agent fills one server at a time: it chooses the virtual queue whose largest task
starts next. The actor first imitates BF-S; then MaskablePPO improves it on 512 clusters side by side.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace

import torch

import packenv
from packenv.learning.agents.agent import SavedAgent
from packenv.learning.agents.metadata import agent_metadata
from packenv.learning.agents.saved import load_agent, save_agent
from packenv.learning.reinforcement.sb3_learner import Sb3Learner
from packenv.learning.settings import Settings
from packenv.learning.training.evaluation import Evaluation, overall

SETTINGS = Settings(
    packenv.workload("paper/fig3a"),
    arrivals={"rate": (0.012, 0.019)},  # tasks per slot; each episode draws its own
    options={"passing": False},  # a server is filled as long as a task fits
    imitate="bf-s",
    samples=1_500_000,
    reward="size",  # of the tasks that start, discounted over 5,000 slots
    guard="bf-js",  # schedules while more than 500 tasks wait, in training and in use
)
AGAINST = "bf-js"  # the policy that the agent is compared with
UNSEEN = 2_000_000  # first seed of jobs that neither training nor the choice of the best agent has seen


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, save, and show the agent's mean queue beside BF-J/S's."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--out", required=True, help="The agent: OUT.safetensors and OUT.json.")
    parser.add_argument("--quick", action="store_true", help="A first look, in less than a minute once compiled.")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    torch.set_num_threads(2)
    settings = replace(SETTINGS, seed=given.seed)
    evaluation = {"slots": 50_000, "seeds": 2} if given.quick else {}
    if given.quick:
        settings = replace(settings, samples=65_536, imitation_steps=100)
    train(settings, given.out, every=500_000, **evaluation)
    compare(settings, given.out, **evaluation)


def train(settings: Settings, out: str, every: int, slots: int = 200_000, seeds: int = 4) -> None:
    """Train an agent and save it as it was when it did best in evaluations `every` so many samples.

    An evaluation runs the agent and BF-J/S on the same jobs, for so many slots and seeds at three loads.
    """
    learner = Sb3Learner(settings)
    print(learner.initialise())  # how well the actor imitates BF-S
    evaluation = Evaluation(settings, AGAINST, slots, seeds)
    best, due = float("inf"), every

    def evaluate() -> None:
        nonlocal best
        about = agent_metadata(settings, shlex.join(["python", *sys.argv]), learner.samples, "best", {})
        agent = SavedAgent(out, about, learner.network.exported())
        score = overall(evaluation(agent))  # geometric mean of the ratios of mean queues
        print(f"{learner.samples:,} samples: mean queue {score:.3f} times that of {AGAINST}", flush=True)
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


def compare(settings: Settings, out: str, slots: int = 200_000, seeds: int = 4) -> None:
    """Print the saved agent's mean queue beside BF-J/S's, on jobs that it has never seen."""
    for each in Evaluation(settings, AGAINST, slots, seeds, first_seed=UNSEEN)(load_agent(out)):
        print(f"{each.label}: mean queue {each.agent:.2f}, {AGAINST} {each.other:.2f}, ratio {each.ratio:.3f}")


if __name__ == "__main__":
    main()
