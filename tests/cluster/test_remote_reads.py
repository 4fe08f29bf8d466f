"""Remote reads that take resources: cases worked by hand, fast = reference, and what is taken is given back."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import packenv
from packenv import InputError, Jobs, Network, Ragged, Workload
from packenv.policies import BestFit, Delay, Fair
from packenv.policies.replay import Replay
from tests.cluster import fast
from tests.cluster.test_against_reference import compare
from tests.envs.playing import plain_env
from tests.reference import model, policies
from tests.reference.instances import Instance, random_instance
from tests.seeds import seeds

UNIT = 12
RULES: list[tuple[str, dict[str, Any]]] = [
    ("fair", {}),
    ("delay", {}),
    ("delay", {"paper": True}),
    ("delay", {"skips": 3}),
    ("delay-dynamic", {}),
    ("tetris", {}),
    ("tetris", {"f": 0.0, "m": 0.5}),
]


def readers(rng: random.Random) -> Instance:
    """Equal servers with one place or several, and remote reads that take up to half of one."""
    whole = UNIT * rng.choice([1, 1, 2, 3])
    capacities = [(whole, whole)] * rng.randint(2, 8)
    drawn = random_instance(rng, resources=2, servers=capacities, kind="equal", jobs=True, placed=True)
    reading, serving = (tuple(rng.choice([0, 1, 3, 6]) for _ in range(2)) for _ in range(2))
    takes = any(reading + serving) and any(task.home for task in drawn.tasks)
    network = replace(drawn.network, reading=reading, serving=serving) if takes else drawn.network
    smaller = [replace(task, demand=tuple(rng.randint(1, UNIT // 2) for _ in range(2))) for task in drawn.tasks]
    return replace(drawn, tasks=smaller if rng.random() < 0.7 else drawn.tasks, network=network)


@pytest.mark.parametrize("name, options", RULES, ids=str)
@pytest.mark.parametrize("seed", seeds(2, 5))
def test_equals_the_reference(name: str, options: dict[str, Any], seed: int) -> None:
    """The same starts and servers, the same servers that are read from, and the same use of resources."""
    rng = random.Random(f"reads {name}{options}{seed}")
    for _ in range(6):
        instance = readers(rng)
        compare(instance, name, options)
        slow = model.simulate(
            instance.tasks,
            instance.capacities,
            policies.make(name, **options),
            instance.slots,
            instance.slots is None,
            instance.initial,
            network=instance.network,
        )
        if instance.network.reading:
            assert fast.run(instance, fast.make(name, **options)).source == slow.source


def two_readers(network: Network | None, home: list[list[int]], servers: str = "3x1:1") -> Workload:
    """Tasks of half a server for 4 slots, 2 more away from home; resources cpu and network."""
    n = len(home)
    jobs = Jobs.of(
        np.zeros(n),
        np.tile([0.5, 0.0], (n, 1)),
        np.full(n, 4),
        job=np.zeros(n, int),
        home=Ragged.of(home),
        remote_overhead=np.full(n, 2),
    )
    return Workload(jobs=jobs, servers=servers, resources=("cpu", "network"), network=network)


def starts(result: packenv.Result) -> list[tuple[int, int, int]]:
    """(start, server, source) of each row."""
    assert result.schedule is not None and result.schedule.source is not None
    start, server, _, source, _ = result.schedule
    return [*zip(start.tolist(), server.tolist(), source.tolist(), strict=True)]


def test_a_source_serves_one_read_at_a_time() -> None:
    """All data lie on server 0, which has room for two tasks and, at 0.6 of the network, for one reader. Rows 0 and 1 run there,
    row 2 reads from it on server 1 until slot 6. Row 3 starts at home in slot 4, as rows 0 and 1 end."""
    network = Network(reading=(0.0, 0.6), serving=(0.0, 0.6))
    result = packenv.simulate(two_readers(network, [[0]] * 4), Fair(), drain=True, schedule=True)
    assert starts(result) == [(0, 0, -1), (0, 0, -1), (0, 1, 0), (4, 0, -1)]
    free = packenv.simulate(two_readers(None, [[0]] * 4), Fair(), drain=True, schedule=True)
    assert free.schedule is not None and free.schedule.start.tolist() == [0, 0, 0, 0] and free.schedule.source is None
    # 4 slots of three halves and 4 of one or two, of 3 servers; the network: 0.6 twice for 6 slots, of 3 for 8 slots.
    assert result.utilisation == pytest.approx(((3 * 4 + 2 + 4) / 2 / 24, 1.2 * 6 / 24), abs=1e-5)


def test_the_source_has_the_most_room() -> None:
    """Row 4 reads from server 0 (a tie) and takes 0.4 of its network; row 5 then reads from server 1, which has more left."""
    network = Network(reading=(0.0, 0.5), serving=(0.0, 0.4))
    workload = two_readers(network, [[0, 1]] * 6)
    result = packenv.simulate(workload, Fair(), drain=True, schedule=True)
    assert starts(result) == [(0, 0, -1), (0, 0, -1), (0, 1, -1), (0, 1, -1), (0, 2, 0), (0, 2, 1)]


def test_reads_in_the_rack() -> None:
    """Row 0 leaves 0.3 of server 2. On server 3, in the same rack, row 1 reads from there, although server 0 has more room.
    Then server 2 has not the 0.2 left that serving row 2 takes, which starts there when row 0 has ended."""
    network = Network(racks=2, reading=(0.0, 0.1), serving=(0.2, 0.5))
    workload = two_readers(network, [[2], [0, 2], [0, 2]], "2x0.4:1,1x0.8:1,1x1:1")
    result = packenv.simulate(workload, Delay(interval=0.0, rack=0.0), drain=True, schedule=True)
    assert starts(result) == [(0, 2, -1), (1, 3, 2), (4, 2, -1)]


@pytest.mark.parametrize("name", ["fair", "delay:interval=1", "delay-dynamic:interval=1", "tetris"])
def test_everything_is_given_back(name: str) -> None:
    rng = np.random.default_rng(3)
    home = [rng.choice(6, 2, replace=False).tolist() for _ in range(400)]
    network = Network(racks=5, reading=(0.0, 0.3), serving=(0.0, 0.4))
    workload = two_readers(network, home, "20x1:1")
    ended = packenv.simulate(workload, name, drain=True, schedule=True)
    assert ended.completed == 400
    schedule = ended.schedule
    assert schedule is not None and schedule.source is not None and (schedule.source >= 0).any()
    taken = np.zeros((int(schedule.end.max()) + 1, 20, 2))
    for row, (start, server, end, source) in enumerate(zip(*schedule[:4], strict=True)):  # type: ignore[misc]
        taken[start:end, server] += [0.5, 0.3 * (source >= 0)]
        if source >= 0:
            taken[start:end, source] += [0.0, 0.4]
            assert source in home[row] and server not in home[row]
    assert taken.max() <= 1 + 1e-9
    whole = taken[:-1].sum(axis=(0, 1)) / (20 * (len(taken) - 1))
    assert ended.utilisation == pytest.approx(tuple(whole), abs=1e-5)


def test_a_schedule_is_replayed() -> None:
    """Where a remote read takes no longer; what it takes, and from where, is found anew."""
    workload = two_readers(Network(reading=(0.0, 0.3), serving=(0.0, 0.4)), [[0], [0, 1], [1]] * 4)
    assert workload.jobs is not None
    workload = workload.with_(jobs=replace(workload.jobs, remote_overhead=None))
    ended = packenv.simulate(workload, "fair", drain=True, schedule=True)
    assert ended.schedule is not None
    again = packenv.simulate(workload, Replay(ended.schedule.start, ended.schedule.server, "again"), drain=True, schedule=True)
    assert starts(again) == starts(ended) and any(source >= 0 for _, _, source in starts(ended))


def test_bad_input() -> None:
    network = Network(reading=(0.0, 0.3), serving=(0.1, 0.4))
    workload = two_readers(network, [[0]] * 3)
    with pytest.raises(InputError, match=r"^bf-js does not look for room for remote reads, which take resources in custom"):
        packenv.simulate(workload, BestFit(), drain=True)
    with pytest.raises(InputError, match=r"network: reading needs 2 amounts, one for each resource"):
        two_readers(Network(reading=(0.1,)), [[0]])
    with pytest.raises(InputError, match=r"network: serving must be amounts >= 0, not 0:-1"):
        Network(serving=(0, -1))
    with pytest.raises(InputError, match="fits on none of its home servers"):
        two_readers(network, [[0]], "1x0.2:1,1x1:1")
    with pytest.raises(InputError, match="remote reads take no resources"):
        plain_env("Placement", workload=workload)
