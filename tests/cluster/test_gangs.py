"""Gangs: fast = reference, none in part, by hand, and what is refused."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import gymnasium
import pytest

import packenv
from packenv import Workload
from packenv.cluster import (
    BY_INDEX,
    BY_QUEUE,
    BY_ROOM,
    NONE,
    Cluster,
    Needs,
    behind,
    first_server_for,
    in_gang,
    next_in_queue,
    oldest,
    place,
    room_of,
    server_count,
    size_of,
    start_best_fit,
    start_first_fit,
)
from packenv.errors import InputError, MisuseError
from packenv.jobs import Jobs
from packenv.policy import Setting
from packenv.workloads.gangs import gangs_fitting
from packenv.workloads.laws import Constant, Geometric
from packenv.workloads.laws.arrivals import Batch
from tests.cluster import fast
from tests.cluster.test_against_reference import compare
from tests.cluster.test_backfilling import wrongly_estimated
from tests.reference import model, policies
from tests.reference.gangs import first_fit, gang_of, places_for
from tests.reference.instances import SERVERS, random_instance, to_jobs, to_servers, with_devices, with_gangs
from tests.reference.model import World
from tests.seeds import seeds

OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("fifo-ff", {}),
    ("fifo-ff", {"blocking": False}),
    ("fifo-ff", {"order": "saf"}),
    ("fifo-ff", {"order": "expansion", "blocking": False}),
    ("bf-js", {}),
    ("easy", {}),
    ("easy", {"order": "saf"}),
    ("conservative", {"depth": 3}),
    ("reserve", {"age": 5}),
]


@pytest.mark.parametrize("name, options", OPTIONS, ids=str)
@pytest.mark.parametrize("resources", [1, 2])
@pytest.mark.parametrize("devices", [False, True], ids=["", "devices"])
@pytest.mark.parametrize("seed", seeds(1, 20))
def test_against_reference(name: str, options: dict[str, Any], resources: int, devices: bool, seed: int) -> None:
    """In the reference no gang starts in part, and no server and no device is above its capacity, in any slot."""
    rng = random.Random(f"{name}{options}{resources}{seed}")
    for servers in SERVERS[:3] if "order" in options else SERVERS:  # ties of sums are exact where processors are whole
        kind = "ties" if "order" in options else None
        instance = random_instance(rng, resources=resources, servers=servers, kind=kind, predecessors=False)
        instance = with_gangs(rng, with_devices(rng, instance) if devices else instance)
        compare(wrongly_estimated(rng, instance) if rng.random() < 0.5 and kind is None else instance, name, options)


def test_a_planted_mistake_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tasks of a gang look for servers from the last on."""
    monkeypatch.setattr(policies, "gang_of", lambda world, task: gang_of(world, task)[::-1])
    rng, noticed = random.Random(0), 0
    for _ in range(10):
        instance = with_gangs(rng, random_instance(rng, servers="powers", predecessors=False, tasks=30, drain=True))
        outcome = model.simulate(
            instance.tasks, instance.capacities, policies.make("fifo-ff"), drain=True, initial=instance.initial
        )
        noticed += outcome.server != fast.run(instance, fast.make("fifo-ff")).server
    assert noticed > 0


def starts(policy: Any, sizes: list[float], gang: list[int], service: list[int], arrival: list[int] | None = None) -> list[int]:
    """On two servers."""
    jobs = Jobs.of(arrival or [0] * len(sizes), sizes, service, gang=gang)
    schedule = packenv.simulate(Workload(jobs=jobs, servers=2), policy, drain=True, schedule=True).schedule
    assert schedule is not None
    return [int(slot) for slot in schedule.start]


@pytest.mark.parametrize(
    "policy, expected",
    [
        ("fifo-ff", [0, 10, 10, 10, 17]),  # beside the first task one of the gang has room, not both: all wait behind it
        ("fifo-ff:blocking=false", [0, 12, 12, 0, 0]),  # the last two pass it
        ("fifo-ff:order=smallest", [0, 12, 12, 0, 0]),  # .4, .5, .6, and the gang with 1.2
        ("easy", [0, 10, 10, 0, 17]),  # it is expected in slot 10: the task of .4 leaves until then, that of .5 does not
        ("conservative", [0, 10, 10, 0, 17]),
        ("bf-js", [7, 0, 0, 0, 7]),  # the gang looks before single tasks do
        ("reserve:age=3", [7, 0, 0, 0, 7]),
    ],
)
def test_by_hand(policy: str, expected: list[int]) -> None:
    assert starts(policy, [0.6, 0.6, 0.6, 0.4, 0.5], [-1, 4, 4, -1, -1], [10, 7, 7, 10, 12]) == expected


def test_servers_are_kept_for_a_gang_that_waits_too_long() -> None:
    """Short tasks that overlap leave no slot in which both servers are free; after three slots no more start on them."""
    sizes, gang, service, arrival = [1.0], [-1], [1], [0]
    for slot in range(20):
        sizes, gang, service, arrival = [*sizes, 1.0], [*gang, -1], [*service, 2], [*arrival, slot]
        if slot == 1:
            sizes, gang, service, arrival = [*sizes, 1.0, 1.0], [*gang, 0, 0], [*service, 2, 2], [*arrival, 1, 1]
    first = gang.index(0)
    assert starts("bf-js", sizes, gang, service, arrival)[first] > 20
    assert starts("reserve:age=3", sizes, gang, service, arrival)[first : first + 2] == [6, 6]


class OneByOne:
    """Starts what fits, whatever else is in its gang."""

    name = "one-by-one"

    def needs(self, setting: Setting) -> Needs:
        return Needs(orders=BY_QUEUE | BY_INDEX, gangs=True)

    def schedule(self, cluster: Cluster, state: Any) -> None:
        while (task := oldest(cluster)) != NONE and (server := first_server_for(cluster, task)) != NONE:
            place(cluster, task, server)


def test_a_policy_cannot_start_a_gang_in_part() -> None:
    where = "policy one-by-one started a task without all of its gang, as row 2, in slot 0"
    with pytest.raises(MisuseError, match=where):
        starts(OneByOne(), [0.8] * 3, [-1, 0, 0], [5] * 3)


class Passing:
    """A user's policy: the tasks and gangs in order of the queue, those without room passed over."""

    def __init__(self, start: Any, order: int) -> None:
        self.start, self.order = start, order

    def needs(self, setting: Setting) -> Needs:
        return Needs(orders=BY_QUEUE | self.order, gangs=True)

    def schedule(self, cluster: Cluster, state: object) -> None:
        task = oldest(cluster)
        while task != NONE:
            following = behind(cluster, task)
            self.start(cluster, task)
            task = following


@pytest.mark.parametrize("gang", [[0, 0, 0, -1, 1, 1], None], ids=["gangs", "none"])
def test_what_policies_start_gangs_with_starts_single_tasks(gang: list[int] | None) -> None:
    """On one server first fit and best fit are the same, with gangs and in a table that has none."""
    jobs = Jobs.of([0, 0, 0, 0, 1, 1], [0.3, 0.3, 0.3, 0.2, 0.5, 0.4], [4, 2, 3, 6, 1, 2], gang=gang)
    setting = Workload(jobs=jobs, servers=1)
    ways = [Passing(start_first_fit, BY_INDEX), Passing(start_best_fit, BY_ROOM), "fifo-ff:blocking=false"]
    found = [packenv.simulate(setting, way, drain=True, schedule=True).schedule for way in ways]
    assert found[0].start.tolist() == found[1].start.tolist() == found[2].start.tolist()


def test_a_gang_is_lost_as_a_whole() -> None:
    jobs = Jobs.of([0, 0, 0, 1], [0.6, 0.7, 0.7, 0.3], [5, 5, 5, 5], gang=[-1, 0, 0, -1])
    workload = Workload(jobs=jobs, servers=2)
    lost = packenv.simulate(workload, "fifo-ff", reject=True)
    assert lost.rejected == {"size": 0, "gang": 2} and lost.started == 2


class HoldsBack:
    """Start single tasks by first fit, but no gang; count gangs whose tasks had room by first fit, and those that had none."""

    def __init__(self) -> None:
        self.tasks = {"gang": 0, "policy": 0}

    def needs(self, setting: Setting) -> Needs:
        return Needs(orders=BY_QUEUE | BY_INDEX, gangs=True, rejects=True)

    def schedule(self, cluster: Cluster, state: object) -> None:
        gangs = []
        task = oldest(cluster)
        while task != NONE:
            following = behind(cluster, task)
            if not in_gang(cluster, task):
                start_first_fit(cluster, task)
            else:
                gangs.append([size_of(cluster, i) for i in chain(cluster, task, following)])
            task = following
        for sizes in gangs:
            rooms = [room_of(cluster, server) for server in range(server_count(cluster))]
            for size in sizes:
                server = next((n for n, room in enumerate(rooms) if room >= size), None)
                if server is None:
                    self.tasks["gang"] += len(sizes)
                    break
                rooms[server] -= size
            else:
                self.tasks["policy"] += len(sizes)


def chain(cluster: Cluster, task: int, end: int) -> Iterator[int]:
    while task != end:
        yield task
        task = next_in_queue(cluster, task)


@pytest.mark.parametrize("seed", seeds(3, 50))
def test_a_gang_that_had_room_is_lost_by_the_policy(seed: int) -> None:
    rng = random.Random(seed)
    rows = [(slot, gang) for slot in range(60) for gang in range(2) for _ in range(rng.randint(1, 3))]
    sizes, slots = [rng.uniform(0.2, 0.6) for _ in rows], [rng.randint(1, 6) for _ in rows]
    gang = [2 * slot + number for slot, number in rows]
    jobs = Jobs.of([slot for slot, _ in rows], sizes, slots, gang=[g if gang.count(g) > 1 else -1 for g in gang])
    policy = HoldsBack()
    lost = packenv.simulate(Workload(jobs=jobs, servers=3), policy, reject=True).rejected
    assert lost is not None and min(policy.tasks.values()) > 0
    assert {reason: lost.get(reason, 0) for reason in policy.tasks} == policy.tasks


@pytest.mark.parametrize(
    "columns, problem",
    [
        ({"gang": [0, 1, 0]}, "row 2: gang 0: its other tasks do not stand in the rows just above"),
        ({"gang": [0, -1, 0]}, "row 2: gang 0: its other tasks do not stand in the rows just above"),
        ({"gang": [-2, 0, 0]}, "row 0: gang is negative"),
        ({"gang": [-1, 0, 0], "arrival": [0, 0, 1]}, "row 2: arrives later than the gang that it is in"),
        ({"gang": [-1, 0, 0], "predecessors": [[], [], [0]]}, "row 2: is in a gang, and waits for other tasks"),
        ({"gang": [-1, 0, 0], "job": [0, 0, 0], "phase": [0, 1, 1]}, "row 1: is in a gang, and in a later phase of its job"),
        ({"gang": [0, 0, 0]}, "row 0: its gang of 3 tasks has no room on all 2 servers together, even if they are empty"),
    ],
)
def test_gangs_that_cannot_be(columns: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as error:
        Workload(jobs=Jobs.of(columns.pop("arrival", [0, 0, 0]), [0.6] * 3, [1] * 3, **columns), servers=2)
    assert str(error.value) == problem


@pytest.mark.parametrize("seed", seeds(3, 50))
def test_which_gangs_fit_on_empty_servers(seed: int) -> None:
    """All that have room one task after another, on servers with devices too; of tasks that are alike no others."""
    rng = random.Random(seed)
    for _ in range(5):
        instance = with_devices(rng, random_instance(rng, resources=rng.choice([1, 2]), tasks=30, predecessors=False))
        tasks, row = [], 0
        for task in instance.tasks:
            row = task.row if rng.random() < 0.25 else row
            same = instance.tasks[row] if rng.random() < 0.8 else task
            tasks.append(replace(same, row=task.row, arrival=instance.tasks[row].arrival, gang=row))
        instance = replace(instance, tasks=tasks)
        world = World(tasks, instance.capacities, [], devices=instance.devices)
        expected = [places_for(world, gang_of(world, task), first_fit(world.servers)) is not None for task in tasks]
        servers = to_servers(instance)
        fits = gangs_fitting(to_jobs(instance).with_kinds(servers.device_kinds), servers).tolist()
        for task, fit, one_by_one in zip(tasks, fits, expected, strict=True):
            alike = len({replace(other, row=0) for other in gang_of(world, task)}) == 1
            assert fit == one_by_one or (fit and not alike)


def test_streams_of_gangs() -> None:
    """The jobs of a stream are gangs; policies, environments and bounds that would start them in part refuse."""
    stream = packenv.Workload(
        sizes=Constant(0.5), service=Geometric(20), servers=4, rate=0.1, arrivals=Batch(Constant(3), gang=True)
    )
    assert Workload.from_dict(stream.to_dict()) == stream
    result = packenv.simulate(stream, "easy", 2_000, seed=1, schedule=True)
    jobs = stream.jobs_table(1, result.arrived)
    assert result.schedule is not None and jobs.gang is not None
    start = result.schedule.start
    assert all(len(set(start[jobs.gang == gang])) == 1 for gang in range(jobs.gang.max() + 1)) and result.started > 150
    with pytest.raises(
        InputError, match="vqs does not start the tasks of a gang together: bf-js, fifo-ff, easy, conservative and reserve"
    ):
        packenv.simulate(stream, "vqs", 100)
    with pytest.raises(InputError, match="Placement does not start the tasks of a gang together"):
        gymnasium.make("packenv/Placement-v1", workload=stream)
    with pytest.raises(InputError, match="`backlog` does not go with gangs"):
        packenv.simulate(stream, "fifo-ff", 100, backlog=5)
    with pytest.raises(InputError, match="the optimum does not model gangs"):
        packenv.optimal_schedule(stream.tabulated(0, 100))
