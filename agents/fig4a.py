"""Train `agent:fig4a` again: five servers, sizes uniform on [0.01, 0.19] (figure 4(a) of arXiv 1901.05998).

    python agents/fig4a.py --out fig4a            # 19 million samples: five minutes at 100,000 samples/s (not timed)
    python agents/fig4a.py --out fig4a --quick    # a first look

The agent fills one server at a time. It is trained in three stages, each from the agent of the one before: first the
reward is the size that starts, which teaches it to keep servers full; then it is minus the queue, which is what counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import packenv
from agents.training_run import train_stages
from packenv.learning.settings import Settings

FIRST = Settings(
    packenv.workload("paper/fig4a"),
    arrivals={"intensity": (0.85, 0.97)},  # share of the area bound; each episode draws its own
    options={"passing": False},  # a server is filled as long as a task fits
    imitate="bf-s",
    samples=5_000_000,
    reward="size",  # of the tasks that start, discounted over 5,000 slots
    batch=8192,
    guard="bf-js",
    guard_limit=2000,  # tasks waiting
)
SECOND = replace(
    FIRST,
    arrivals={"intensity": (0.84, 0.97)},
    imitate=None,
    samples=6_000_000,
    reward="queue",  # minus the tasks waiting, summed over the slots
    reward_scale=0.01,
    timescale=1500,  # slots
    learning_rate=7e-4,
)
THIRD = replace(SECOND, arrivals={"intensity": (0.84, 0.96)}, samples=8_000_000)
AGAINST = "bf-js"  # the policy that the agent is compared with


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, save, and show the agent's mean queue beside BF-J/S's."""
    train_stages(main, arguments, (FIRST, SECOND, THIRD), AGAINST, every=1_000_000, quick=32_768)


if __name__ == "__main__":
    main()
