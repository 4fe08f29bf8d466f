"""Every number that JobFill shows, on random instances, against a plain reckoning from the table and the schedule so far."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import packenv
from packenv.envs.job_fill import features
from packenv.envs.job_fill.features import CLUSTER_FEATURES, GROUP_FEATURES
from tests.envs.conftest import Player
from tests.envs.job_fill.plain import Plain
from tests.envs.playing import plain_env
from tests.reference.instances import random_instance, to_jobs, to_network

WINDOW = 4


def environment(seed: int, resources: int, placed: bool | None, **options: Any) -> Any:
    of = {"resources": resources, "tasks": 20, "initial": False, "jobs": True, "drain": True, "placed": placed}
    if placed:
        of |= {"kind": "equal", "servers": "equal"}  # so that many tasks are alike but for their data
    instance = random_instance(random.Random(seed), **of)
    workload = packenv.Workload(
        jobs=to_jobs(instance),
        servers=np.array(instance.capacities) / packenv.units.UNIT,
        network=to_network(instance),
    )
    return plain_env("JobFill", **({"workload": workload, "window": WINDOW, "record_schedule": True} | options))


@pytest.mark.parametrize(
    ("seed", "placed", "ask"),
    [*((seed, None, "changed") for seed in range(3)), *((seed, True, "changed") for seed in range(3)), (1, True, "always")],
)
def test_against_a_plain_reckoning(seed: int, placed: bool | None, ask: str) -> None:
    """`placed`: tasks of equal demand and expected service have data of their own, some in the same rack."""
    resources = 1 + seed % 3
    env, player = environment(seed, resources, placed, passing=seed % 2 == 0, ask=ask), Player(seed)
    seen, info = env.reset(seed=0)
    core = env.unwrapped.core
    jobs, decisions, done = core.workload.jobs, 0, False
    racks = core.parts[0].c.source.locality.rack if jobs.home is not None else None
    while not done:
        c = core.parts[0].c
        rows = len(jobs)
        record = (c.measures.start[0, :rows], c.measures.end[0, :rows], c.measures.server[0, :rows])
        plain = Plain(core.workload, info["slot"], *(each.copy() for each in record), racks=racks, by_data=ask == "always")
        server = int(core.parts[0].turn["server"][0])
        passing = seed % 2 == 0 and (ask == "always" or any(map(plain.runs, plain.rows)))
        np.testing.assert_allclose(seen["actions"], plain.actions(server, WINDOW, passing), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(seen["context"], plain.context(server, WINDOW), rtol=1e-5, atol=1e-5)
        groups = plain.offered(server)
        valid = [int(n < len(groups)) for n in range(WINDOW)]
        assert info["action_mask"].tolist() == [*valid, int(passing)]
        fitting = [earlier for earlier in range(server) if plain.offered(earlier)]
        assert all(passed(core, earlier) for earlier in fitting)
        assert not fitting or any(map(plain.runs, plain.rows)) or ask == "always"
        decisions += 1
        action = player(info)
        seen, _, terminated, truncated, info = env.step(action)
        if action < WINDOW:
            row = plain.nearest(groups[action], server)
            assert c.measures.start[0, row] == plain.slot
            assert c.measures.server[0, row] == server
        done = terminated or truncated
    started = core.parts[0].c.measures.start[0, : len(jobs)] >= 0
    assert decisions >= started.sum() and started.all()


def passed(core: Any, server: int) -> bool:
    return bool(core.parts[0].c.server["closed"][0, server])


@pytest.mark.parametrize("table", [GROUP_FEATURES, CLUSTER_FEATURES])
def test_positions_are_those_of_the_tables(table: Any) -> None:
    """`TASKS` and `PER_SERVER` are the two `waiting`, so that positions of both tables can have names of their own."""
    renamed = {"waiting": "tasks" if table is GROUP_FEATURES else "per_server"}
    for n, feature in enumerate(table):
        assert getattr(features, renamed.get(feature.name, feature.name).upper()) == n
