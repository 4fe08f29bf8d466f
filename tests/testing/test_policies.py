"""Every policy of packenv passes `PolicyTests`, and each of them finds a fault that was planted for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packenv
from packenv import Jobs, Ragged
from packenv.errors import InputError
from packenv.policy import registered
from packenv.testing import PolicyTests, check_policy, problem_of
from packenv.workloads.find import workload
from packenv.workloads.named.analytics import analytics
from packenv.workloads.servers import Servers
from tests.testing.faulty_policies import FAULTS, Fine

QUICK = ("bf-js", "vqs")


def on_gpus() -> packenv.Workload:
    """Shares and whole GPUs, of which not all that come run at once."""
    rng = np.random.default_rng(0)
    shapes = np.array([(0.1, 0.5, 1, 500), (0.2, 1, 1, 0), (0.4, 2, 2, 0), (0.3, 0, 0, 0)])[rng.integers(0, 4, 80)]
    table = Jobs.of(np.sort(rng.integers(0, 300, 80)), shapes[:, :2], rng.integers(5, 60, 80))
    devices = np.column_stack([shapes[:, 2:], np.zeros(80)]).astype(np.int64)
    jobs = Jobs(table.arrival, table.demand, table.service, devices=devices)
    return packenv.Workload(jobs=jobs, servers=Servers([[1, 2]] * 3, np.array([[2, 1000, -1]] * 3)), resources=("cpu", "gpu"))


NEED_FITTING_JOBS = {"slot-fifo": workload("paper/fig4a", intensity=0.6)}
OF_TABLES = {
    **dict.fromkeys(("fgd", "gpu-best-fit", "dot-product", "gpu-packing", "gpu-clustering", "random"), on_gpus()),
    "price": analytics(jobs=6, servers=4),
    "priority": workload("price/fig2").at(0),  # jobs have values
}
LONG = ("kmw", "msr")  # their programs are solved for every setting
POLICIES = [name for name in registered() if name not in ("agent", "optimal", "replay", "sat")]


def marks_of(name: str) -> list[pytest.MarkDecorator]:
    if name in LONG:
        return [pytest.mark.slow, pytest.mark.minutes]
    return [] if name in QUICK else [pytest.mark.slow]


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks_of(name)) for name in POLICIES])
def test_every_policy(name: str) -> None:
    check_policy(name, OF_TABLES.get(name) or NEED_FITTING_JOBS.get(name))


class TestPolicyOfAUser(PolicyTests):
    """As a user's suite has it: each promise is a named test."""

    policy = Fine


class TestNamedPolicyOfAUser(PolicyTests):
    policy = "tests.testing.faulty_policies:Fine"
    workloads = (packenv.workload("paper/fig3a", load=0.7),)
    slots = 200


@pytest.mark.slow  # a process of its own
def test_a_suite_names_the_promise_that_is_broken(tmp_path: Path) -> None:
    """Of a policy that is not deterministic one test fails, by its name."""
    suite = "from packenv.testing import PolicyTests\nfrom tests.testing.faulty_policies import Random\n"
    (tmp_path / "test_mine.py").write_text(f"{suite}\nclass TestMine(PolicyTests):\n    policy = Random\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)]
    root = str(Path(packenv.__file__).parent.parent)
    printed = subprocess.run(command, env=os.environ | {"PYTHONPATH": root}, cwd=root, capture_output=True, text=True).stdout
    assert "FAILED" in printed and "TestMine::test_same_seed_same_schedule" in printed
    assert "test_schedule_is_feasible" not in printed


@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind.__name__)
def test_each_check_can_fail(kind: Any) -> None:
    with pytest.raises(AssertionError) as problem:
        check_policy(kind())
    assert FAULTS[kind] in str(problem.value) and "\n" not in str(problem.value)


def test_a_workload_that_is_given_must_not_be_refused() -> None:
    pair = packenv.Workload(sizes=(packenv.workload("paper/fig4b").sizes,) * 2, service=packenv.workload("paper/fig4b").service,
                            servers="1x1:1", intensity=0.5)  # fmt: skip
    with pytest.raises(AssertionError, match="Fine packs one resource"):
        check_policy(Fine(), pair)


def test_a_workload_may_be_given_by_its_load() -> None:
    check_policy("bf-js", packenv.workload("paper/fig3a", load=0.7), slots=200)


def test_unknown_policies_are_one_line() -> None:
    with pytest.raises(AssertionError, match="did you mean"):
        check_policy("bf-jx")


TABLE = Jobs.of([0, 0, 1, 1], [0.6, 0.6, 0.3, 0.3], [3, 2, 2, 1], predecessors=Ragged.of([[], [], [], [0]]))
CAPACITY = np.array([[packenv.UNIT]])
GOOD = ([0, 3, 1, 3], [0, 0, 0, 0])


@pytest.mark.parametrize(
    "start, server, problem",
    [
        (*GOOD, None),
        ([0, 0, 1, 3], [0, 0, 0, 0], "server 0 is above its capacity in slot 0"),
        ([0, 2, 1, 3], [0, 0, 0, 0], "server 0 is above its capacity in slot 2"),
        ([0, 3, 0, 3], [0, 0, 0, 0], "row 2 starts in slot 0, before it may"),
        ([0, 3, 1, 2], [0, 0, 0, 0], "row 3 starts in slot 2, before it may"),
        ([-1, 3, 1, 3], [-1, 0, 0, 0], "row 3 starts in slot 3, before it may"),
        ([0, 3, 1, 3], [0, 0, 0, 1], "row 3 is on server 1, and there are 1"),
        ([0, -1, 1, 3], [0, 0, 0, 0], "row 1 has a start and no server, or a server and no start"),
        ([0, 3, 1, 9], [0, 0, 0, 0], "row 3 starts in slot 9, after the last one"),
        ([0, 3, 1, 3, 5], [0, 0, 0, 0, 0], "the schedule has 5 rows"),
    ],
)
def test_the_replay_finds_planted_violations(start: list[int], server: list[int], problem: str | None) -> None:
    found = problem_of(TABLE, CAPACITY, np.array(start), np.array(server), 5)
    assert found is None if problem is None else found is not None and problem in found


@pytest.mark.parametrize("unit", [1, 1024, 2**30])
def test_the_replay_takes_the_servers_of_a_table(unit: int, tmp_path: Path) -> None:
    """Whatever the unit of memory is; two tasks of 5/8 of the memory do not fit together."""
    (tmp_path / "table.csv").write_text(f"submit_time_s,duration_s,cores,memory\n0,3,8,{80 * unit}\n0,2,8,{80 * unit}\n")
    log = packenv.workload(tmp_path / "table.csv", servers=f"1x32:{128 * unit}", resources="cores,memory", slot_seconds=1)
    for starts, problem in (([0, 3], None), ([0, 2], "server 0 is above its capacity in slot 2")):
        start, server = np.array(starts), np.zeros(2, np.int64)
        assert problem_of(log.jobs, log.servers, start, server, 10) == problem
    with pytest.raises(InputError, match="give the servers"):
        problem_of(log.jobs, log.servers.capacity, np.zeros(2, np.int64), np.zeros(2, np.int64), 10)


def test_the_replay_sees_how_long_tasks_stay() -> None:
    start, server = np.array(GOOD[0]), np.array(GOOD[1])
    assert problem_of(TABLE, CAPACITY, start, server, 5, np.array([3, 5, 3, 4])) is None
    found = problem_of(TABLE, CAPACITY, start, server, 5, np.array([3, 5, 2, 4]))
    assert found == "row 2 stays 1 slots, and its service is 2"
