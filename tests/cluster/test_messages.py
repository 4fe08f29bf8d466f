"""Policies that wake by themselves: messages, timers, news of completions; compiled and in plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import packenv.policy
from packenv import InputError, Workload
from packenv.cluster import BY_INDEX, BY_QUEUE, Cluster, Needs, now, post, wake_at
from packenv.workloads.laws import Geometric, Uniform
from tests.cluster.user_policies import COMPLETION, FIRST, SECOND, Careless, Hold, HoldInPython, Timer, TimerInPython, runs

LAW = Workload(sizes=Uniform(0.05, 0.3), service=Geometric(9), servers=40, rate=1.5)
TABLE = Workload(jobs=LAW.jobs_table(0, 400), servers=40)  # room for all: nothing waits but for the policy
TIGHT = Workload(jobs=LAW.jobs_table(1, 400), servers=3)


def run(workload: Workload, policy: Any, **options: Any) -> packenv.Result:
    return packenv.simulate(workload, policy, drain=True, schedule=True, **options)


def starts(result: packenv.Result) -> list[tuple[int, int]]:
    assert result.schedule is not None
    return list(zip(result.schedule.start.tolist(), result.schedule.server.tolist(), strict=True))


def heard() -> list[list[int]]:
    return runs[-1].log[: runs[-1].count[0]].tolist()


@pytest.mark.parametrize("kind", [Hold, HoldInPython])
@pytest.mark.parametrize("slots", [1, 7, 64, 5000])
def test_held_for_exactly(kind: Any, slots: int) -> None:
    result = run(TABLE, kind(slots))
    assert TABLE.jobs is not None
    assert result.schedule is not None
    np.testing.assert_array_equal(result.schedule.start, TABLE.jobs.arrival + slots)
    assert result.mean_delay == result.delay_p50 == slots or slots > 2048  # exact below 2048
    assert result.waiting == 0


@pytest.mark.parametrize("kind", [Hold, HoldInPython])
def test_what_is_heard_and_in_which_order(kind: Any) -> None:
    result = run(TABLE, kind(7), initial=[(0.5, 39, 3), (0.25, 39, 3)])
    log, jobs = heard(), TABLE.jobs
    assert jobs is not None
    assert result.schedule is not None
    ended = sorted([(int(s + d), row) for row, (s, d) in enumerate(zip(result.schedule.start, jobs.service, strict=True))])
    told = [(slot, row) for slot, what, row in log if what == COMPLETION]
    assert told == [(3, -2), (3, -1), *ended]  # in row order; those in service at the start have rows -1, -2
    messages = [(slot, what, payload) for slot, what, payload in log if what != COMPLETION]
    assert [what for _, what, _ in messages] == [SECOND, FIRST] * len(jobs)  # as they were posted
    assert [payload for _, what, payload in messages if what == SECOND] == list(range(len(jobs)))
    assert [slot for slot, what, _ in messages if what == SECOND] == (jobs.arrival + 7).tolist()
    for slot in {slot for slot, _, _ in log}:  # completions before messages
        kinds = [what == COMPLETION for when, what, _ in log if when == slot]
        assert kinds == sorted(kinds, reverse=True)


def test_hold_compiled_is_hold_in_python() -> None:
    compiled, plain = run(TIGHT, Hold(3)), run(TIGHT, HoldInPython(3))
    assert starts(compiled) == starts(plain)
    assert compiled.waiting == plain.waiting > 0  # what did not fit when its message came was never asked for again
    assert compiled.max_queue == plain.max_queue
    assert (runs[-1].log == runs[-2].log).all()


@pytest.mark.parametrize("workload", [TABLE, TIGHT], ids=["room", "tight"])
@pytest.mark.parametrize("period", [1, 10, 130])
def test_timer(workload: Workload, period: int) -> None:
    compiled, plain = run(workload, Timer(period)), run(workload, TimerInPython(period))
    assert starts(compiled) == starts(plain)
    assert compiled.schedule is not None
    assert workload.jobs is not None
    assert (compiled.schedule.start % period == 0).all()
    if workload is TABLE:
        np.testing.assert_array_equal(compiled.schedule.start, -(-workload.jobs.arrival // period) * period)
    if period == 1:
        assert starts(compiled) == starts(run(workload, "fifo-ff"))


@pytest.mark.parametrize("policy", [Timer(1, True), Careless()], ids=["compiled", "python"])
def test_overfull_server_is_an_error(policy: Any) -> None:
    name = packenv.policy.name_of(policy)
    with pytest.raises(InputError, match=rf"^policy {name} put server 0 above its capacity in slot \d+$"):
        run(TIGHT, policy)


class Every:
    """Calls back in every slot and does `act`."""

    def __init__(self, act: Any, reserve: int = 0) -> None:
        self.act, self.reserve, self.slots = act, reserve, list[int]()

    def needs(self, setting: packenv.Setting) -> Needs:
        return Needs(orders=BY_QUEUE | BY_INDEX, reserve=self.reserve)

    def schedule(self, cluster: Cluster, state: tuple[()]) -> None:
        self.slots.append(int(now(cluster)))
        if len(self.slots) > 10_000:
            raise AssertionError("the run does not end")
        wake_at(cluster, now(cluster) + 1)
        self.act(cluster, int(now(cluster)))

    def on_message(self, cluster: Cluster, state: tuple[()], code: int, payload: int) -> None:
        pass


ONE = Workload(jobs=packenv.Jobs.of([5], [0.5], [1]), servers=1)


def test_wake_in_every_slot() -> None:
    """A timer needs no task to come along; only the earliest of several is kept, and the past is ignored."""
    policy = Every(lambda cluster, slot: (wake_at(cluster, slot + 50), wake_at(cluster, slot), wake_at(cluster, slot - 3)))
    packenv.simulate(ONE, policy, 300)
    assert policy.slots == list(range(5, 300))  # nothing happens before the first arrival


def test_message_to_the_past() -> None:
    for offset in (0, -1):
        with pytest.raises(ValueError, match="later slot"):
            packenv.simulate(ONE, Every(lambda cluster, slot, late=offset: post(cluster, slot + late, 0, 0), 4), 300)


def test_one_message_a_slot_without_arrivals() -> None:
    policy = Every(lambda cluster, slot: post(cluster, slot + 2000, 0, 0), reserve=1)
    packenv.simulate(ONE, policy, 3000)
    assert policy.slots == list(range(5, 3000))


def test_drain_ends_with_the_work_though_a_timer_runs() -> None:
    def place_all(cluster: Cluster, slot: int) -> None:
        from packenv.cluster import NONE, oldest, place

        if oldest(cluster) != NONE:
            place(cluster, oldest(cluster), 0)

    assert packenv.simulate(ONE, Every(place_all), drain=True).slots == 6
