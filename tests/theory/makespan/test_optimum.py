"""The offline optimum: against brute force and cases by hand, below every policy, and replayed to the slot."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packenv
from packenv import InputError, Jobs, Ragged, Workload, optimal_schedule
from packenv.policies import Replay
from packenv.results.schedule_table import Schedule
from packenv.theory.makespan import cp_sat
from packenv.theory.makespan.annealing import anneal, schedule_list
from packenv.theory.makespan.cp_sat import improve, numbered
from packenv.theory.makespan.tasks import tasks_of
from tests.theory.makespan.brute_force import shortest_makespan

SERVERS = ("1x1:1", "2x1:1", "1x1:0.5,1x0.6:1", "3x0.7:0.7")


def table(*rows: tuple[Any, int], servers: Any, arrival: Any = 0, **columns: Any) -> Workload:
    """A workload of (size, service)."""
    size, service = zip(*rows, strict=True)
    return Workload(jobs=Jobs.of(np.zeros(len(rows)) + arrival, size, service, **columns), servers=servers)


def drawn(rng: random.Random, n: int, servers: str) -> Workload:
    """Two resources; half the tables have phases of one or more tasks, some have predecessors too, arrivals and values."""
    arrival = sorted(rng.choice([0, 0, 1, 3, 7]) for _ in range(n)) if rng.random() < 0.5 else [0] * n
    size = [(rng.choice([0, 1, 2, 3, 5]) / 10, rng.choice([1, 2, 4, 5]) / 10) for _ in range(n)]
    value, job = np.array([rng.random() for _ in range(n + 1)]), [*range(n)]
    columns: dict[str, Any] = {}
    if rng.random() < 0.5:
        job = [rng.randrange(2) for _ in range(n)]
        columns["job"] = np.array(job)
        columns["phase"] = np.array([sum(job[k] == job[i] for k in range(i)) // 2 for i in range(n)])
    if rng.random() < 0.4:
        columns["predecessors"] = Ragged.of([rng.sample(range(i), k=min(i, 1)) if rng.random() < 0.5 else [] for i in range(n)])
    service = [rng.randint(1, 5) for _ in range(n)]
    return Workload(jobs=Jobs.of(arrival, size, service, value=value[job], **columns), servers=servers)


def setting_like_fig3(seed: int, jobs: int = 30, phases: int = 5) -> Workload:
    """The setting of Zhang and Yao's figure 3: two machines of 50 units of two resources, demands up to 30, services up to 9."""
    rng = np.random.default_rng(seed)
    length = rng.integers(1, phases + 1, jobs)
    n = int(length.sum())
    phase = np.concatenate([np.arange(k) for k in length])
    demand = rng.integers(1, 31, (n, 2)) / 50
    made = Jobs.of(np.zeros(n), demand, rng.integers(1, 10, n), job=np.repeat(np.arange(jobs), length), phase=phase)
    return Workload(jobs=made, servers="2x1:1")


# Jobs (A 5, B 2) and (A 1, B 3): one after the other through A, then B.
FLOW_SHOP = ((1, 0), 5), ((0, 1), 2), ((1, 0), 1), ((0, 1), 3)


def flow_shop() -> Workload:
    return table(*FLOW_SHOP, servers="1x1:1", job=np.array([0, 0, 1, 1]), phase=np.array([0, 1, 0, 1]))


def makespan(workload: Workload, policy: Any) -> int:
    result = packenv.simulate(workload, policy, drain=True, schedule=True)
    assert workload.jobs is not None and result.schedule is not None
    assert (result.schedule.start >= 0).all()
    return int(result.schedule.end.max() - workload.jobs.arrival[0])


def test_flow_shop() -> None:
    """PAPERS §3: FIFO 10, the other way round 8, which is optimal (Johnson)."""
    best = optimal_schedule(flow_shop(), 10, warm_start=("fifo-ff", "no-such-policy"), workers=1)
    assert (best.makespan, best.bound, best.proven, best.gap) == (8, 8, True, 0)
    assert best.schedule.start.tolist() == [1, 6, 0, 1]
    assert best.history[0][1:] == (10, 8) and best.history[-1][1:] == (8, 8)
    assert makespan(flow_shop(), "fifo-ff") == 10
    assert makespan(flow_shop(), "packenv.policies:Sat:limit=10,workers=1") == 8


@pytest.mark.parametrize("seed", range(16))
def test_brute_force(seed: int) -> None:
    """CP-SAT alone, and all together."""
    workload = drawn(random.Random(seed), 5, SERVERS[seed % len(SERVERS)])
    expected = shortest_makespan(workload)
    tasks = tasks_of(workload)
    assert tasks.bound * tasks.tick <= expected
    first = schedule_list(tasks, tasks.longest_tail_first())
    found, bound = improve(tasks, first, 30, 1, 0)
    assert (found.makespan * tasks.tick, bound * tasks.tick) == (expected, expected)
    assert tasks.fault(tasks.origin + found.start * tasks.tick, found.server) is None
    best = optimal_schedule(workload, 30, warm_start=(), workers=1)
    assert (best.makespan, best.bound) == (expected, expected)


def test_a_gap_ends_the_search() -> None:
    workload = setting_like_fig3(1)
    near = optimal_schedule(workload, 60, gap=0.1, warm_start=(), workers=1)
    assert 0 < near.gap <= 0.1 and not near.proven and near.seconds < 50
    again = optimal_schedule(workload, 60, gap=0.1, warm_start=(), workers=1)
    assert (again.schedule.start == near.schedule.start).all()
    tasks = tasks_of(workload)
    known = schedule_list(tasks, tasks.longest_tail_first())
    found, bound = improve(tasks, known, 60, 1, 0, gap=known.makespan / tasks.bound - 1)
    assert found.makespan <= known.makespan and found.makespan <= bound * known.makespan / tasks.bound + 1e-9
    for wrong in (-0.1, float("inf"), float("nan")):
        with pytest.raises(InputError, match="a number from 0 on"):
            optimal_schedule(workload, 60, gap=wrong)


def test_a_program_that_takes_longer_to_build_than_there_is_time_is_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = tasks_of(setting_like_fig3(0))
    known = schedule_list(tasks, tasks.longest_tail_first())

    def build(*args: Any) -> None:
        raise AssertionError("built")

    monkeypatch.setattr(cp_sat, "ScheduleModel", build)
    for seconds in (-1.0, 0.0, 0.9 * len(tasks) * len(tasks.capacity) / cp_sat.BUILT):
        assert improve(tasks, known, seconds, 1, 0) == (known, tasks.bound)
    with pytest.raises(AssertionError, match="built"):
        improve(tasks, known, 1.0, 1, 0)


def test_the_clauses_that_number_servers_grow_no_faster_than_the_tasks() -> None:
    """A clause per row would name all rows before it: 90 million literals for 3,000 tasks on 20 servers."""

    def literals(n: int) -> int:
        tasks = tasks_of(table(*[(0.3, 1 + k % 5) for k in range(n)], servers=4))
        program = cp_sat.ScheduleModel(tasks, schedule_list(tasks, tasks.longest_tail_first()))
        return sum(len(one.bool_or.literals) for one in program.model.proto.constraints)

    assert literals(200) == literals(100) > literals(20) > 0


def test_annealing_alone_is_optimal_on_small_tables() -> None:
    for seed in range(8):
        workload = drawn(random.Random(100 + seed), 5, SERVERS[seed % len(SERVERS)])
        tasks = tasks_of(workload)
        found = anneal(tasks, tasks.longest_tail_first(), 10, 0)
        assert found.makespan * tasks.tick == shortest_makespan(workload)


def test_fixed_allocation() -> None:
    """Work 6, 4, 3, 2 in shares times slots: servers 0, 1, 1 (4 < 6), 0 (6 < 7); beforehand, whatever is free then."""
    workload = table((1.0, 6), (1.0, 4), (0.75, 4), (0.5, 4), servers=2)
    tasks = tasks_of(workload, fixed_allocation=True)
    assert tasks.fixed is not None and tasks.fixed.tolist() == [0, 1, 1, 0]
    best = optimal_schedule(workload, 30, fixed_allocation=True, warm_start=(), workers=1)
    assert (best.makespan, best.proven) == (10, True)
    assert best.schedule.server.tolist() == [0, 1, 1, 0]
    for seed in range(6):
        workload = drawn(random.Random(200 + seed), 5, "2x1:1")
        allowed = [np.flatnonzero(row).tolist() for row in tasks_of(workload, fixed_allocation=True).allowed]
        best = optimal_schedule(workload, 30, fixed_allocation=True, warm_start=(), workers=1)
        assert (best.makespan, best.proven) == (shortest_makespan(workload, allowed), True)
        assert [[server] for server in best.schedule.server] == allowed


@settings(max_examples=12, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 14), servers=st.sampled_from(SERVERS))
def test_no_policy_is_shorter_and_the_replay_is_exact(seed: int, n: int, servers: str) -> None:
    workload = drawn(random.Random(seed), n, servers)
    best = optimal_schedule(workload, 5, warm_start=(), workers=1)
    for policy in ("bf-js", "fifo-ff"):
        assert makespan(workload, policy) >= (best.makespan if best.proven else best.bound)
    replayed = packenv.simulate(workload, Replay(*best.schedule[:2]), drain=True, schedule=True)
    assert replayed.schedule is not None
    for mine, its in zip(best.schedule[:3], replayed.schedule[:3], strict=True):
        assert mine.tolist() == its.tolist()
    assert makespan(workload, Replay(*best.schedule[:2])) == best.makespan


def test_times_with_a_common_part() -> None:
    """Services and arrivals are multiples of 30 slots, from slot 1000 on."""
    workload = table((1.0, 300), (0.5, 60), (0.5, 90), servers=1, arrival=[1000, 1000, 1060])
    assert tasks_of(workload).tick == 30
    best = optimal_schedule(workload, 10, warm_start=(), workers=1)
    assert (best.makespan, best.proven) == (390, True)  # 300 first, then 60 beside 90
    assert best.schedule.start.min() == 1000
    assert makespan(workload, Replay(*best.schedule[:2])) == 390


def test_bounds_by_hand() -> None:
    def bound(workload: Workload) -> int:
        tasks = tasks_of(workload)
        return tasks.bound * tasks.tick

    assert bound(flow_shop()) == 8  # 6 on A, and the shortest tail behind it 2
    assert bound(table((0.6, 4), (0.6, 4), (0.6, 5), servers=2)) == 7  # each fills a server: 13 over 2
    assert bound(table((0.6, 4), (0.6, 4), (0.6, 4), servers=2)) == 8  # the same, in steps of 4
    assert bound(table((0.5, 4), (0.5, 4), (0.25, 7), servers=1)) == 7  # the longest, above 5.75 of work
    assert bound(table((0.5, 4), (0.5, 5), (0.25, 6), (0.5, 3), servers=1)) == 8  # 7.5 of work
    assert bound(table((1.0, 2), (1.0, 3), servers="1x2,1x1", arrival=[0, 9])) == 12


def test_like_servers_are_numbered_by_their_first_row() -> None:
    tasks = tasks_of(table(*[(0.6, 1)] * 5, servers="2x1,1x2,1x1"))
    assert numbered(tasks, np.array([3, 2, 1, 3, 0])).tolist() == [0, 2, 1, 0, 3]


def test_same_seed_same_schedule() -> None:
    workload = drawn(random.Random(7), 9, "2x1:1")
    first, second = (optimal_schedule(workload, 30, warm_start=(), workers=1, seed=3) for _ in range(2))
    assert first.schedule.start.tolist() == second.schedule.start.tolist()
    assert first.schedule.server.tolist() == second.schedule.server.tolist()


def test_too_short_a_limit_gives_a_schedule_and_a_bound() -> None:
    workload = setting_like_fig3(0)
    heard: list[tuple[float, int, int]] = []
    best = optimal_schedule(workload, 0.5, warm_start=(), workers=1, progress=lambda *step: heard.append(step))
    assert not best.proven and best.bound < best.makespan < 1.3 * best.bound
    assert heard == list(best.history) and best.history[-1][1:] == (best.makespan, best.bound)
    assert [step[1] for step in heard] == sorted([step[1] for step in heard], reverse=True)
    assert makespan(workload, Replay(*best.schedule[:2])) == best.makespan


def test_the_hint_is_the_worst_that_comes_out() -> None:
    workload = setting_like_fig3(1, jobs=12)
    good = optimal_schedule(workload, 3, warm_start=(), workers=1)
    again = optimal_schedule(workload, 0.01, hint=good.schedule, workers=1)
    assert again.makespan <= good.makespan
    wrong = Schedule(good.schedule.start * 0, good.schedule.server, good.schedule.end)
    assert optimal_schedule(workload, 0.01, hint=wrong, workers=1).makespan >= good.bound  # not taken at its word


def test_without_or_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(InputError, match=r"needs ortools, which is not installed: pip install 'ortools"):
        optimal_schedule(flow_shop())
    with pytest.raises(InputError, match=r"pip install 'ortools"):
        packenv.simulate(flow_shop(), "packenv.policies:Sat")


@pytest.mark.parametrize(
    "options, problem",
    [({"time_limit": 0}, "time limit must be positive"), ({"workers": 0}, "workers must be at least 1")],
)
def test_bad_options(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        optimal_schedule(flow_shop(), **options)


def test_bad_workloads() -> None:
    with pytest.raises(InputError, match="has no Jobs table"):
        optimal_schedule(packenv.workload("paper/fig4b"))
    remote = {"home": Ragged.of([[0], [0]]), "remote_overhead": np.array([1, 0])}
    with pytest.raises(InputError, match="does not model remote reading"):
        optimal_schedule(table((0.5, 1), (0.5, 1), servers=2, **remote))


@pytest.mark.parametrize(
    "start, server, problem",
    [
        ([1, 6, 0], [0, 0, 0], "a schedule of 3 tasks, for a table of 4"),
        ([1, 5, 0, 1], [0] * 4, "row 1 starts in slot 5 and is not eligible then"),
        ([-1, 6, 0, 1], [0] * 4, "row 1 starts in slot 6 and is not eligible then"),
        ([0, 6, 0, 1], [0] * 4, "row 2 does not fit on server 0 in slot 0"),
        ([1, 6, 0, 1], [0, 0, 1, 0], "row 2: there is no server 1"),
    ],
)
def test_a_replay_that_the_cluster_does_not_allow(start: list[int], server: list[int], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        packenv.simulate(flow_shop(), Replay(np.array(start), np.array(server)))


def test_a_replay_beside_work_that_is_there_already() -> None:
    workload = table((0.6, 3), (0.5, 2), servers=1)
    schedule = Replay(np.array([0, 3]), np.array([0, 0]))
    assert makespan(workload, schedule) == 5
    with pytest.raises(InputError, match="policy replay: a start of the schedule is refused"):
        packenv.simulate(workload, schedule, initial=[(0.5, 0, 2)])


def test_a_replay_may_leave_tasks_out() -> None:
    workload = table((0.6, 3), (0.5, 2), (0.5, 2), servers=1)
    result = packenv.simulate(workload, Replay(np.array([4, -1, 0]), np.array([0, -1, 0])), schedule=True)
    assert result.schedule is not None
    assert (result.schedule.start.tolist(), result.started, result.waiting, result.slots) == ([4, -1, 0], 2, 1, 7)
