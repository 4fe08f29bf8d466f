"""`packenv.simulate`: cases worked by hand, horizons, Little's law, and what must not change a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import packenv
from packenv import InputError, Jobs, Ragged, Workload
from packenv.policy import find_policy, name_of
from packenv.workloads import source
from packenv.workloads.laws import Constant, Fixed, Geometric, Uniform

POLICIES = ("bf-j", "bf-s", "bf-js", "vqs", "vqs-bf", "fifo-ff", "slot-fifo", "maxweight:J=3")


def table(*rows: tuple[int, Any, int], servers: Any = 1, **columns: Any) -> Workload:
    """A workload of (arrival, size, service)."""
    arrival, size, service = zip(*rows, strict=True)
    return Workload(jobs=Jobs.of(arrival, size, service, **columns), servers=servers)


def run(workload: Workload, policy: Any = "bf-js", slots: int | None = None, **options: Any) -> packenv.Result:
    return packenv.simulate(workload, policy, slots, schedule=True, **options)


def starts(result: packenv.Result) -> list[tuple[int, int]]:
    assert result.schedule is not None
    return list(zip(result.schedule.start.tolist(), result.schedule.server.tolist(), strict=True))


def busy(servers: Any = 3, seed: int = 0, n: int = 400) -> Workload:
    """A finite table with some waiting."""
    law = Workload(sizes=Uniform(0.1, 0.45), service=Geometric(20), servers=servers, intensity=0.95)
    return Workload(jobs=law.jobs_table(seed, n), servers=servers)


# Slots:        0  1  2  3  4  5  6  7     one server; row 0 of size 0.6 for 3 slots, row 1 of 0.5 for 2 waits for it,
# waiting:      1  1  1  1  1  0  0  0     row 2 of 0.4 for 2 starts beside row 0, row 3 of 1.0 for 1 waits from 3 to 5
# in service:  .6 1.0 1.0 .5 .5 1.0
HAND = ((0, 0.6, 3), (0, 0.5, 2), (1, 0.4, 2), (3, 1.0, 1))


def test_worked_by_hand() -> None:
    result = run(table(*HAND), "bf-j", drain=True)
    assert starts(result) == [(0, 0), (3, 0), (1, 0), (5, 0)]
    assert (result.slots, result.arrived, result.started, result.completed, result.waiting) == (6, 4, 4, 4, 0)
    assert result.mean_queue == 5 / 6
    assert result.max_queue == 1
    assert result.mean_delay == 5 / 4
    assert (result.delay_p50, result.delay_p95, result.delay_p99) == (0, 3, 3)  # delays 0, 3, 0, 2
    assert result.utilisation == pytest.approx(((0.6 * 3 + 0.5 * 2 + 0.4 * 2 + 1.0) / 6,), abs=1e-6)
    assert result.mean_waiting_size == pytest.approx((0.5 * 3 + 1.0 * 2) / 6, abs=1e-6)
    assert result.to_dict()["verdict"] is None and "verdict" not in dict(result.facts())  # its work ends


def test_delay_quantiles_are_ranks() -> None:
    """100 tasks one after the other, all there at slot 0: delays 0 .. 99."""
    result = run(table(*[(0, 1.0, 1)] * 100), "fifo-ff", drain=True)
    assert (result.delay_p50, result.delay_p95, result.delay_p99, result.max_queue) == (49, 94, 98, 99)
    assert result.mean_delay == 49.5
    assert result.slots == 100


def test_two_resources_and_unequal_servers() -> None:
    rows = ((0, (0.6, 0.1), 4), (0, (0.6, 0.1), 4), (0, (0.4, 0.4), 1), (1, (0.1, 0.9), 1))
    result = run(table(*rows, servers=[(1, 1), (0.5, 1)]), "fifo-ff", drain=True)
    assert starts(result) == [(0, 0), (4, 0), (4, 0), (4, 1)]
    assert result.utilisation == pytest.approx(((0.6 * 8 + 0.4 + 0.1) / 1.5 / 8, (0.1 * 8 + 0.4 + 0.9) / 2 / 8), abs=1e-6)
    tall = table((0, 0.5, 2), (0, 0.5, 2), (0, 1.0, 2), servers="1x1,1x0.5")
    assert starts(run(tall, "bf-j", drain=True)) == [(0, 1), (0, 0), (2, 0)]  # the tightest of unequal servers
    assert starts(run(tall, "bf-s", drain=True)) == [(0, 1), (2, 0), (0, 0)]


def test_horizons() -> None:
    workload = table((0, 1.0, 4), (1, 1.0, 4), (2, 1.0, 4))
    through = run(workload)
    assert (through.slots, through.arrived, through.started, through.waiting) == (3, 3, 1, 2)
    assert through.mean_queue == (0 + 1 + 2) / 3
    assert run(workload, drain=True).slots == 12
    both = run(workload, slots=2, drain=True)  # row 2 would arrive in slot 2
    assert (both.slots, both.arrived, both.completed) == (8, 2, 2)
    assert run(workload, slots=100).slots == 100
    assert run(workload, slots=100).mean_queue == (1 + 2 * 2 + 4) / 100
    warm = run(workload, slots=8, warmup=2)
    assert (warm.warmup, warm.mean_queue) == (2, (2 * 2 + 4) / 6)
    assert warm.mean_delay is None  # only row 2 became eligible from slot 2 on, and it starts in 8
    assert run(workload, slots=9, warmup=2).mean_delay == 6
    random = Workload(sizes=Uniform(0.1, 0.9), service=Fixed(10), servers=2, intensity=0.5)
    assert packenv.simulate(random, "bf-js", 1000).warmup == 100
    with pytest.raises(InputError, match="number of slots"):
        packenv.simulate(random, "bf-js")
    for slots, options in ((0, {}), (-1, {}), (5, {"warmup": 5}), (5, {"warmup": -1})):
        with pytest.raises(InputError, match=r"`(slots|warmup)` must be a whole number|warmup must lie"):
            packenv.simulate(random, "bf-js", slots, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", POLICIES)
def test_littles_law_and_counts(policy: str) -> None:
    workload = busy()
    assert workload.jobs is not None
    result = run(workload, policy, drain=True)
    assert result.schedule is not None
    delays = result.schedule.start - workload.jobs.arrival
    assert delays.min() >= 0
    assert result.waiting == 0
    assert result.started == result.completed == result.arrived == len(delays)
    assert round(result.mean_queue * result.slots) == delays.sum()
    assert result.mean_delay == delays.sum() / len(delays)
    assert result.max_queue > 0
    work = (workload.jobs.demand[:, 0] * workload.jobs.service).sum() / packenv.UNIT
    assert result.utilisation[0] * 3 * result.slots == pytest.approx(work)
    short = run(workload, policy, slots=150)
    assert short.arrived == short.started + short.waiting == (workload.jobs.arrival < 150).sum()
    assert short.schedule is not None
    assert (short.schedule.start >= 0).sum() == short.started
    bins = short.trajectory.queue
    assert bins.sum() * short.trajectory.bin_slots == pytest.approx(short.mean_queue * 150)


@pytest.mark.parametrize("policy", POLICIES)
def test_random_workload_is_its_table(policy: str) -> None:
    workload = Workload(sizes=Uniform(0.1, 0.45), service=Geometric(20), servers=3, intensity=0.9)
    made = run(workload, policy, slots=2500, seed=7, warmup=0)
    jobs = workload.jobs_table(7, made.arrived + 1)
    again = run(Workload(jobs=jobs, servers=3), _same_parameters(policy, workload), slots=2500)
    assert starts(made) == starts(again)[: made.arrived]
    assert (made.mean_queue, made.utilisation, made.max_queue) == (again.mean_queue, again.utilisation, again.max_queue)
    assert starts(made) == starts(run(workload, policy, slots=2500, seed=7, warmup=0))
    assert starts(made) != starts(run(workload, policy, slots=2500, seed=8, warmup=0))


def _same_parameters(policy: str, workload: Workload) -> str:
    """Defaults come from the law of sizes; a table of some of its draws may give others."""
    return {"vqs": f"vqs:J={workload.default_levels()}", "vqs-bf": f"vqs-bf:J={workload.default_levels()}"}.get(
        policy, f"{policy}:slots=2" if policy == "slot-fifo" else policy
    )


@pytest.mark.parametrize("policy", POLICIES)
def test_a_backlog_is_the_table_of_what_came(policy: str) -> None:
    """Every start lets a task come in the slot after it: as a table with these arrivals, it is the same run."""
    backlog, slots = 12, 2500
    workload = Workload(sizes=Uniform(0.1, 0.45), service=Geometric(20), servers=3, intensity=0.5)
    made = run(workload, policy, slots, seed=7, warmup=0, backlog=backlog)
    started = np.sort([start for start, _ in starts(made) if start >= 0])
    came = [slot for slot in (*[0] * backlog, *(started + 1).tolist()) if slot < slots]
    assert made.arrived == len(came) > 700
    assert (made.max_queue, made.waiting) == (backlog, len(came) - made.started)
    law = workload.jobs_table(7, len(came))
    jobs = Jobs(np.array(came), law.demand, law.service)
    again = run(Workload(jobs=jobs, servers=3), _same_parameters(policy, workload), slots=slots)
    assert starts(made) == starts(again)
    assert (made.mean_queue, made.utilisation) == (again.mean_queue, again.utilisation)
    assert made.verdict.plain == {"verdict": None, "confidence": None}


def test_a_backlog_shows_what_a_policy_can_carry() -> None:
    """Best fit leaves less of the servers unused the more it can choose from; tasks of half a server leave nothing."""
    workload = packenv.workload("paper/fig4b")
    used = [packenv.simulate(workload, "bf-js", 200_000, backlog=backlog).utilisation[0] or 0.0 for backlog in (5, 50, 500)]
    assert used[0] < used[1] < used[2] < 1
    halves = workload.with_(sizes=Constant(0.5))
    full = packenv.simulate(halves, "bf-js", 2000, backlog=8, warmup=100)
    assert full.utilisation == pytest.approx((1.0,), abs=1e-6)
    drained = packenv.simulate(halves, "bf-js", 2000, backlog=8, drain=True)
    assert drained.waiting == 0 and drained.arrived == drained.completed > 150


def test_backlogs_that_cannot_be() -> None:
    workload = packenv.workload("paper/fig4b")
    for of, options, problem in (
        (workload, {"backlog": 0}, "backlog must lie between 1 and"),
        (workload, {"backlog": 11, "waiting_limit": 10}, "between 1 and 10"),
        (table(*HAND), {"backlog": 3}, "needs a random workload"),
    ):
        with pytest.raises(InputError, match=problem):
            packenv.simulate(of, "bf-js", 100, **options)  # type: ignore[arg-type]


def test_chunk_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = Workload(sizes=Uniform(0.1, 0.9), service=Geometric(20), servers=3, intensity=0.9)
    expected = starts(run(workload, slots=20_000))
    assert len(expected) > 1500
    original = source.random_source
    monkeypatch.setattr("packenv.workloads.source.random_source", lambda *arguments: original(*arguments[:4], 3))
    assert starts(run(workload, slots=20_000)) == expected


def test_pool_growth_does_not_matter() -> None:
    """3000 tasks at once need three doublings of the pool of 1024; what starts is as if they came to a small one."""
    rng = np.random.default_rng(1)
    sizes, services = rng.integers(1, 12, 3000) / 12, rng.integers(1, 9, 3000)
    workload = table(*[(0, float(s), int(d)) for s, d in zip(sizes, services, strict=True)], servers=2)
    for policy in ("bf-j", "bf-s", "vqs:J=4", "vqs-bf:J=4"):
        result = run(workload, policy, drain=True)
        assert result.started == result.completed == 3000
        assert result.schedule is not None
        assert round(result.mean_queue * result.slots) == result.schedule.start.sum()
    order = np.lexsort((np.arange(3000), -sizes))  # bf-s starts with the largest, earlier rows first
    first = run(workload, "bf-s", drain=True).schedule
    assert first is not None
    assert first.start[order[0]] == 0
    same = first.start[np.flatnonzero(sizes == 11 / 12)]
    assert (np.diff(same) >= 0).all()


def test_initial_jobs() -> None:
    workload = table((0, 0.5, 1), (0, 0.5, 1))
    result = run(workload, "bf-j", drain=True, initial=[(0.25, 0, 4), (0.25, 0, 2)])
    assert starts(result) == [(0, 0), (1, 0)]
    result = run(workload, "bf-j", drain=True, initial=[(0.75, 0, 4)])
    assert starts(result) == [(4, 0), (4, 0)]
    assert (result.arrived, result.started, result.completed, result.slots) == (2, 2, 2, 5)
    assert result.utilisation == pytest.approx(((0.75 * 4 + 1) / 5,))
    for initial, problem in (
        ((0.5, 1, 3), "no server 1"),
        ((0.5, -1, 3), "no server -1"),
        ((0.0, 0, 3), "positive"),
        ((-0.5, 0, 3), "positive"),
        (((0.5, 0.5), 0, 3), "needs 1 demands"),
        ((0.5, 0, 0), "at least 1 slot"),
        ((1.5, 0, 3), "no room"),
        ((0.5, 0), r"must be \(size, server, slots that remain\)"),
        ((0.5, 0, 1.5), "must be"),
        (("x", 0, 1), "must be"),
    ):
        with pytest.raises(InputError, match=problem):
            run(workload, initial=[initial])  # type: ignore[list-item]
    with pytest.raises(InputError, match="initial job 1: server 0 has no room"):
        run(workload, initial=[(0.6, 0, 3), (0.5, 0, 3)])


def test_a_run_that_ends_when_all_have_started() -> None:
    """The same starts and ends as of a whole run, where more than a few hundred slots with events follow the last start."""
    random = np.random.default_rng(0)
    begun = [(0.001, 0, int(left)) for left in random.permutation(np.arange(1, 801))]
    workload = table((0, 0.25, 700), (0, 0.5, 3), (0, 0.5, 900))
    whole = run(workload, "bf-js", 2000, drain=False, initial=begun)
    short = run(workload, "bf-js", 2000, drain=False, initial=begun, until_started=True)
    assert whole.schedule is not None and short.schedule is not None
    assert short.schedule.start.tolist() == whole.schedule.start.tolist() and max(starts(short))[0] > 0
    assert short.schedule.end.tolist() == whole.schedule.end.tolist() and short.slots < 1000 < whole.slots


def test_initial_demand_negative_in_one_resource() -> None:
    with pytest.raises(InputError):
        run(table((0, (0.5, 0.5), 1), servers=[(1, 1)]), initial=[((0.5, -0.25), 0, 3)])


def test_waiting_limit() -> None:
    workload = table((0, 1.0, 50), *[(slot, 1.0, 1) for slot in range(1, 40)])
    result = run(workload, waiting_limit=10, drain=True)
    assert result.stopped == "more than 10 tasks waiting in slot 11"
    assert (result.slots, result.arrived, result.started, result.waiting, result.max_queue) == (11, 11, 1, 10, 10)
    assert result.mean_queue == sum(range(11)) / 11
    assert run(workload, waiting_limit=40, drain=True).stopped is None


def test_waiting_limit_counts_released_rows() -> None:
    links = Ragged.of([[], *[[0]] * 9])
    result = run(table((0, 1.0, 5), *[(1, 1.0, 1)] * 9, predecessors=links), waiting_limit=3, drain=True)
    assert result.stopped is not None
    assert result.arrived == result.started + result.waiting


def test_verdicts() -> None:
    workload = packenv.workload("paper/fig4b")
    assert packenv.simulate(workload.with_(intensity=0.5), "bf-js", 200_000).verdict.kind == "stable"
    grows = packenv.simulate(workload.with_(intensity=1.3), "bf-js", 200_000)
    assert grows.verdict.kind == "unstable"
    # 30 % of the arriving size is more than the servers can give: R λ - L µ = 0.3 · 5 / 100 a slot
    assert grows.verdict.drift == pytest.approx(0.015, rel=0.2)
    assert packenv.simulate(workload, "bf-js", 60).verdict.kind == "undecided"


CHANGED = ("vqs:J=5", "vqs-bf:J=3,adaptive,stall,check=64", "bf-js:stall", "slot-fifo:slots=3,stall", "maxweight:types=5,stall")


@pytest.mark.parametrize("text", [*POLICIES, *CHANGED])
def test_name_round_trip(text: str) -> None:
    assert name_of(find_policy(text)) == text
    assert find_policy(name_of(find_policy(text))) == find_policy(text)
