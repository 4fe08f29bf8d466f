"""Train `agent:google2011-like` again: 145 servers, a random workload like three hours of a Google trace.

    python agents/google2011_like.py --out google            # 4 million samples: some minutes (not timed)
    python agents/google2011_like.py --out google --quick    # a first look

Tasks come in bursts of a thousand, so thousands wait. The agent fills one server at a time and starts from random
weights. Its reward is minus the change of the queue, so it learns to start many small tasks before a large one.
"""

from __future__ import annotations

from collections.abc import Sequence

import packenv
from agents.training_run import train_stages
from packenv.learning.settings import Settings
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, save, and show the agent's mean queue beside VQS-BF's."""
    train_stages(main, arguments, (SETTINGS,), AGAINST, every=400_000, quick=16_384, slots=250_000, seeds=2)


if __name__ == "__main__":
    main()
