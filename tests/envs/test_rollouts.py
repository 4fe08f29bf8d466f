"""Random valid actions on random instances: the simulator's invariants, and every mask against a count from scratch."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from packenv import UNIT, Workload
from packenv.cluster.queue.by_type import types_of
from packenv.cluster.servers import server_kinds
from packenv.cluster.state import NO_SIZE, NONE, TASK
from packenv.envs.core.state import REASONS
from packenv.envs.placement import HEAD, WINDOW
from packenv.policy import BY_SIZE
from tests.cluster.replay import eligible_slots, violations
from tests.envs.playing import plain_env
from tests.reference.instances import SERVERS, SIZES, Instance, random_instance, to_jobs, to_network
from tests.reference.model import Scale

instances = st.builds(
    lambda seed, resources, servers, kind, jobs: random_instance(
        random.Random(seed),
        resources=resources,
        servers=servers,
        kind=kind,
        tasks=seed % 20 + 1,
        drain=True,
        initial=False,
        jobs=jobs,
    ),
    st.integers(0, 2**32),
    st.integers(1, 3),
    st.sampled_from(SERVERS),
    st.sampled_from(SIZES),
    st.booleans(),
)
FORMS: list[tuple[str, dict[str, Any]]] = [
    ("Placement", {}),
    ("Placement", {"rule": "head", "observation": "compact"}),
    ("Placement", {"rule": "window", "window": 3}),
    ("ServerFill", {}),
    ("ServerFill", {"order": "index", "observation": "compact"}),
    ("Configuration", {}),
    ("Configuration", {"rule": "vqs"}),
]


@pytest.mark.parametrize("kind, options", FORMS, ids=[f"{kind}-{n}" for n, (kind, _) in enumerate(FORMS)])
@given(instance=instances, seed=st.integers(0, 2**16))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_play(kind: str, options: dict[str, Any], instance: Instance, seed: int) -> None:
    workload = Workload(jobs=to_jobs(instance), servers=np.array(instance.capacities) / UNIT, network=to_network(instance))
    arguments = {"horizon": None, "record_schedule": True, "waiting_limit": 100_000} | options
    env: Any = plain_env(kind, workload=workload, **arguments).unwrapped
    _, info = env.reset(seed=0)
    rng = np.random.default_rng(seed)
    done, steps, area, elapsed = False, 0, 0.0, info["slot"]
    while not done:
        check(env, instance, info)
        valid = np.flatnonzero(info["action_mask"])
        first = valid[0] if steps > 400 else rng.choice(valid)  # in the end, do not wait for ever
        seen, reward, terminated, truncated, info = env.step(first)
        assert seen in env.observation_space
        assert not info["invalid"]
        area, elapsed, steps = area - reward, elapsed + info["elapsed"], steps + 1
        assert info["slot"] == elapsed
        done = terminated or truncated
        assert steps < 5000
    start, server = env.schedule()
    if truncated:
        assert REASONS[info["reason"]] == "nothing left to happen"  # the agent let tasks wait, and nobody else will wake it
        return
    assert violations(instance, start.tolist(), server.tolist(), int(info["slot"]) + 1) == []
    eligible = eligible_slots(instance, start.tolist(), server.tolist())
    assert area == sum(int(start[row]) - slot for row, slot in enumerate(eligible) if slot is not None)  # Little's law, exactly


def check(env: Any, instance: Instance, info: dict[str, Any]) -> None:
    """Books and mask against the tasks in the pool, counted anew."""
    core = env.core
    c, sizes = core.batch.c, core.sizes
    task, head = c.task[0], c.head[0]
    here = np.flatnonzero(task["kind"] == TASK)
    waiting, served = here[task["server"][here] == NONE], here[task["server"][here] != NONE]
    assert head["waiting"] == len(waiting)
    assert head["arrived"] == len(waiting) + len(served) + head["completed"] + head["held_back"]
    capacity = np.array(instance.capacities)
    scale = Scale(tuple(int(most) for most in capacity.max(axis=0)))
    scalar = np.array([scale.capacity(own) for own in instance.capacities])
    tasks = {n.row: n.demand for n in instance.tasks}
    demand = {int(i): np.array(tasks[int(task["row"][i])]) for i in here}
    used = np.zeros_like(capacity)
    held = np.zeros(len(capacity), np.int64)
    for i in served:
        used[task["server"][i]] += demand[int(i)]
        held[task["server"][i]] += max(scale.size(tasks[int(task["row"][i])]), int(c.server["least"][0, task["server"][i]]))
    assert (used <= capacity).all()
    if not c.vectors:
        assert (c.server["room"][0] == scalar - held).all()

    def fits(i: int, server: int) -> bool:
        if c.vectors:
            return bool((used[server] + demand[i] <= capacity[server]).all())
        return scale.size(tasks[int(task["row"][i])]) <= scalar[server] - held[server]

    order = sorted(waiting.tolist(), key=lambda i: (task["since"][i], task["row"][i]))
    kinds = server_kinds(scalar)[0]
    mask = info["action_mask"]
    assert mask.tolist() == env.action_masks().astype(int).tolist()

    def types_that_fit(server: int, heads: bool) -> list[int]:
        found = np.zeros(sizes.types, int)
        seen: set[int] = set()
        for i in order:
            j = int(types_of(c, 0, int(kinds[server]), task["size"][i]))
            if j != NONE:
                if fits(i, server) and not (heads and j in seen):
                    found[j] = 1
                seen.add(j)
        return found.tolist()

    for kind in range(sizes.kinds):
        types = types_of(c, 0, kind, task["size"][waiting])
        for j in range(sizes.types):
            own = task["size"][waiting[types == j]]
            assert c.types.queue["count"][0, kind, j] == len(own)
            if c.orders & BY_SIZE:
                assert c.types.least[0, kind, j] == min(own, default=NO_SIZE)
                assert c.types.most[0, kind, j] == max(own, default=0)

    if core.definition.name == "Placement":
        if core.layout.rules.starts == WINDOW:
            wanted = [int(k < len(order) and fits(order[k], s)) for s in range(len(capacity)) for k in range(sizes.window)]
        else:
            wanted = [fit for s in range(len(capacity)) for fit in types_that_fit(s, core.layout.rules.starts == HEAD)]
        assert mask.tolist() == [*wanted, 1]
    elif core.definition.name == "ServerFill":
        server = int(core.batch.turn["server"][0])
        if server == NONE:
            return
        assert mask.tolist() == [*types_that_fit(server, False), 1]
        assert mask[:-1].any()
    else:
        server = int(core.batch.turn["server"][0])
        assert server == NONE or c.server["jobs"][0, server] == 0
