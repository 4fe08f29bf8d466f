"""The observation `actions` against its table, read off the tasks one by one; and the sizes that it counts."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import Any

import numpy as np
import pytest

import packenv
from packenv.cluster.state import NONE, TASK
from packenv.envs.core.between_decisions import copy_waiting_sizes, count_up_to
from packenv.envs.core.features import FEATURES, FILL, NEAR
from packenv.envs.core.state import DECIDING
from packenv.envs.episodes.core import Core
from packenv.envs.options import Warm
from packenv.workloads.laws import Discrete, Geometric, Uniform
from packenv.workloads.laws.arrivals import Batch
from tests.envs.conftest import Player
from tests.envs.playing import plain_env, plain_vec
from tests.seeds import seeds

UNEQUAL = packenv.Workload(sizes=Uniform(0.05, 0.5), service=Geometric(50), servers="2x1,1x0.5,1x0.9", intensity=0.95)
PAIR = packenv.Workload(
    sizes=(Uniform(0.1, 0.6), Uniform(0.05, 0.5)), service=Geometric(20), servers="2x1:1,1x0.5:1", intensity=0.95
)


class Plain:
    """What is there, as plain lists."""

    def __init__(self, core: Core) -> None:
        c = core.batch.c
        tasks = [task for task in c.task[0] if task["kind"] == TASK]
        self.now = int(c.head["now"][0])
        self.waiting = [task for task in tasks if task["server"] == NONE]
        self.served = [[task for task in tasks if task["server"] == server] for server in range(len(c.server[0]))]
        self.servers = c.server[0]
        self.bound, self.count = c.types.bound[0], c.types.count[0]
        self.largest, self.service, _ = core.batch.scale

    def type_of(self, kind: int, size: int) -> int:
        return next((j for j in range(self.count[kind] - 1) if size > self.bound[kind, j]), self.count[kind] - 1)

    def features(self, server: int, j: int, size: int) -> list[float]:
        """Of starting a task of type j."""
        kind, room, capacity = (int(self.servers[server][name]) for name in ("kind", "room", "capacity"))
        sizes = [int(task["size"]) for task in self.waiting]
        queue = [task for task in self.waiting if self.type_of(kind, int(task["size"])) == j]
        jobs = self.served[server]
        starts = [int(job["since"]) for job in jobs]
        age = self.now - sum(starts) / len(starts) if starts else 0.0
        roomy = [of_room for of_room in self.types_of_rooms() if of_room <= j]
        fitting = sum(other <= capacity - size for other in sizes)
        excess = fitting + sum(other <= size for other in sizes) - len(sizes)
        exact = sum(capacity - size - capacity // NEAR < other <= capacity - size for other in sizes)
        return [
            1.0,
            0.0,
            size / self.largest,
            (room - size) / self.largest,
            self.room_after_filling(sizes, size, room - size) / self.largest,
            told(len(queue)),
            told(sum(int(task["size"]) for task in queue) / self.largest),
            told((self.now - min(int(task["since"]) for task in queue)) / self.service),
            told(sum(self.type_of(kind, int(job["size"])) == j for job in jobs)),
            self.bound[kind, j - 1 if j > 0 else self.count[kind] - 1] / self.largest,
            len(roomy) / len(self.servers),
            room / self.largest,
            told(len(jobs)),
            age / (age + self.service),
            *(told(n * math.sqrt(5 / len(self.servers))) for n in (exact, fitting, excess, len(queue), len(sizes))),
        ]

    def types_of_rooms(self) -> list[int]:
        """Of the servers with room: one that has more than its kind's largest type has room of that."""
        rooms = [(int(server["kind"]), int(server["room"])) for server in self.servers if server["room"] > 0]
        return [self.type_of(kind, min(room, int(self.bound[kind, self.count[kind] - 1]))) for kind, room in rooms]

    def room_after_filling(self, sizes: list[int], size: int, room: int) -> int:
        others = list(sizes)
        others.remove(size)
        for _ in range(FILL):
            fitting = [other for other in others if other <= room]
            if not fitting:
                return room
            others.remove(max(fitting))
            room -= max(fitting)
        return room

    def largest_on(self, server: int, j: int) -> int | None:
        """Size of the largest task of type j with room on a server."""
        kind, room = int(self.servers[server]["kind"]), int(self.servers[server]["room"])
        found = [int(task["size"]) for task in self.waiting if self.type_of(kind, int(task["size"])) == j]
        return max((size for size in found if size <= room), default=None)


def told(n: float) -> float:
    """A count, as features tell it."""
    return math.copysign(math.log1p(abs(n)) / 5, n)


@pytest.mark.filterwarnings("ignore:J=3")
@pytest.mark.parametrize("seed", seeds(1, 3))
@pytest.mark.parametrize(
    "options",
    [
        {"workload": "paper/fig4b", "J": 4},
        {"workload": "paper/fig4b", "types": 40, "passing": False},
        {"workload": UNEQUAL, "J": 3},
        {"workload": UNEQUAL, "types": 12},
    ],
    ids=lambda options: "-".join(str(value) for value in options.values() if not isinstance(value, packenv.Workload)),
)
def test_server_fill_tells_what_its_table_says(options: dict[str, Any], seed: int, player: Player) -> None:
    env: Any = plain_env("ServerFill", observation="actions", **{"intensity": 0.95} | options)
    observation, info = env.reset(seed=seed)
    core, told_of = env.unwrapped.core, 0
    for _ in range(400):
        plain, server = Plain(core), int(core.batch.turn["server"][0])
        rows = observation["actions"]
        for j in range(len(rows) - 1):
            size = plain.largest_on(server, j)
            expected = np.zeros(FEATURES) if size is None else plain.features(server, j, size)
            np.testing.assert_allclose(rows[j], expected, atol=2e-6, err_msg=f"type {j}")
            told_of += size is not None
        if rows[-1, 0]:
            assert rows[-1, 18] == pytest.approx(told(len(plain.waiting) * (5 / len(plain.servers)) ** 0.5), abs=2e-6)
        observation, _, _, over, info = env.step(player(info))
        if over:
            observation, info = env.reset()
    assert told_of > 400


@pytest.mark.filterwarnings("ignore:J=3")
@pytest.mark.parametrize("rule", ["largest", "head", "window"])
def test_placement_tells_what_its_table_says(rule: str, player: Player) -> None:
    env: Any = plain_env("Placement", observation="actions", rule=rule, workload=UNEQUAL, J=3, window=5)
    observation, info = env.reset(seed=1)
    core, told_of = env.unwrapped.core, 0
    for _ in range(200):
        plain, rows, width = Plain(core), observation["actions"], core.layout.rules.per_server
        for action in np.flatnonzero(info["action_mask"][:-1]):
            server, row = int(action) // width, rows[action]
            size = round(float(row[2]) * plain.largest)
            j = plain.type_of(int(plain.servers[server]["kind"]), size)
            np.testing.assert_allclose(row, plain.features(server, j, size), atol=2e-6)
            told_of += 1
        observation, _, _, over, info = env.step(player(info))
        if over:
            observation, info = env.reset()
    assert told_of > 200


def test_several_resources_have_no_company(player: Player) -> None:
    env: Any = plain_env("ServerFill", observation="actions", workload=PAIR)
    observation, info = env.reset(seed=1)
    for _ in range(200):
        for row in observation["actions"][:-1]:
            assert row[3] == row[4] and not row[14:17].any()
        observation, _, _, over, info = env.step(player(info))
        if over:
            observation, info = env.reset()


@pytest.mark.filterwarnings("ignore:intensity")
@pytest.mark.parametrize("slots", [1, 300, 4_000, 30_000])
@pytest.mark.parametrize("servers", ["5x1", "1x1,2x0.3"])
def test_waiting_sizes_are_counted(servers: str, slots: int) -> None:
    """From none to thousands that wait, some of one size."""
    sizes = Discrete((0.1, 0.25), (0.5, 0.5)) if slots == 300 else Uniform(0.05, 0.9)
    workload = packenv.Workload(sizes=sizes, service=Geometric(50), servers=servers, intensity=4.0)
    env: Any = plain_env("ServerFill", observation="actions", workload=workload, start=Warm("fifo-ff", slots))
    env.reset(seed=slots)
    batch = env.unwrapped.core.batch
    waiting = sorted(int(task["size"]) for task in Plain(env.unwrapped.core).waiting)
    copy_waiting_sizes(batch)
    assert batch.waiting_sizes[0, : len(waiting)].tolist() == waiting
    asked = {-7, 0, 1, int(batch.scale[0]), *waiting, *(size - 1 for size in waiting), *(size + 1 for size in waiting)}
    for size in asked:
        assert count_up_to(batch, size) == bisect_right(waiting, size)


BURSTS = packenv.Workload(
    sizes=Uniform(0.05, 0.5),
    service=Geometric(50),
    servers="3x1,1x0.5",
    intensity=0.95,
    arrivals=Batch(Discrete((1, 40), (0.95, 0.05))),
)


@pytest.mark.filterwarnings("ignore:J=")
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("ServerFill", {"workload": "paper/fig4b", "types": 40, "passing": False, "intensity": 0.97}),
        ("ServerFill", {"workload": "paper/fig4b", "intensity": 0.99, "guard": "bf-js", "guard_limit": 15}),
        ("ServerFill", {"workload": BURSTS, "start": Warm("fifo-ff", 300)}),
        ("Placement", {"workload": BURSTS, "rule": "window", "window": 4, "guard": "bf-js", "guard_limit": 60}),
    ],
)
def test_sizes_of_every_row_are_those_that_wait(kind: str, options: dict[str, Any], player: Player) -> None:
    """After arrivals, starts, the guard's slots, growth and new episodes, in every row."""
    env: Any = plain_vec(kind, num_envs=3, observation="actions", horizon=1_500, **options)
    _, info = env.reset(seed=1)
    longest = looked_at = 0
    observed = env.unwrapped.core.batch
    for _ in range(1_500):
        batch = env.unwrapped.core.batch
        grown, observed = batch is not observed, batch  # the array is new then, and written at the next observation
        for row in np.flatnonzero((batch.turn["phase"] == DECIDING) & (not grown)):
            looked_at += 1
            task = batch.c.task[row]
            waiting = np.sort(task["size"][(task["kind"] == TASK) & (task["server"] == NONE)])
            assert batch.waiting_sizes[row, : len(waiting)].tolist() == waiting.tolist()
            longest = max(longest, len(waiting))
        info = env.step(player.all(info))[-1]
    assert longest > 10 and looked_at > 3_000
