"""Devices of servers: fast = reference, what no policy may do, and what is refused."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest

import packenv
from packenv import Workload
from packenv.catalogue import CATALOGUE
from packenv.cluster import NONE, Cluster, fits, oldest, place, server_count
from packenv.errors import InputError, MisuseError
from packenv.jobs import Jobs
from packenv.workloads.in_service import InService
from packenv.workloads.servers import Servers
from tests.cluster.test_against_reference import compare
from tests.reference.instances import SERVERS, random_instance, with_devices
from tests.seeds import seeds

OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("bf-j", {}),
    ("bf-s", {}),
    ("bf-js", {}),
    ("fifo-ff", {}),
    ("bf-js", {"stall": True}),
    ("fifo-ff", {"blocking": False}),
    ("easy", {}),
    ("conservative", {"depth": 3}),
    ("reserve", {"age": 5}),
]


@pytest.mark.parametrize("name, options", OPTIONS, ids=str)
@pytest.mark.parametrize("resources", [1, 2])
@pytest.mark.parametrize("seed", seeds(2, 20))
def test_against_reference(name: str, options: dict[str, Any], resources: int, seed: int) -> None:
    """In the reference no device is above its capacity, and none that a task has as a whole is shared, in any slot."""
    rng = random.Random(f"{name}{options}{resources}{seed}")
    for servers in SERVERS:
        compare(with_devices(rng, random_instance(rng, resources=resources, servers=servers)), name, options)


def two_gpus(*needs: tuple[int, int, int], arrival: list[int] | None = None, servers: Servers | None = None) -> Workload:
    """Tasks of 10 slots that need devices so, and little else, on a server with two of them."""
    sizes = [(0.1, (number if share == 0 else share / 1000)) for number, share, _ in needs]
    jobs = Jobs.of(arrival or [0] * len(needs), sizes, [10] * len(needs))
    jobs = Jobs(jobs.arrival, jobs.demand, jobs.service, devices=np.array(needs), device_kinds=("A10", "T4"))
    return Workload(jobs=jobs, servers=servers or Servers([[1, 2]], np.array([[2, 1000, 0]]), ("A10",)))


@pytest.mark.parametrize(
    "needs, starts",
    [
        ([(1, 600, 0)] * 3, [0, 0, 10]),  # three shares of .6 on two devices: the sum, 1.8 of 2, would hold them
        ([(1, 600, 0), (1, 300, 0), (1, 0, 0)], [0, 0, 0]),  # the second goes to the device of the first
        ([(1, 600, 0), (1, 500, 0), (1, 0, 0)], [0, 0, 10]),
        ([(1, 100, 0), (2, 0, 0), (1, 0, 1)], [0, 10, 0]),  # two whole ones are not free; one of the right kind is
        ([(0, 0, 0), (2, 0, 1)], [0, 0]),
    ],
)
def test_by_hand(needs: list[tuple[int, int, int]], starts: list[int]) -> None:
    result = packenv.simulate(two_gpus(*needs), "bf-j", schedule=True)
    assert result.schedule is not None
    assert result.schedule.start.tolist() == starts


class Busy(NamedTuple):
    """A table that comes to tasks in service, who have shares of devices: (share, device, slots that remain)."""

    jobs: Jobs
    running: tuple[tuple[int, int, int], ...]
    notes: tuple[str, ...] = ()

    def __call__(self, seed: int) -> Jobs:
        return self.jobs

    def in_service(self, seed: int) -> InService:
        share, device, left = np.array(self.running).T
        demand, zeros = np.tile(np.array([1, 0]), (len(share), 1)), np.zeros_like(share)
        devices = np.stack([zeros + 1, share, zeros, 1 << device], axis=1)
        return InService(demand, zeros, left, devices)

    def times(self, seed: int, start: Any, end: Any) -> tuple[Any, Any]:
        return start, end


@pytest.mark.parametrize("policy", ["bf-js", "fifo-ff:blocking=false", "easy", "fgd"])
@pytest.mark.parametrize(
    "running, needs, starts",
    [
        ([(500, 0, 7), (500, 1, 4)], [(1, 600, 0)], [4]),  # half of each is left
        ([(500, 0, 7), (300, 0, 4)], [(1, 600, 0)], [0]),
        ([(500, 0, 7), (300, 1, 4)], [(1, 0, 0), (1, 800, 0)], [4, 7]),
        ([(500, 0, 7), (300, 1, 4)], [(2, 0, 0)], [7]),
    ],
)
def test_tasks_in_service_have_their_devices(
    policy: str, running: list[tuple[int, int, int]], needs: list[tuple[int, int, int]], starts: list[int]
) -> None:
    workload = two_gpus(*needs)
    assert workload.jobs is not None
    busy = workload.with_(jobs=Busy(workload.jobs, tuple(running)))
    result = packenv.simulate(busy, policy, drain=True, schedule=True)
    assert result.schedule is not None
    assert result.schedule.start.tolist() == starts


def test_backfilling_holds_devices_for_the_head_that_tasks_in_service_have() -> None:
    """In slot 4 the whole device is there that the first needs: 700 beside the 300 of a task until then would keep it."""
    workload = two_gpus((1, 0, 0), (1, 700, 0))
    assert workload.jobs is not None
    busy = workload.with_(jobs=Busy(workload.jobs, ((500, 0, 7), (300, 1, 4))))
    starts = {name: packenv.simulate(busy, name, drain=True, schedule=True).schedule for name in ("easy", "bf-js")}
    assert {name: schedule.start.tolist() for name, schedule in starts.items() if schedule is not None} == {
        "easy": [4, 7],
        "bf-js": [7, 0],
    }


@pytest.mark.parametrize("running", [[(600, 0, 9), (500, 0, 9)], [(500, 2, 9)]])
def test_tasks_in_service_that_do_not_fit_on_their_devices(running: list[tuple[int, int, int]]) -> None:
    workload = two_gpus((1, 100, 0))
    assert workload.jobs is not None
    with pytest.raises(InputError, match="initial job 0: server 0 has no room for it on its devices"):
        packenv.simulate(workload.with_(jobs=Busy(workload.jobs, tuple(running))), "bf-js")


class Careless:
    """Puts every task on the first server, whether it fits or not."""

    name = "careless"

    def schedule(self, cluster: Cluster, state: Any) -> None:
        while (task := oldest(cluster)) != NONE:
            place(cluster, task, 0)


class Second(Careless):
    """Chooses the second device for everything."""

    def schedule(self, cluster: Cluster, state: Any) -> None:
        while (task := oldest(cluster)) != NONE and fits(cluster, task, 0) and server_count(cluster) == 1:
            place(cluster, task, 0, 0, 0b10)


def test_a_policy_cannot_overfill_a_device() -> None:
    with pytest.raises(MisuseError, match="policy careless: a task started on a server that has no room for it on its devices"):
        packenv.simulate(two_gpus(*[(1, 600, 0)] * 3), Careless())
    with pytest.raises(MisuseError, match="policy careless: a task started on a device that has no room for it"):
        packenv.simulate(two_gpus((1, 600, 0), (1, 500, 0)), Second())
    with pytest.raises(MisuseError, match="a task started on another number of devices than it needs"):
        packenv.simulate(two_gpus((2, 0, 0)), Second())
    assert packenv.simulate(two_gpus((1, 600, 0), (1, 400, 0)), Second()).started == 2


@pytest.mark.parametrize(
    "need, problem",
    [
        ((-1, 0, 0), "row 0: a negative number of devices"),
        ((1, -5, 0), "row 0: a negative share of a device"),
        ((2, 500, 0), "row 0: shares of several devices: a task has a share of one, or whole ones"),
        ((1, 0, 4), "row 0: a kind of device without a name"),
        ((3, 0, 0), "row 0: 3 whole devices: no server has these devices and its demand"),
        ((1, 1100, 0), "row 0: 1100 of one device: no server has these devices and its demand"),
        ((1, 0, 2), "row 0: 1 whole device of T4: no server has these devices and its demand"),
    ],
)
def test_needs_that_cannot_be(need: tuple[int, int, int], problem: str) -> None:
    with pytest.raises(InputError) as error:
        jobs = Jobs.of([0], [[0.1, 0.1]], [1])
        jobs = Jobs(jobs.arrival, jobs.demand, jobs.service, devices=np.array([need]), device_kinds=("A10", "T4"))
        Workload(jobs=jobs, servers=Servers([[1, 2]], np.array([[2, 1000, 0]]), ("A10",)))
    assert str(error.value) == problem


def test_servers_that_are_not_known_and_policies_that_do_not_look() -> None:
    workload = two_gpus((1, 600, 0))
    with pytest.raises(InputError, match="vqs does not look for room on devices"):
        packenv.simulate(workload, "vqs")
    assert workload.with_(servers="3x1:2@1*A10").servers.devices.tolist() == [[1, 1000, 0]] * 3
    for servers in ("1x1:2", "1x1:2@A10"):
        with pytest.raises(InputError, match="tasks need devices, but the servers' devices are not known"):
            workload.with_(servers=servers)
    counted = Servers([[1, 2], [1, 0]]).with_devices_of(1, 1.0)
    assert counted.devices is not None and counted.devices.tolist() == [[2, 1000, -1], [0, 1000, -1]]
    with pytest.raises(InputError, match=r"server 0: 1.5 devices is not a whole number"):
        Servers([[1, 1.5]]).with_devices_of(1, 1.0)


@pytest.mark.parametrize("text", ["2x1:2@2*A10,1x1:0@0*", "1x1:2", "1x3:8@8*V100-32/16,2x1:1@1*T4"])
def test_texts_of_servers(text: str) -> None:
    servers = packenv.workloads.servers.parse_servers(text, 2)
    assert str(servers) == text
    assert servers.only([*range(len(servers))]) == servers
    assert servers.only([0, 0]) != servers


def test_what_does_not_start_is_lost_and_counted() -> None:
    """By hand, on a server of cpu 1 and two A10 and one of cpu 0.1 and two T4."""
    servers = Servers([[1, 2], [0.1, 2]], np.array([[2, 1000, 0], [2, 1000, 1]]), ("A10", "T4"))
    needs = [
        (2, 0, 1),  # starts on server 0
        (1, 0, 1),  # server 1 lacks the kind, server 0 the device: each one thing, and the device comes first
        (1, 900, 2),  # starts on server 1
        (2, 0, 2),  # server 1 lacks cpu and a device; server 0 a device and the kind
        (0, 0, 2),  # server 1 lacks cpu, server 0 the kind
    ]
    workload = two_gpus(*needs, arrival=[0, 1, 2, 3, 4], servers=servers)
    result = packenv.simulate(workload, "bf-j", reject=True, schedule=True)
    assert (result.started, result.waiting) == (2, 0) and result.schedule is not None
    assert result.schedule.start.tolist() == [0, -1, 2, -1, -1]
    assert result.schedule.devices is not None and result.schedule.devices.tolist() == [3, 0, 1, 0, 0]
    assert result.rejected == {"resource 0": 1, "resource 1": 0, "kind": 1, "several": 1}  # the sum of devices is not a name here
    named = packenv.simulate(workload.with_(resources=("cpu", "gpu")), "bf-j", reject=True)
    assert named.rejected == {"cpu": 1, "gpu": 1, "kind": 0, "several": 1}
    frame = result.to_frame("schedule").to_pydict()
    assert frame["devices"] == ["0 1", None, "0", None, None]


def lost_with_room(workload: Workload, result: packenv.Result) -> int:
    """The lost tasks that a server had room for in the slot of their arrival, from table and schedule alone."""
    jobs, schedule, capacity, count = workload.jobs, result.schedule, workload.servers.units, 0
    assert jobs is not None and schedule is not None
    for row in np.flatnonzero(schedule.start < 0):
        slot = jobs.arrival[row]
        free, devices = capacity.copy(), [[1000, 1000] for _ in capacity]
        for other in np.flatnonzero((schedule.start >= 0) & (schedule.start <= slot) & (slot < schedule.start + jobs.service)):
            free[schedule.server[other]] -= jobs.demand[other]
            if jobs.devices is not None and schedule.devices is not None:
                for n in range(2):
                    taken = int(schedule.devices[other]) >> n & 1
                    devices[schedule.server[other]][n] -= taken * (int(jobs.devices[other, 1]) or 1000)
        number, share, _ = (0, 0, 0) if jobs.devices is None else jobs.devices[row]
        for server in range(len(capacity)):
            room = jobs.demand[row] <= free[server] if jobs.devices is None else jobs.demand[row, :1] <= free[server, :1]
            if room.all() and sum(left >= (share or 1000) for left in devices[server]) >= number:
                count += 1
                break
    return count


class HoldsBack:
    """Starts tasks of every third number only, on server 0."""

    def schedule(self, cluster: Cluster, state: object) -> None:
        if oldest(cluster) % 3 == 0 and fits(cluster, oldest(cluster), 0):
            place(cluster, oldest(cluster), 0)


REJECTING = ["bf-j", "bf-s", "bf-js", "fifo-ff", "bf-j:stall", "bf-s:stall", "bf-js:stall", "fifo-ff:stall", "held"]
OF_DEVICES = [name for name in CATALOGUE if name not in REJECTING and CATALOGUE[name].module.endswith("gpus.policies")]


@pytest.mark.parametrize("name", [*REJECTING, *OF_DEVICES])
@pytest.mark.parametrize("kind", ["one resource", "two resources", "devices"])
def test_tasks_with_room_are_not_lost(name: str, kind: str) -> None:
    """The count of lost tasks with room is `policy`: 0 but for policies that stall servers or hold tasks back."""
    rng = np.random.default_rng(len(name))
    needs = [(1, 600, 0), (1, 300, 0), (2, 0, 0), (1, 0, 0), (0, 0, 0)]
    arrival = np.sort(rng.integers(0, 80, 200))
    if kind == "devices":
        servers = Servers([[1, 2]] * 2, np.array([[2, 1000, 0]] * 2), ("A10",))
        workload = two_gpus(*(needs[n] for n in rng.integers(0, 5, 200)), arrival=arrival.tolist(), servers=servers)
    elif name in OF_DEVICES:
        pytest.skip("chooses among devices")
    else:
        sizes = rng.uniform(0.05, 0.7, (200, 1 if kind == "one resource" else 2))
        workload = Workload(jobs=Jobs.of(arrival, sizes, rng.integers(1, 10, 200)), servers=Servers([[1.0] * sizes.shape[1]] * 2))
    lost = packenv.simulate(workload, HoldsBack() if name == "held" else name, reject=True, schedule=True)
    assert lost.rejected is not None and sum(lost.rejected.values()) == 200 - lost.started > 20
    assert (lost.max_delay, lost.max_queue) == (0, 0)
    held_back = lost.rejected.get("policy", 0)
    assert lost_with_room(workload, lost) == held_back
    assert held_back > 0 if name == "held" else held_back == 0 or name.endswith("stall")


def test_where_nothing_can_be_turned_away() -> None:
    workload = packenv.workload("paper/fig4b", intensity=0.5)
    with pytest.raises(InputError, match="vqs records waiting tasks: `reject` does not go with it"):
        packenv.simulate(workload, "vqs", 100, reject=True)
    with pytest.raises(InputError, match="`backlog` does not go with `reject`"):
        packenv.simulate(workload, "bf-js", 100, reject=True, backlog=5)
    linked = Workload(jobs=Jobs.of([0, 0], [0.5, 0.5], [1, 1], predecessors=[[], [0]]), servers=1)
    with pytest.raises(InputError, match="`reject`: in custom tasks wait for others, which might be lost"):
        packenv.simulate(linked, "bf-js", reject=True)


@pytest.mark.parametrize("kind", ["Placement", "ServerFill"])
def test_masks_of_environments(kind: str) -> None:
    """Whatever the mask allows is carried out: `place` raises where devices have no room. All tasks start in the end."""
    rng = random.Random(kind)
    needs = [
        rng.choice([(1, rng.randint(1, 1000), 0), (1, 0, 1), (2, 0, 3), (4, 0, 0), (0, 0, 0), (1, 400, 2)]) for _ in range(60)
    ]
    servers = Servers([[10, 4]] * 2, np.array([[4, 1000, 0], [4, 1000, 1]]), ("A10", "T4"))
    workload = two_gpus(*needs, arrival=sorted(rng.randrange(100) for _ in needs), servers=servers)
    env = gymnasium.make(f"packenv/{kind}-v1", workload=workload, passing=False)
    _, info = env.reset(seed=0)
    for _ in range(1_000):
        _, _, terminated, truncated, info = env.step(int(rng.choice(np.flatnonzero(info["action_mask"]))))
        if terminated or truncated:
            break
    assert terminated, packenv.envs.REASONS[info["reason"]]
    with pytest.raises(InputError, match="Configuration does not look for room on devices"):
        gymnasium.make("packenv/Configuration-v1", workload=workload)


def test_kinds_are_numbered_as_those_of_the_servers() -> None:
    """A task that accepts T4 starts where they are, whatever the order of names in its table."""
    servers = Servers([[1, 2], [1, 2]], np.array([[2, 1000, 0], [2, 1000, 1]]), ("V100", "T4"))
    result = packenv.simulate(two_gpus((1, 0, 2), (1, 0, 3), servers=servers), "fifo-ff", schedule=True)
    assert result.schedule is not None and result.schedule.server.tolist() == [1, 1]
