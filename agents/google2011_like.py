"""Train `agent:google2011-like` again: 145 servers, a random workload like three hours of a Google trace.

    python agents/google2011_like.py --out google            # 4 million samples: some minutes (not timed)
    python agents/google2011_like.py --out google --quick    # a first look

Tasks come in bursts of a thousand, so thousands wait. The agent fills one server at a time and starts from random
weights. Its reward is minus the change of the queue, so it learns to start many small tasks before a large one.
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
from packenv.workloads.laws import Joint


def one_resource() -> packenv.Workload:
    """`google2011-like` on 145 servers, with the larger of a task's two demands as its size."""
    workload = packenv.workload("google2011-like")
    assert isinstance(workload.sizes, Joint)
    demands, shares = workload.sizes.atoms()
    sizes = Joint(demands.max(axis=1, keepdims=True), shares.tolist())
    return workload.with_(sizes=sizes, servers=145, resources=None)


SETTINGS = Settings(
    one_resource(),
    arrivals={"intensity": (0.8, 1.05)},  # share of the area bound; each episode draws its own
    options={"passing": False},  # a server is filled as long as a task fits
    samples=4_000_000,
    envs=64,
    steps=256,  # of each cluster in an iteration
    horizon=250_000,  # slots of an episode
    reward="tasks",  # minus the change of the queue, without the arrivals
    reward_scale=0.003,
    timescale=20_000,  # slots
    gae_lambda=0.98,
    learning_rate=0.003,
    batch=2048,
    epochs=4,
    entropy=0.001,
    guard="vqs-bf",
    guard_limit=20_000,  # tasks waiting
)
AGAINST = "vqs-bf"  # the policy that the agent is compared with
UNSEEN = 2_000_000  # first seed of jobs that neither training nor the choice of the best agent has seen


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, save, and show the agent's mean queue beside VQS-BF's."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--out", required=True, help="The agent: OUT.safetensors and OUT.json.")
    parser.add_argument("--quick", action="store_true", help="A first look, in less than a minute once compiled.")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    torch.set_num_threads(2)
    settings = replace(SETTINGS, seed=given.seed)
    evaluation = {"slots": 50_000, "seeds": 2} if given.quick else {}
    if given.quick:
        settings = replace(settings, samples=16_384)
    train(settings, given.out, every=400_000, **evaluation)
    compare(settings, given.out, **evaluation)


def train(settings: Settings, out: str, every: int, slots: int = 250_000, seeds: int = 2) -> None:
    """Train an agent and save it as it was when it did best in evaluations `every` so many samples.

    An evaluation runs the agent and VQS-BF on the same jobs, for so many slots and seeds at three loads.
    """
    learner = Sb3Learner(settings)
    print(learner.initialise())  # None: it starts from random weights
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


def compare(settings: Settings, out: str, slots: int = 250_000, seeds: int = 2) -> None:
    """Print the saved agent's mean queue beside VQS-BF's, on jobs that it has never seen."""
    for each in Evaluation(settings, AGAINST, slots, seeds, first_seed=UNSEEN)(load_agent(out)):
        print(f"{each.label}: mean queue {each.agent:.2f}, {AGAINST} {each.other:.2f}, ratio {each.ratio:.3f}")


if __name__ == "__main__":
    main()
