"""Train `agent:fig3b` again: one server of capacity 10, jobs of sizes 2 and 5 (figure 3(b) of arXiv 1901.05998).

    python agents/fig3b.py --out fig3b            # 1.5 million samples: a minute at 100,000 samples/s (not timed)
    python agents/fig3b.py --out fig3b --quick    # a first look

The agent chooses which configuration a server takes when it is empty; the rest is VQS. The actor first imitates VQS,
which takes the configuration of the largest weight; then MaskablePPO improves it on 512 clusters side by side. BF-J/S is
unstable on this workload, so VQS is the guard and the policy to compare with.
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
    packenv.workload("paper/fig3b"),
    environment="Configuration",
    options={"rule": "vqs"},
    imitate="vqs",
    samples=1_500_000,
    reward="queue",  # minus the tasks waiting, summed over the slots
    reward_scale=0.001,
    timescale=3000,  # slots
    horizon=50_000,  # slots of an episode
    guard="vqs",
    guard_limit=300,
)
AGAINST = "vqs"  # the policy that the agent is compared with
UNSEEN = 2_000_000  # first seed of jobs that neither training nor the choice of the best agent has seen


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, save, and show the agent's mean queue beside VQS's."""
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

    An evaluation runs the agent and VQS on the same jobs, for so many slots and seeds at three loads.
    """
    learner = Sb3Learner(settings)
    print(learner.initialise())  # how well the actor imitates VQS
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
    """Print the saved agent's mean queue beside VQS's, on jobs that it has never seen."""
    for each in Evaluation(settings, AGAINST, slots, seeds, first_seed=UNSEEN)(load_agent(out)):
        print(f"{each.label}: mean queue {each.agent:.2f}, {AGAINST} {each.other:.2f}, ratio {each.ratio:.3f}")


if __name__ == "__main__":
    main()
