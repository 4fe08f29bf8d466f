"""The scale by hand, the mirror against the simulator, and what is said of candidates and suites that cannot be."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import packenv
from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.testing.replay import problem_of_places
from packenv.workloads.network import Network
from packenv.workloads.workload import Workload
from packenv_score.candidate import policy_classes
from packenv_score.process import Sandboxed, close_all
from packenv_score.runs import Play, play
from packenv_score.scale import WORST, case_score, score_of, suite_score
from packenv_score.score import score, toy
from packenv_score.suite import load_suite, suite_names
from score_tests.suites import QUICK

EXAMPLES = Path(__file__).parents[3] / "examples"
BEST_FIT = "def priority(task, server, cluster):\n    return task.size - server.room\n"


@pytest.fixture
def quick(tmp_path: Path) -> str:
    (tmp_path / "quick.json").write_text(QUICK)
    return str(tmp_path / "quick.json")


def test_the_scale_is_by_the_logarithm() -> None:
    assert score_of(100.0, 100.0, 1.0) == 0
    assert score_of(10.0, 100.0, 1.0) == pytest.approx(50)
    assert score_of(1.0, 100.0, 1.0) == pytest.approx(100)
    assert score_of(1000.0, 100.0, 1.0) == pytest.approx(-50)
    assert score_of(1e9, 100.0, 1.0) == WORST


def test_the_interval_of_a_case_is_the_jackknife_of_the_ratio_of_means() -> None:
    mine, its, bounds = [8.0, 12.0, 10.0], [20.0, 30.0, 16.0], [2.0, 2.0, 2.0]
    value, variance = case_score(mine, its, bounds)
    assert value == pytest.approx(100 * math.log(22 / 10) / math.log(22 / 2))
    left = []
    for out in range(3):
        a, b = (np.mean([x for n, x in enumerate(side) if n != out]) for side in (mine, its))
        left.append(100 * math.log(b / a) / math.log(b / 2))
    assert variance == pytest.approx(2 / 3 * sum((x - np.mean(left)) ** 2 for x in left))
    whole = suite_score([(value, variance), (0.0, 0.0)], 3)
    assert whole.mean == pytest.approx(value / 2)
    assert whole.high is not None and whole.mean is not None
    assert whole.high - whole.mean == pytest.approx(
        4.302652729911275 * math.sqrt(variance) / 2
    )  # Student's t, 2 degrees of freedom


def test_one_seed_has_no_interval() -> None:
    assert suite_score([case_score([1.0], [2.0], [0.5])], 1).low is None


@pytest.mark.parametrize(("example", "kind"), [("worst_fit", "WorstFit"), ("smallest_first", "SmallestFirst")])
def test_a_candidate_in_its_process_schedules_as_in_the_simulator(
    example: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    policy = getattr(__import__(example), kind)()
    sandboxed = Sandboxed((EXAMPLES / f"{example}.py").read_text(), kind)
    workload = packenv.workload("paper/fig4b", intensity=0.85)
    try:
        for slots in (3000, 1000):  # a second run begins anew
            here, there = (packenv.simulate(workload, each, slots=slots, seed=5, schedule=True) for each in (policy, sandboxed))
            assert here.schedule is not None and there.schedule is not None
            assert (here.schedule.start == there.schedule.start).all() and (here.schedule.server == there.schedule.server).all()
    finally:
        close_all()


NEAREST = """
from packenv.cluster import NONE, estimate_of, fits, level_of, next_in_queue, oldest, place, row_of, server_count


class Nearest:
    def schedule(self, cluster, state):
        waiting, task = [], oldest(cluster)
        while task != NONE:
            waiting.append(task)
            task = next_in_queue(cluster, task)
        for task in sorted(waiting, key=lambda task: estimate_of(cluster, task)):
            room = [server for server in range(server_count(cluster)) if fits(cluster, task, server)]
            if room:
                place(cluster, task, min(room, key=lambda server: level_of(cluster, row_of(cluster, task), server)))
"""


def tables() -> list[Workload]:
    """One whose tasks have homes and estimates, and one whose tasks need devices."""
    draw = np.random.default_rng(4)
    arrival, service = np.sort(draw.integers(0, 2000, 1500)), draw.integers(1, 30, 1500)
    homes = [[int(server) for server in draw.choice(6, draw.integers(0, 4), replace=False)] for _ in arrival]
    sizes = draw.choice([0.2, 0.3, 0.5], 1500)
    near = Jobs.of(arrival, sizes, service, home=homes, estimate=draw.uniform(1, 30, 1500), remote_overhead=np.full(1500, 7))
    whole = draw.random(1500) < 0.5
    share = np.where(whole, 0, draw.integers(1, 9, 1500) * 100)
    devices = np.column_stack([np.ones(1500, np.int64), share, draw.integers(0, 4, 1500)])
    demand = np.column_stack([sizes, np.where(whole, 1, share / 1000)])
    gpu = Jobs.of(arrival, demand, service, devices=devices, device_kinds=("A", "B"))
    return [
        Workload(servers=6, jobs=near, network=Network(racks=3)),
        Workload(servers="3x1:2@2*A,3x1:2@2*B", jobs=gpu, resources=("cpu", "gpu")),
    ]


@pytest.mark.parametrize("number", [0, 1])
def test_a_candidate_sees_estimates_home_servers_and_devices(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packenv_score.child.FIRST_ROOM", 8)
    workload, names = tables()[number], dict[str, Any]()
    exec(NEAREST, names)
    try:
        policies = names["Nearest"](), Sandboxed(NEAREST, "Nearest")
        here, there = (packenv.simulate(workload, each, drain=True, schedule=True) for each in policies)
        assert here.schedule is not None and there.schedule is not None
        for mine, its in zip(here.schedule, there.schedule, strict=True):
            assert (mine is None) == (its is None) and (mine is None or (mine == its).all())
    finally:
        close_all()


def test_the_replay_finds_a_stay_and_devices_that_cannot_be() -> None:
    near, gpu = tables()
    for workload in (near, gpu):
        schedule = packenv.simulate(workload, "bf-js", drain=True, schedule=True).schedule
        assert schedule is not None and workload.jobs is not None
        assert problem_of_places(workload, workload.jobs, schedule) is None
        end, devices = schedule.end.copy(), schedule.devices
        end[7] += 7
        longer = problem_of_places(workload, workload.jobs, schedule._replace(end=end))
        assert longer is not None and longer.startswith("row 7 stays" if workload is near else "a device of server 1 is above")
        if devices is not None:
            other = problem_of_places(workload, workload.jobs, schedule._replace(devices=devices * 2))
            assert other is not None and "devices that it may not have" in other
            first = problem_of_places(workload, workload.jobs, schedule._replace(devices=np.ones_like(devices)))
            assert first is not None and first.startswith("a device of server")


def test_best_fit_as_a_rule_scores_0(quick: str, tmp_path: Path) -> None:
    (tmp_path / "rule.py").write_text(BEST_FIT)
    result = score(tmp_path / "rule.py", suite=quick, processes=1, seed=1, stages=2)
    assert (result.value, result.score.low, result.fault, result.lines) == (0, 0, None, 2)
    assert result.cases[0].ratio.mean == 1


def test_what_waits_very_long_is_no_fault_if_it_starts_when_nothing_else_is_left(quick: str) -> None:
    """VQS-BF starts the smallest of a type last: in most of these runs one waits for over half of the run."""
    result = score("vqs-bf", suite=quick, processes=1, seed=0, stages=2)
    assert result.fault is None and result.cases[0].score.mean == result.value < 0


def test_the_order_is_that_of_the_mean_queues(quick: str) -> None:
    both = score(["fifo-ff", "agent:fig4b", "bf-js"], suite=quick, processes=1, seed=3, stages=2)
    assert [each.candidate for each in both.ranked] == ["agent:fig4b", "bf-js", "fifo-ff"]
    assert [record["candidate"] for record in both.plain] == ["agent:fig4b", "bf-js", "fifo-ff"]
    assert [(row["candidate"], row["case"]) for row in both.records][:1] == [("agent:fig4b", both.ranked[0].cases[0].case)]
    assert both.ranked[1].value == 0 and both.ranked[2].value < -10
    again = score("agent:fig4b", suite=quick, processes=1, seed=3, stages=2)
    assert [*again.plain[0]] == [*both.plain[0]] and [*again.records[0]] == [*both.records[0]], "one form for one and for several"
    assert again.value == both.ranked[0].value, "the same seed gives the same score"
    other = score("agent:fig4b", suite=quick, processes=1, stages=2)
    assert other.value != again.value, "without a seed the jobs are drawn anew"


def test_the_first_stage_measures_nothing(quick: str) -> None:
    result = score("bf-js", suite=quick, processes=1, stages=1)
    assert (result.value, result.seeds, result.stage, result.cases) == (0, 0, 1, ())
    (row,) = result.records
    assert (row["candidate"], row["score"], row["case"], row["value"]) == ("bf-js", None, None, None)


def test_the_test_side_has_other_loads_and_jobs(quick: str) -> None:
    sides = [score("bf-j", suite=quick, processes=1, seed=1, stages=2, test=test) for test in (False, True)]
    assert [each.cases[0].case for each in sides] == ["paper/fig4b, intensity 0.9", "paper/fig4b, intensity 0.85"]
    assert [each.side for each in sides] == ["train", "test"]


@pytest.mark.parametrize(
    ("program", "fault"),
    [
        ("def priority(:\n", "line 1: no Python"),
        ("x = 1\n", "neither a function `priority(task, server, cluster)` nor a class"),
        (
            "class A:\n    def schedule(self, c, s): pass\nclass B:\n    def schedule(self, c, s): pass\n",
            "several policies, A, B",
        ),
        ("import os\ndef priority(task, server, cluster):\n    return os.getpid()\n", "line 1"),
        ("def priority(task, server, cluster):\n    while True:\n        pass\n", "line 2"),
        ("class A:\n    def schedule(self, c, s): pass\n", "it never starts"),
    ],
)
def test_a_file_that_is_no_candidate_has_a_fault(program: str, fault: str, quick: str, tmp_path: Path) -> None:
    (tmp_path / "c.py").write_text(program)
    result = score(tmp_path / "c.py", suite=quick, processes=1)
    assert result.fault is not None and fault.split(":")[0].removeprefix("line ") in result.fault, result.fault
    assert (result.value, result.correct, result.stage) == (WORST, False, 1)


@pytest.mark.parametrize(
    ("plain", "problem"),
    [
        ({"train": []}, "a suite is an object with a list `train`"),
        ({"train": [{"slots": 10}]}, r"train\[0\]: names no workload"),
        ({"train": [{"workload": "paper/fig9"}]}, r"train\[0\]: unknown workload 'paper/fig9'"),
        ({"train": [{"workload": "paper/fig4b", "slot": 1}]}, r"train\[0\]: unknown key 'slot'"),
        ({"train": [{"workload": "paper/fig4b", "slots": 0}]}, r"train\[0\]: slots must be a whole number of at least 1, not 0"),
        ({"train": [{"workload": "paper/fig4b", "window": 5}]}, r"train\[0\]: window needs a table"),
        ({"train": [{"workload": "dag", "slots": 5}]}, r"train\[0\]: slots go with random tasks"),
        ({"train": [{"workload": "paper/fig4b"}], "reference": "bf-jz"}, "unknown policy 'bf-jz'; did you mean bf-j"),
        ({"train": [{"workload": "paper/fig4b"}], "trial": []}, "unknown key 'trial'"),
    ],
)
def test_a_suite_that_cannot_be_is_refused_in_a_line(plain: object, problem: str, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps(plain))
    with pytest.raises(InputError, match=problem) as raised:
        load_suite(str(tmp_path / "s.json"))
    assert "\n" not in str(raised.value)


def test_unknown_names_are_refused(quick: str) -> None:
    for source, suite in (("nosuch.py", quick), ("nosuch", quick), ("bf-js", "one-resourc"), ("bf-js", "nosuch.json")):
        with pytest.raises(InputError):
            score(source, suite=suite)


def test_the_suites_that_come_with_packenv_can_be_read() -> None:
    assert {"one-resource", "several-resources", "jobs", "batch"} <= {*suite_names()}
    for name in suite_names():
        suite = load_suite(name)
        assert suite.name == name and suite.about and suite.train and suite.test
        assert not {case.title for case in suite.train} & {case.title for case in suite.test}


def test_windows_are_places_of_a_log() -> None:
    case = load_suite("batch").train[0]
    one, two, again = (case.workload.at(seed).jobs for seed in (1, 2, 1))
    assert one is not None and two is not None and again is not None
    assert len(one) == len(two) == 1000 and one.arrival[0] == two.arrival[0] == 0
    assert (one.service == again.service).all() and not (one.service == two.service).all()


def test_classes_with_a_schedule_are_found_without_importing_the_file() -> None:
    import ast

    tree = ast.parse((EXAMPLES / "smallest_first.py").read_text())
    assert policy_classes(tree) == ["SmallestFirst"]


def test_a_run_of_a_table_that_never_ends_is_a_fault() -> None:
    class Never:
        name = "never"

        def schedule(self, cluster: object, state: object) -> None:
            pass

    case = load_suite("batch").train[0]
    run = play(Play(0, case, Never(), 1, None))
    assert run.fault is not None and run.fault.startswith("it never starts 1,000 of 1,000 tasks")


def test_toy_clusters_are_like_those_of_the_suite() -> None:
    for suite in map(load_suite, suite_names()):
        for case in suite.train:
            small, jobs = toy(case), case.workload.jobs
            assert small.workload.D == case.workload.D and small.workload.has_devices == case.workload.has_devices
            if jobs is not None:
                assert small.workload.jobs is not None and (small.workload.jobs.home is None) == (jobs.home is None)
