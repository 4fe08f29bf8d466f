"""Environments by kind and options: what the registry-wide checks run over."""

from __future__ import annotations

from typing import Any

import pytest

import packenv
from packenv.envs.options import Warm
from packenv.workloads.laws import Geometric, Uniform
from packenv.workloads.named.analytics import analytics

KINDS = ("Placement", "ServerFill", "Configuration")
PAIR = packenv.Workload(
    sizes=(Uniform(0.1, 0.6), Uniform(0.05, 0.5)), service=Geometric(20), servers="2x1:1,1x0.5:1", intensity=0.8
)
UNEQUAL: dict[str, Any] = {"servers": "1x1,2x0.5,1x0.9", "intensity": 0.7, "workload": "paper/fig4a"}
TABLE = packenv.Workload(jobs=packenv.workload("paper/fig4b").jobs_table(5, 40), servers=3)
JOBS = analytics(jobs=10, servers=4)  # of many tasks, in phases, with four resources

OFFERED: dict[str, Any] = {"choices": (2, 3), "passing": False, "observation": "flat", "reward": "work"}
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "Placement": [
        {},
        {"rule": "head"},
        {"rule": "window", "window": 4},
        {"rule": "window", "window": 3, "workload": PAIR},
        OFFERED,
    ],
    "ServerFill": [{}, {"order": "index"}, {"servers": 40}, {"choices": 3}],
    "Configuration": [{}, {"rule": "vqs"}, {"configurations": "maximal"}, {"configurations": "maximal", "rule": "vqs"}],
}
SHARED: list[dict[str, Any]] = [
    {"observation": "compact"},
    {"observation": "normalized", "invalid": "nearest", "reward": "tasks"},
    {"observation": "normalized", "workload": PAIR, "reward": "work"},
    {"mask_in_observation": True, "reward": "size", "invalid_penalty": 2.0},
    {"workload": PAIR, "reward": "delay"},
    UNEQUAL,
    {"workload": TABLE, "horizon": None},
    {"workload": JOBS, "horizon": None, "reward": "delay"},
    {"intensity": (0.3, 0.9), "start": Warm("bf-j", 200)},
    {"start": [(0.5, 0, 30), (0.25, 1, 7)], "reward": "advantage", "baseline": "bf-j"},
]
OF_JOBS: list[dict[str, Any]] = [
    {"workload": JOBS},
    {"workload": JOBS, "observation": "normalized", "invalid": "nearest", "window": 5, "reward": "makespan"},
    {"workload": JOBS, "passing": False, "ask": "always", "mask_in_observation": True, "horizon": 500},
    {"workload": TABLE, "reward": "value", "invalid_penalty": 2.0},
]
OF_ONE_MACHINE: list[dict[str, Any]] = [
    {"workload": TABLE.with_(servers=1), "jobs": None, "reward": "wait", "mask_in_observation": True, "observation": "actions"},
    {"workload": TABLE.with_(servers=1), "jobs": 30, "backfill": True, "invalid": "nearest", "window": 5},
]
GRID = [(kind, options) for kind in KINDS for options in OPTIONS[kind] + SHARED]
GRID += [("JobFill", each) for each in OF_JOBS] + [("NextJob", each) for each in OF_ONE_MACHINE]


def in_ci(kind: str, options: dict[str, Any]) -> bool:
    """Each shared combination of options with two of the three kinds; the third is for `make test-minutes`."""
    return kind not in KINDS or options not in SHARED or SHARED.index(options) % 3 != KINDS.index(kind)


CASES = [case if in_ci(*case) else pytest.param(case, marks=pytest.mark.minutes) for case in GRID]


def name_of(case: tuple[str, dict[str, Any]]) -> str:
    kind, options = case
    return f"{kind}-{GRID.index(case)}-{'-'.join(options)}"
