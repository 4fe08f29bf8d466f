"""The guard: a stable policy schedules while many tasks wait.

The agent decides in slots that begin with at most `limit` waiting tasks, the guard in all others. The guard's theorem then keeps
the queue stable whatever the agent does (docs/explanation/guard.md).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from packenv.cluster.loop import modules_of, schedule, take_over
from packenv.cluster.queue.waiting import now, waiting
from packenv.cluster.servers import reopen_all
from packenv.cluster.slots import GROW, READY
from packenv.cluster.state import Cluster, look_at
from packenv.compiled.decorators import beside, compiled, fused
from packenv.envs.core.between_decisions import next_slot
from packenv.envs.core.state import BEGUN, Batch
from packenv.errors import InputError
from packenv.policy import Needs, Setting, find_policy, hooks, initial_state_of, name_of, needs_of, parameters_of


class Guard:
    """A guarding policy with a state for each row."""

    def __init__(self, policy: Any, setting: Setting, rows: int) -> None:
        self.policy = checked_guard(policy)
        self.parameters = parameters_of(self.policy)
        self.step_row = beside(guard_row, modules_of(self.parameters))
        self.setting = setting
        self.needs = needs_of(self.policy, setting)
        if self.needs.table:
            raise InputError(f"guard {name_of(self.policy)} must see every slot of a run, but a guard does not")
        if setting.workload.draw is not None and not (self.needs.types is self.needs.room is None):
            raise InputError(f"guard {name_of(self.policy)} cuts servers by one table's sizes; here every seed has its own table")
        self.states: list[Any] = [None] * rows
        self.at_work = np.zeros(rows, np.bool_)

    def restart(self, row: int, seed: int) -> None:
        self.states[row] = initial_state_of(self.policy, self.setting, seed)
        self.at_work[row] = False

    def schedule(self, batch: Batch, place: int, row: int) -> int:
        """Schedule a row until the agent decides or it ends. Return READY or GROW."""
        reason = int(self.step_row(self.parameters, batch, place, self.states[row], bool(self.at_work[row])))
        self.at_work[row] = reason == GROW
        return reason


def checked_guard(policy: Any) -> Any:
    """Return a guard by name or policy, otherwise InputError."""
    guard = find_policy(policy) if isinstance(policy, str) else policy
    kind = type(parameters_of(guard))
    if ("schedule", kind) not in hooks:
        raise InputError(f"guard {policy!r} is not a compiled policy")
    if ("on_completion", kind) in hooks or ("on_message", kind) in hooks:
        raise InputError(f"guard {name_of(guard)} listens to completions or messages, which are not passed on to a guard")
    return guard


def together(agent: Needs, guard: Needs) -> Needs:
    """Return the needs of both (InputError if they conflict)."""
    if agent.vectors != guard.vectors:
        raise InputError("the guard packs the scalar size, the agent several resources; use bf-js")
    if agent.levels and guard.levels and agent.levels != guard.levels:
        raise InputError(f"the guard has J={guard.levels}, the agent J={agent.levels}")
    typed = agent.levels > 0 or agent.types is not None
    if typed and guard.types is not None and not (agent.types is not None and np.array_equal(agent.types, guard.types)):
        if guard.types.ndim > 1:
            raise InputError("the guard's types are boxes of demand vectors, the agent's are intervals of size; use bf-js")
        raise InputError(
            "the guard's types are not the agent's; give both the same, such as types=40 and msr:grid=40, or use bf-js"
        )
    if agent.types is not None and guard.levels:
        raise InputError("the guard has other virtual queues than the agent's types of equal width; use bf-js or msr:grid=…")
    return agent._replace(
        orders=agent.orders | guard.orders,
        levels=agent.levels or guard.levels,
        most_levels=max(agent.most_levels, guard.most_levels),
        types=guard.types if agent.types is None else agent.types,
        least=guard.least if agent.least is None else agent.least,
        room=guard.room if agent.room is None else agent.room,
        in_service=min(agent.in_service, guard.in_service),
    )


@fused
def hand_over(policy: Any, c: Cluster, state: Any) -> None:
    reopen_all(c)
    take_over(policy, c, state)


@compiled
def guard_row(policy: Any, b: Batch, row: int, state: Any, resumed: bool) -> int:
    """Schedule slots that begin with more than `guard_limit` tasks."""
    c = b.c
    look_at(c, row)
    turn = b.turn[row]
    # take over the slot that has begun
    if not resumed:
        before = c.head[row].waiting_size
        hand_over(policy, c, state)
        turn.placed += before - c.head[row].waiting_size
        schedule_slot(policy, b, state)
    while True:
        if next_slot(b) == GROW:
            return GROW
        turn.guarded += now(c) - turn.guard_slot
        # return to the agent, or end the episode
        if turn.phase != BEGUN or waiting(c) <= b.guard_limit:
            reopen_all(c)
            turn.passed = 0
            return READY
        schedule_slot(policy, b, state)


@fused
def schedule_slot(policy: Any, b: Batch, state: Any) -> None:
    """Schedule this slot, and add its size to `placed`."""
    head, turn = b.c.head[b.c.e], b.turn[b.c.e]
    before = head.waiting_size
    schedule(policy, b.c, state)
    turn.placed += before - head.waiting_size
    turn.guard_slot = head.now
