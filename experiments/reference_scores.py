"""The ladder: five settings, from what is learnt in a minute to what is open, and what agents are compared with on each.

    python experiments/reference_scores.py                 # docs/reference/reference_scores.md has the table
    python experiments/reference_scores.py --rungs 1 2     # some of the settings

For each setting the mean queue (of jobs: the mean completion time) of random and of first valid actions, of policies and shipped
agents, the optimum or a proved bound, and what MaskablePPO learns in so many steps, with the discount of plain_learners.py, all
on the jobs of the same seeds, which no training run meets. With --quick: short runs of two seeds, a few training steps.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import packenv
from experiments.plain_learners import (
    QUICK_SEEDS,
    QUICK_SLOTS,
    QUICK_STEPS,
    SEEDS,
    SLOTS,
    Setting,
    discount_of,
    train,
)
from packenv.envs.registration import id_of
from packenv.files import write_json
from packenv.runs.agent_score import SEEDS as FIRST
from packenv.runs.statistics import interval, ratio_of_means
from packenv.theory.completion.bound import completion_bound
from packenv.theory.queue_bound.queue_bound import bound_or_zero


def optimum(setting: Setting, seeds: Sequence[int]) -> tuple[str, float]:
    """The mean queue that no policy without knowledge of the future comes below: exact, for a small workload."""
    return "optimum", float(packenv.stationary_optimum(packenv.workload(setting["workload"])).lower)


def queue_bound(setting: Setting, seeds: Sequence[int]) -> tuple[str, float]:
    """What is proved of the mean queue of all policies that do not know durations."""
    return "proved bound", bound_or_zero(packenv.workload(setting["workload"], intensity=setting["intensity"]))


def jobs_bound(setting: Setting, seeds: Sequence[int]) -> tuple[str, float]:
    """The mean over the tables of what is proved of the mean completion time."""
    workload = packenv.workload(setting["workload"])
    return "proved bound", float(np.mean([completion_bound(workload.at(seed)).mean for seed in seeds]))


@dataclass(frozen=True)
class Rung:
    """A setting of the ladder; ratios are to the first of `policies`."""

    title: str
    environment: str
    setting: Setting
    policies: tuple[str, ...]
    steps: int  # of MaskablePPO
    bound: Callable[[Setting, Sequence[int]], tuple[str, float]]
    trained: Sequence[int] = field(default=(1, 2, 3))  # seeds of training


FIG4B: Setting = {"workload": "paper/fig4b", "intensity": 0.9}
ANALYTICS: Setting = {"workload": "analytics"}
LADDER = (
    Rung("one server, two sizes", "ServerFill", {"workload": "small/fig3a"}, ("bf-s", "vqs-bf"), 8_192, optimum, range(1, 6)),
    Rung("best fit is not best", "ServerFill", {"workload": "small/worst-vqs"}, ("bf-js", "bf-j", "vqs-bf"), 50_000, optimum),
    Rung("the paper's cluster", "ServerFill", FIG4B, ("bf-js", "bf-s", "vqs-bf", "agent:fig4b"), 150_000, queue_bound),
    Rung("jobs in phases", "JobFill", ANALYTICS, ("tetris:f=0,m=2", "srpt", "agent:analytics"), 150_000, jobs_bound),
    Rung("DAGs of tasks", "JobFill", {"workload": "dag"}, ("tetris", "srpt", "graphene", "agent:dag"), 150_000, jobs_bound),
)


def climb(number: int, rung: Rung, quick: bool) -> dict[str, list[float]]:
    """Print the table of a rung; returns the scores of each row by seed."""
    slots, count = (QUICK_SLOTS, QUICK_SEEDS) if quick else (SLOTS, SEEDS)
    setting, name, first = rung.setting, id_of(rung.environment), rung.policies[0]
    found: dict[str, list[float]] = {}

    def show(label: str, values: Sequence[float]) -> None:
        found[label] = [*values]
        print(f"| {label} | {interval(values)} | {ratio_of_means(values, found[f'`{first}`'])} |", flush=True)

    def play(agent: Any, policy: str | None = None) -> packenv.AgentScore:
        return packenv.evaluate_agent(agent, name, slots=slots, seeds=count, against=policy, **setting)

    def first_valid(seen: Any, masks: NDArray[np.int8]) -> NDArray[np.int64]:
        return masks.argmax(axis=1)

    rng = np.random.default_rng(0)
    score = play(first_valid, first)
    told = ", ".join(f"{key}={value!r}" for key, value in setting.items())
    print(f"\n## {number}. {rung.title[0].upper()}{rung.title[1:]}\n\n`{name}`, {told}\n")
    print(f"| | {score.measure} | ratio to `{first}` |\n|---|--:|--:|", flush=True)
    show(f"`{first}`", score.against)
    for policy in rung.policies[1:]:
        show(f"`{policy}`", play(first_valid, policy).against)
    label, value = rung.bound(setting, FIRST[:count])
    print(f"| {label} | {value:.4g} | {value / float(np.mean(score.against)):.3f} |")
    show("random valid actions", play(lambda seen, masks: (masks * (1 - rng.random(masks.shape))).argmax(axis=1)).scores)
    show("first valid actions", score.scores)
    for seed in rung.trained[:1] if quick else rung.trained:
        began = time.perf_counter()
        steps = QUICK_STEPS if quick else rung.steps
        model = train("maskable-ppo", steps, seed, rung.environment, setting, discount_of(rung.environment))
        seconds = time.perf_counter() - began
        show(f"MaskablePPO, {model.num_timesteps:,} steps ({seconds:.0f} s), seed {seed}", play(model).scores)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rungs", type=int, nargs="+", default=[*range(1, len(LADDER) + 1)], help="which of the settings")
    parser.add_argument("--json", type=Path, help="a file for the scores of every seed")
    parser.add_argument("--quick", action="store_true", help="short runs")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    record = {str(number): climb(number, LADDER[number - 1], options.quick) for number in options.rungs}
    if options.json is not None:
        write_json(options.json, record)


if __name__ == "__main__":
    main()
