"""Functions shared by the scripts of this folder: play a policy as an agent of a Gymnasium environment, and print tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np

import packenv
from packenv.envs import PolicyAgent
from packenv.envs.registration import FORMER

Rows = Sequence[Sequence[Any]]
Agents = Sequence[tuple[str, str, dict[str, Any]]]
"""Policies, each with an environment that it plays and the environment's options."""


def play(
    environment: str, workload: packenv.Workload, policy: str, slots: int | None, seed: int, **options: Any
) -> tuple[Any, Any]:
    """One episode of `packenv/<environment>-v1` in which the policy chooses every action through `predict`.

    `slots` is the horizon; None plays a table of jobs to its end. Returns the start slot and the server of every task
    (row) of the jobs, both -1 for tasks that did not start.
    """
    plain = {**FORMER.get(environment, {}), **options}  # all actions, and what is seen as it is
    name = f"packenv/{environment}-v1"
    env = gymnasium.make(name, workload=workload, horizon=slots, record_schedule=True, **plain)
    agent = PolicyAgent(policy, env)
    observation, _ = env.reset(seed=seed)
    over = False
    while not over:
        action, _ = agent.predict(observation)
        observation, _, terminated, truncated, _ = env.step(action)
        over = terminated or truncated
    inner: Any = env.unwrapped
    start, server = inner.schedule()
    return start, server


def play_again(title: str, workload: packenv.Workload, agents: Agents, slots: int | None, seed: int) -> list[bool]:
    """Run each policy in the simulator and as an agent, on the same jobs; print and return whether the schedules are equal.

    `slots` None: to the end of a table of jobs.
    """
    equal = []
    for policy, environment, options in agents:
        run = packenv.simulate(workload, policy, slots=slots, seed=seed, drain=slots is None or None, schedule=True)
        equal.append(same_schedule(run, play(environment, workload, policy, slots, seed, **options)))
    rows = [[policy, name, "yes" if same else "no"] for (policy, name, _), same in zip(agents, equal, strict=True)]
    print_table(title, ["policy", "environment", "same schedule"], rows)
    return equal


def same_schedule(run: packenv.Result, played: tuple[Any, Any]) -> bool:
    """Whether `simulate` (with schedule=True) and the agent started the same tasks in the same slots on the same servers."""
    assert run.schedule is not None
    rows = len(run.schedule.start)
    start, server = played
    return bool(
        np.array_equal(start[:rows], run.schedule.start)
        and np.array_equal(server[:rows], run.schedule.server)
        and (start[rows:] < 0).all()
    )


def print_table(title: str, columns: Sequence[str], rows: Rows) -> None:
    """Print a title and aligned rows under their column names. Numbers are rounded as in `shown`."""
    cells = [list(columns), *([shown(value) for value in row] for row in rows)]
    widths = [max(len(line[n]) for line in cells) for n in range(len(columns))]
    print(f"\n{title}")
    for line in cells:
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def shown(value: Any) -> str:
    """A value as text: floats rounded as `1234`, `12.3` or `0.123` by magnitude, None as a dash."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"
    return str(value)
