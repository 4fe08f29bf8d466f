"""Train `agent:fig3b` again: one server of capacity 10, jobs of sizes 2 and 5 (figure 3(b) of arXiv 1901.05998).

    python agents/fig3b.py --out fig3b            # 1.5 million samples: a minute at 100,000 samples/s (not timed)
    python agents/fig3b.py --out fig3b --quick    # a first look

The agent chooses which configuration a server takes when it is empty; the rest is VQS. The actor first imitates VQS,
which takes the configuration of the largest weight; then MaskablePPO improves it on 512 clusters side by side. BF-J/S is
unstable on this workload, so VQS is the guard and the policy to compare with.
"""

from __future__ import annotations

from collections.abc import Sequence

import packenv
from agents.training_run import train_stages
from packenv.learning.settings import Settings

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


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, save, and show the agent's mean queue beside VQS's."""
    train_stages(main, arguments, (SETTINGS,), AGAINST, every=500_000, quick=65_536)


if __name__ == "__main__":
    main()
