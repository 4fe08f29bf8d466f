"""Train `agent:fig3a` again: one server, jobs of sizes 0.4 and 0.6 (figure 3(a) of arXiv 1901.05998).

    python agents/fig3a.py --out fig3a            # 1.5 million samples: a minute at 100,000 samples/s (not timed)
    python agents/fig3a.py --out fig3a --quick    # a first look: about half a minute of processor time, once compiled

An environment is a cluster in which the agent fills one server at a time: it chooses the virtual queue whose largest task
starts next. The actor first imitates BF-S; then MaskablePPO improves it on 512 clusters side by side.
"""

from __future__ import annotations

from collections.abc import Sequence

import packenv
from agents.training_run import train_stages
from packenv.learning.settings import Settings

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


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, save, and show the agent's mean queue beside BF-J/S's."""
    train_stages(main, arguments, (SETTINGS,), AGAINST, every=500_000, quick=65_536)


if __name__ == "__main__":
    main()
