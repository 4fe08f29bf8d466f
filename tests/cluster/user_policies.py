"""Policies as a user would write them, compiled and in plain Python: they wake without an arrival or a completion.

`packenv evaluate … -p tests.cluster.user_policies:Hold` runs one from the command line.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import packenv
from packenv.cluster import (
    BY_INDEX,
    BY_QUEUE,
    NONE,
    Cluster,
    Needs,
    first_server,
    fits,
    new_count,
    new_task,
    next_in_queue,
    now,
    oldest,
    place,
    post,
    row_of,
    server_count,
    size_of,
    waiting,
    wake_at,
)

COMPLETION, FIRST, SECOND = 0, 1, 2  # what is heard; the codes of the messages
MOST = 4096


class Heard(NamedTuple):
    """What a policy was told, in order."""

    log: NDArray[np.int64]  # (MOST, 3) slot, what, row or payload
    count: NDArray[np.int64]  # (1,)


runs: list[Heard] = []
"""The states of all runs in this process, for tests to read."""


def new_state() -> Heard:
    runs.append(Heard(np.zeros((MOST, 3), np.int64), np.zeros(1, np.int64)))
    return runs[-1]


class Hold(NamedTuple):
    """Every task is held for `slots` slots, then placed on the first server with room; two messages for each."""

    slots: int = 7

    def needs(self, setting: packenv.Setting) -> Needs:
        return Needs(orders=BY_INDEX, reserve=256)

    def initial_state(self, setting: packenv.Setting, seed: int) -> Heard:
        return new_state()


@packenv.schedules(Hold)
def schedule_hold(policy: Any, cluster: Cluster, state: Heard) -> None:
    for n in range(new_count(cluster)):
        task = new_task(cluster, n)
        post(cluster, now(cluster) + policy.slots, SECOND, row_of(cluster, task))
        post(cluster, now(cluster) + policy.slots, FIRST, task)


@packenv.completes(Hold)
def hear_completion(policy: Any, cluster: Cluster, state: Heard, task: int) -> None:
    n = state.count[0]
    state.log[n, 0], state.log[n, 1], state.log[n, 2] = now(cluster), COMPLETION, row_of(cluster, task)
    state.count[0] += 1


@packenv.receives(Hold)
def hear_message(policy: Any, cluster: Cluster, state: Heard, code: int, payload: int) -> None:
    n = state.count[0]
    state.log[n, 0], state.log[n, 1], state.log[n, 2] = now(cluster), code, payload
    state.count[0] += 1
    if code == FIRST:
        server = first_server(cluster, size_of(cluster, payload), 0)
        if server != NONE:
            place(cluster, payload, server)


class HoldInPython:
    """The same in plain Python."""

    def __init__(self, slots: int = 7) -> None:
        self.slots = slots

    def needs(self, setting: packenv.Setting) -> Needs:
        return Needs(orders=BY_INDEX, reserve=256)

    def initial_state(self, setting: packenv.Setting, seed: int) -> Heard:
        return new_state()

    def schedule(self, cluster: Cluster, state: Heard) -> None:
        schedule_hold(self, cluster, state)

    def on_completion(self, cluster: Cluster, state: Heard, task: int) -> None:
        hear_completion(self, cluster, state, task)

    def on_message(self, cluster: Cluster, state: Heard, code: int, payload: int) -> None:
        hear_message(self, cluster, state, code, payload)


class Timer(NamedTuple):
    """FIFO first fit, but only in slots that are multiples of `period`; `careless` does not look whether a task fits."""

    period: int = 10
    careless: bool = False

    def needs(self, setting: packenv.Setting) -> Needs:
        return Needs(orders=BY_QUEUE | BY_INDEX)

    def initial_state(self, setting: packenv.Setting, seed: int) -> tuple[()]:
        return ()


@packenv.schedules(Timer)
def schedule_timer(policy: Any, cluster: Cluster, state: tuple[()]) -> None:
    slot = now(cluster)
    if slot % policy.period == 0:
        task = oldest(cluster)
        while task != NONE:
            server = 0 if policy.careless else first_server(cluster, size_of(cluster, task), 0)
            if server == NONE:
                break
            place(cluster, task, server)
            task = oldest(cluster)
    if waiting(cluster) > 0:
        wake_at(cluster, slot - slot % policy.period + policy.period)


class TimerInPython:
    """The same in plain Python."""

    def __init__(self, period: int = 10, careless: bool = False) -> None:
        self.period, self.careless = period, careless

    def needs(self, setting: packenv.Setting) -> Needs:
        return Needs(orders=BY_QUEUE | BY_INDEX)

    def schedule(self, cluster: Cluster, state: tuple[()]) -> None:
        schedule_timer(self, cluster, state)


class Careless(TimerInPython):
    """Overfills server 0."""

    def __init__(self) -> None:
        super().__init__(1, True)


class FirstThatFits(NamedTuple):
    """Each waiting task, in queue order, to the first server that it fits. It packs sizes: its needs have no `vectors`."""

    def needs(self, setting: packenv.Setting) -> Needs:
        return Needs(orders=BY_QUEUE)


@packenv.schedules(FirstThatFits)
def place_where_it_fits(policy: FirstThatFits, cluster: Cluster, state: Any) -> None:
    task = oldest(cluster)
    while task != NONE:
        following = next_in_queue(cluster, task)
        for server in range(server_count(cluster)):
            if fits(cluster, task, server):
                place(cluster, task, server)
                break
        task = following
