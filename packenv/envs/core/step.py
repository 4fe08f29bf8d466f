"""The compiled step of all environments.

An environment registers three functions for the type of its rules, a NamedTuple of integers. `begins` finds the first decision of
a slot. `acts` carries out the action and finds the slot's next decision. `observes` writes the observation and the mask. The
first two leave the row's phase DECIDING, or WAITING without a further decision in this slot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from packenv.cluster.queue.waiting import waiting
from packenv.cluster.slots import GROW
from packenv.cluster.state import NONE, look_at
from packenv.compiled.decorators import apart, beside, compiled, dispatched
from packenv.envs.core.between_decisions import begin_episode, begin_step, end_step, next_slot
from packenv.envs.core.state import BEGUN, DECIDING, FIRST, FRESH, WAITING, Batch

Function = Callable[..., Any]
functions: dict[tuple[str, type], Function] = {}
"""The registered functions, by (name, type of the rules)."""


def begins(rules: type) -> Callable[[Function], Function]:
    """Register how an environment begins a slot."""
    return _register("begin", rules)


def acts(rules: type) -> Callable[[Function], Function]:
    """Register how an environment carries out an action."""
    return _register("act", rules)


def observes(rules: type) -> Callable[[Function], Function]:
    """Register how an environment writes observation and mask."""
    return _register("observe", rules)


def _register(name: str, rules: type) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        functions[name, rules] = function
        return function

    return register


def begin(rules: Any, b: Batch) -> None:
    """Find the slot's first decision."""


def act(rules: Any, b: Batch) -> None:
    """Carry out the action, and find the slot's next decision."""


def observe(rules: Any, b: Batch) -> None:
    """Write the observation and the mask of the row."""


for stub in (begin, act, observe):
    dispatched(stub, functions)


@apart
def replace_invalid(b: Batch) -> int:
    """Replace an invalid action (nearest valid or first). Return whether it was."""
    mask, action = b.mask[b.c.e], b.action[b.c.e]
    if mask[action]:
        return 0
    if b.nearest == FIRST:
        action = 0
        if mask[0]:
            b.action[b.c.e] = 0
            return 1
    # search outwards, the lower action first
    for away in range(1, mask.shape[0]):
        for near in (action - away, action + away):
            if 0 <= near < mask.shape[0] and mask[near]:
                b.action[b.c.e] = near
                return 1
    return 0


@compiled
def step(rules: Any, b: Batch) -> int:
    """Step rows `first` to `last` - 1 to their next decisions.

    Returns NONE, or a row that needs help. Its pool must grow or, if its phase is BEGUN, the guard must schedule.
    """
    for e in range(b.first, b.last):
        look_at(b.c, e)
        turn, head = b.turn[e], b.c.head[e]
        # begin an episode, or carry out the action
        if turn.phase == FRESH:
            begin_episode(b)
        elif turn.phase == DECIDING:
            begin_step(b)
            replaced, size = b.nearest and replace_invalid(b), head.waiting_size
            act(rules, b)
            turn.invalid |= replaced
            turn.placed += size - head.waiting_size
        # pass over slots in which there is nothing to decide
        while turn.phase == WAITING or turn.phase == BEGUN:
            if turn.phase == WAITING and next_slot(b) == GROW:
                return e
            if turn.phase == BEGUN:
                if waiting(b.c) > b.guard_limit:
                    return e
                size = head.waiting_size
                begin(rules, b)
                turn.placed += size - head.waiting_size
        # measure, and show the next decision
        end_step(b)
        observe(rules, b)
    return NONE


def step_of(rules: Any) -> Callable[[Any, Batch], int]:
    """Return `step` compiled for these rules.

    The machine code is cached with the module of their type. That module must register the functions, or import the modules that
    do: changes elsewhere would not be noticed.
    """
    return beside(step, [type(rules).__module__])
