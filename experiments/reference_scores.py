"""Reference scores of the environments: mean queues of random and first valid actions, of policies and of a shipped agent.

Every row plays the same jobs: figure 4(b)'s workload at intensity 0.9, four seeds of 100,000 slots from an empty cluster.
Prints a table, and writes reference_scores.json to --out (default: experiments/pictures). With --quick: 20,000 slots of two
seeds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from figure_script import options_of
from numpy.typing import NDArray

import packenv
from packenv.files import atomic_path
from packenv.runs.statistics import interval, ratio_of_means

WORKLOAD, INTENSITY = "paper/fig4b", 0.9
FIRST_SEED = 1_000_000
POLICIES = ("bf-js", "bf-s", "vqs-bf", "agent:fig4b")
KINDS = ("ServerFill", "Placement", "Configuration")

Masks = NDArray[np.int8]
Choose = Callable[[Masks, np.random.Generator], NDArray[np.int64]]


def any_action(masks: Masks, rng: np.random.Generator) -> NDArray[np.int64]:
    return rng.integers(masks.shape[1], size=len(masks))


def random_valid(masks: Masks, rng: np.random.Generator) -> NDArray[np.int64]:
    return (masks * (1 - rng.random(masks.shape))).argmax(axis=1)


def first_valid(masks: Masks, rng: np.random.Generator) -> NDArray[np.int64]:
    return masks.argmax(axis=1)


RULES: dict[str, Choose] = {"random valid": random_valid, "first valid": first_valid}


def mean_queues(name: str, choose: Choose, slots: int, seeds: Sequence[int]) -> list[float]:
    """Of each seed, in an environment."""
    options: dict[str, Any] = {"workload": WORKLOAD, "intensity": INTENSITY, "horizon": slots, "waiting_limit": 1_000_000}
    envs: Any = gym.make_vec(f"packenv/{name}-v0", num_envs=len(seeds), vectorization_mode="vector_entry_point", **options)
    rng, found = np.random.default_rng(0), np.full(len(seeds), np.nan)
    _, info = envs.reset(seed=list(seeds))
    while np.isnan(found).any():
        _, _, _, truncated, info = envs.step(choose(info["action_mask"], rng))
        found = np.where(truncated & np.isnan(found), info["mean_queue"], found)
    return [float(queue) for queue in found]


def main(arguments: Sequence[str] | None = None) -> None:
    options = options_of(__doc__, arguments)
    slots, seeds = (20_000, 2) if options.quick else (100_000, 4)
    chosen = range(FIRST_SEED, FIRST_SEED + seeds)
    workload = packenv.workload(WORKLOAD, intensity=INTENSITY)
    found = {
        policy: [packenv.simulate(workload, policy, slots=slots, seed=seed, warmup=0).mean_queue for seed in chosen]
        for policy in POLICIES
    }
    for kind in KINDS:
        found |= {f"{kind}, {rule}": mean_queues(kind, choose, slots, chosen) for rule, choose in RULES.items()}
        found[f"{kind}Normalized, any action"] = mean_queues(f"{kind}Normalized", any_action, slots, chosen)
    print("| | mean queue | ratio to BF-J/S |\n|---|--:|--:|")
    for label, queues in found.items():
        print(f"| {label} | {interval(queues)} | {ratio_of_means(queues, found['bf-js'])} |", flush=True)
    with atomic_path(options.folder / "reference_scores.json") as path:
        path.write_text(json.dumps({"workload": WORKLOAD, "intensity": INTENSITY, "slots": slots, "mean_queue": found}, indent=1))


if __name__ == "__main__":
    main()
