"""Thirty-odd runs whose schedules were recorded once and must never change: every policy, agents, three environments.

`python -m tests.recorded.runs` writes `runs.json` anew: only for a change that is meant to alter schedules.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import packenv
from packenv.envs.registration import FORMER, id_of

RECORD = Path(__file__).with_name("runs.json")

# name: (policy, workload, rate or size of the workload, slots)
SIMULATED: dict[str, tuple[str, str, dict[str, Any], int | None]] = {
    "bf-j": ("bf-j", "paper/fig4b", {"intensity": 0.9}, 30_000),
    "bf-s": ("bf-s", "paper/fig4b", {"intensity": 0.9}, 30_000),
    "bf-js": ("bf-js", "paper/fig4b", {"intensity": 0.95}, 30_000),
    "bf-js stalling": ("bf-js:stall", "paper/fig4b", {"intensity": 0.85}, 30_000),
    "bf-js two resources": ("bf-js", "google2011-like", {"servers": "20x1:1", "intensity": 0.8}, 400_000),
    "bf-js unequal": ("bf-js", "paper/fig4b", {"servers": "3x1,2x0.9", "intensity": 0.9}, 30_000),
    "vqs": ("vqs", "paper/fig4b", {"intensity": 0.8}, 30_000),
    "vqs adaptive": ("vqs:adaptive", "paper/fig4a", {"intensity": 0.85}, 20_000),
    "vqs stalling": ("vqs:stall", "paper/fig3b", {}, 30_000),
    "vqs-bf": ("vqs-bf", "paper/fig4a", {"intensity": 0.9}, 20_000),
    "vqs-bf unequal": ("vqs-bf:J=5", "paper/fig4b", {"servers": "2x1,2x0.5", "intensity": 0.6}, 30_000),
    "fifo-ff": ("fifo-ff", "paper/fig3a", {"intensity": 0.7}, 50_000),
    "slot-fifo": ("slot-fifo", "paper/fig4a", {"intensity": 0.5}, 20_000),
    "maxweight": ("maxweight", "paper/fig3a", {"intensity": 0.8}, 50_000),
    "price": ("price", "price/fig8", {}, None),
    "priority": ("priority", "price/fig8", {}, None),
    "capacity": ("capacity", "price/fig5", {}, None),
    "fifo": ("fifo:blocking", "price/fig3", {}, None),
    "tetris": ("tetris", "analytics", {}, None),
    "drf": ("drf", "analytics", {}, None),
    "task-fair": ("task-fair:checked=2", "analytics", {}, None),
    "slot-fair": ("slot-fair", "analytics", {}, None),
    "delay": ("delay", "delay/racks", {}, None),
    "delay-dynamic": ("delay-dynamic", "delay/changing", {}, None),
    "fair": ("fair", "delay/racks", {}, None),
    "sparrow": ("sparrow", "eagle/yahoo", {"servers": "4000"}, 40_000),
    "hawk": ("hawk:cutoff=90.5811", "eagle/yahoo", {"servers": "4000"}, 40_000),
    "eagle": ("eagle:cutoff=90.5811", "eagle/yahoo", {"servers": "4000"}, 40_000),
    "lwl": ("lwl", "eagle/yahoo", {"servers": "4000"}, 40_000),
    "yaq": ("yaq", "eagle/yahoo", {"servers": "4000"}, 40_000),
    "agent:fig4b": ("agent:fig4b", "paper/fig4b", {"intensity": 0.95}, 20_000),
    "agent:fig4a": ("agent:fig4a", "paper/fig4a", {"intensity": 0.97}, 20_000),
}
ENVIRONMENTS = ("Placement", "ServerFill", "Configuration")
DECISIONS = 3_000


def digest(*arrays: Any) -> str:
    """A short hash of integer arrays."""
    joined = b"".join(np.ascontiguousarray(array, np.int64).tobytes() for array in arrays)
    return hashlib.sha256(joined).hexdigest()[:16]


def simulated(name: str) -> list[Any]:
    """Tasks started, and the hash of start slots and servers, of one run."""
    policy, named, options, slots = SIMULATED[name]
    workload = packenv.workload(named, **options)
    result = packenv.simulate(workload, policy, slots=slots, seed=3, schedule=True)
    assert result.schedule is not None
    return [result.started, digest(result.schedule.start, result.schedule.server)]


def stepped(kind: str) -> list[Any]:
    """Tasks placed, and the hash of the schedule, of an environment under random valid actions."""
    options = FORMER[kind] | {"workload": "paper/fig4b", "intensity": 0.9, "record_schedule": True}
    environment: Any = gymnasium.make(f"packenv:{id_of(kind)}", disable_env_checker=True, **options).unwrapped
    environment.reset(seed=5)
    chance = np.random.default_rng(7)
    for _ in range(DECISIONS):
        valid = np.flatnonzero(environment.action_masks())
        *_, terminated, truncated, _ = environment.step(int(chance.choice(valid)))
        if terminated or truncated:
            break
    start, server = environment.schedule()
    return [int((start >= 0).sum()), digest(start, server)]


if __name__ == "__main__":
    found = {name: simulated(name) for name in SIMULATED} | {f"{kind}-v0": stepped(kind) for kind in ENVIRONMENTS}
    RECORD.write_text(json.dumps(found, indent=1) + "\n")
