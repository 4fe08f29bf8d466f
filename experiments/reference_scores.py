"""Reference scores of the environments: mean queues of random and first valid actions, of policies and of a shipped agent.

Every row plays the same jobs, those of the comparison in examples/clean_ppo.py: figure 4(b)'s workload at intensity 0.9, eight
seeds of 200,000 slots from an empty cluster. Prints a table and draws nothing. With --quick: two seeds of 20,000 slots.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

import packenv
from experiments.script_options import options_of
from packenv.envs.registration import id_of
from packenv.runs.statistics import interval, ratio_of_means

WORKLOAD, INTENSITY = "paper/fig4b", 0.9
SLOTS, QUICK_SLOTS = 200_000, 20_000
SEEDS, QUICK_SEEDS = range(1_000_000, 1_000_008), range(1_000_000, 1_000_002)  # no training run meets them
POLICIES = ("bf-js", "bf-s", "vqs-bf", "agent:fig4b")
ENVIRONMENTS = ("ServerFill", "Placement", "Configuration")

Choose = Callable[[Any, NDArray[np.int8]], NDArray[np.int64]]
"""The action of each row, from what is observed and the masks."""


def rules() -> dict[str, Choose]:
    """A valid action by chance, and the first valid one."""
    rng = np.random.default_rng(0)
    return {
        "random valid": lambda seen, masks: (masks * (1 - rng.random(masks.shape))).argmax(axis=1),
        "first valid": lambda seen, masks: masks.argmax(axis=1),
    }


def mean_queues(name: str, choose: Choose, slots: int, seeds: Sequence[int]) -> list[float]:
    """The mean queue of an episode of so many slots for each seed."""
    options: dict[str, Any] = {"workload": WORKLOAD, "intensity": INTENSITY, "horizon": slots, "waiting_limit": 1_000_000}
    options |= {"segment": None, "yardstick": False}
    envs: Any = gym.make_vec(id_of(name), num_envs=len(seeds), vectorization_mode="vector_entry_point", **options)
    found: NDArray[np.float64] = np.full(len(seeds), np.nan)
    seen, info = envs.reset(seed=list(seeds))
    while np.isnan(found).any():
        seen, _, _, truncated, info = envs.step(choose(seen, info["action_mask"]))
        found = np.where(truncated & np.isnan(found), info["mean_queue"], found)
    return [float(queue) for queue in found]


def of_policy(policy: str, slots: int, seeds: Sequence[int]) -> list[float]:
    """The same of a policy."""
    workload = packenv.workload(WORKLOAD, intensity=INTENSITY)
    runs = packenv.simulate_many(workload, [policy], seeds, slots, warmup=0)[policy]
    return [float(run.mean_queue or 0.0) for run in runs]


def main(arguments: Sequence[str] | None = None) -> None:
    quick = options_of(__doc__, arguments).quick
    slots, seeds = (QUICK_SLOTS, QUICK_SEEDS) if quick else (SLOTS, SEEDS)
    best_fit = of_policy("bf-js", slots, seeds)
    print("| | mean queue | ratio to BF-J/S |\n|---|--:|--:|")

    def show(label: str, queues: list[float]) -> None:
        print(f"| {label} | {interval(queues)} | {ratio_of_means(queues, best_fit)} |", flush=True)

    for policy in POLICIES:
        show(f"`{policy}`", of_policy(policy, slots, seeds))
    for name in ENVIRONMENTS:
        for label, choose in rules().items():
            show(f"`{id_of(name).removeprefix('packenv/')}`, {label}", mean_queues(name, choose, slots, seeds))


if __name__ == "__main__":
    main()
