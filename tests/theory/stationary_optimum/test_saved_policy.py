"""Optimal policies as files: a round trip, files that are refused, and the policy in the simulator and the environments."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import packenv
from packenv.errors import InputError
from packenv.policies.optimal import Optimal, load_optimal, save_optimal
from packenv.theory.stationary_optimum.optimum import StationaryOptimum, stationary_optimum
from packenv.workloads import Bernoulli, Discrete, Geometric, Workload
from tests.envs.test_equal_to_loop import WHOLE_QUEUE, equal

WORKLOAD = Workload(
    sizes=Discrete([0.3, 0.6], [0.6, 0.4]),
    service=Geometric(10),
    servers="1x0.7,2x1",
    load=0.7,
    arrivals=Bernoulli(),
    name="here",
)


@pytest.fixture(scope="module")
def found() -> StationaryOptimum:
    return stationary_optimum(WORKLOAD, 3, within=1e-3)


@pytest.fixture
def saved(found: StationaryOptimum, tmp_path: Path) -> Path:
    save_optimal(tmp_path / "here", found)
    return tmp_path / "here"


def test_round_trip(found: StationaryOptimum, saved: Path) -> None:
    again = packenv.find_policy(f"optimal:{saved}")
    assert np.array_equal(again.decisions, found.decisions) and again.name == f"optimal:{saved}"
    runs = [
        packenv.simulate(WORKLOAD, policy, slots=5_000, schedule=True).schedule
        for policy in (Optimal(found.instance, found.decisions), f"optimal:{saved}.json")
    ]
    assert runs[0] is not None and runs[1] is not None
    assert np.array_equal(runs[0].start, runs[1].start) and np.array_equal(runs[0].server, runs[1].server)


def test_schedule_follows_the_table(found: StationaryOptimum) -> None:
    """In plain Python, slot by slot: what the table says for the counts (3 and more are 3), the oldest of a size first."""
    slots = 3_000
    table = packenv.resolved(WORKLOAD).tabulated(5, slots)
    assert table.jobs is not None
    result = packenv.simulate(WORKLOAD, Optimal(found.instance, found.decisions), slots=slots, seed=5, schedule=True)
    assert result.schedule is not None
    every, sizes = found.occupancies, found.instance.sizes.tolist()
    kinds = [[0], [1, 2]]  # the server of 0.7, and the two of 1
    types = [sizes.index(size) for size in table.jobs.demand[:, 0].tolist()]
    running: dict[int, int] = {}  # job → server
    waiting: list[list[int]] = [[], []]
    start = np.full(len(types), -1)
    for slot in range(slots):
        running = {job: server for job, server in running.items() if start[job] + table.jobs.service[job] > slot}
        for job in np.flatnonzero(table.jobs.arrival == slot).tolist():
            waiting[types[job]].append(job)
        while True:
            own = []
            for server in range(3):
                mix = [sum(types[job] == j for job, at in running.items() if at == server) for j in range(2)]
                counts = every.counts[0 if server == 0 else 1].tolist()
                own.append(counts.index(mix))
            order = [server for kind in kinds for server in sorted(kind, key=lambda s: own[s])]
            row = every.configurations.tolist().index([own[server] for server in order])
            code = int(found.decisions[(row, *(min(len(queue), 3) for queue in waiting))])
            if code == 0:
                break
            j, position = divmod(code - 1, 3)
            job = waiting[j].pop(0)
            start[job], running[job] = slot, order[position]
    assert (start >= 0).sum() > 200
    assert np.array_equal(result.schedule.start[: len(start)], start)


def test_in_an_environment(found: StationaryOptimum) -> None:
    """Placement can start any task in its window on any server: the agent starts just what the simulator's loop starts."""
    equal("Placement", WHOLE_QUEUE, Optimal(found.instance, found.decisions), packenv.resolved(WORKLOAD), 2_000, 3)


def test_files_that_are_refused(saved: Path) -> None:
    table_file, json_file = saved.with_name("here.safetensors"), saved.with_name("here.json")
    about = json.loads(json_file.read_text())
    original = table_file.read_bytes()

    table_file.write_bytes(original[:-1] + bytes([original[-1] ^ 1]))
    with pytest.raises(InputError, match=r"here\.safetensors: not the decisions that here\.json describes"):
        load_optimal(saved)
    json_file.write_text(json.dumps(about | {"what": "agent"}))
    with pytest.raises(InputError, match=r"here\.json: not the description of an optimal policy"):
        load_optimal(saved)
    json_file.unlink()
    with pytest.raises(InputError, match=r"here\.json does not exist"):
        load_optimal(saved)
    with pytest.raises(InputError, match="optimal needs the file"):
        packenv.find_policy("optimal")


def test_table_with_an_impossible_start(found: StationaryOptimum, saved: Path) -> None:
    """A file whose hash is right, but which starts a job where none waits: refused, and not left for the compiled loop."""
    import hashlib

    table_file, json_file = saved.with_name("here.safetensors"), saved.with_name("here.json")
    decisions = load_file(table_file)["decisions"]
    decisions[0, 0, 0] = 1
    save_file({"decisions": decisions}, table_file)
    digest = hashlib.sha256(table_file.read_bytes()).hexdigest()
    json_file.write_text(json.dumps(json.loads(json_file.read_text()) | {"decisions": digest}))
    with pytest.raises(InputError, match="starts a job that does not wait, or has no room"):
        load_optimal(saved)
    for other in (decisions[:, :2], decisions[:, :0, :0], decisions[0, 0, 0]):
        save_file({"decisions": np.ascontiguousarray(other)}, table_file)
        digest = hashlib.sha256(table_file.read_bytes()).hexdigest()
        json_file.write_text(json.dumps(json.loads(json_file.read_text()) | {"decisions": digest}))
        with pytest.raises(InputError, match="another shape"):
            load_optimal(saved)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"sizes": Discrete([0.3, 0.5], [0.6, 0.4])}, "other sizes"),
        ({"sizes": Discrete([0.3, 0.6])}, "other shares of sizes"),
        ({"service": Geometric(11)}, "other mean service"),
        ({"servers": "1x0.7,1x1"}, "other servers"),
    ],
)
def test_another_workload(saved: Path, changes: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=f"found for another workload than here: {words}"):
        packenv.simulate(WORKLOAD.with_(**changes), f"optimal:{saved}", slots=10)


def test_at_another_load(saved: Path) -> None:
    assert packenv.simulate(WORKLOAD.with_(load=0.5), f"optimal:{saved}", slots=2_000).completed > 100
