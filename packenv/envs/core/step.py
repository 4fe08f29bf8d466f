"""The compiled step of all environments.

What differs between environments are three functions, registered for the type of an environment's rules (a NamedTuple of
integers): `begins` (a slot has begun: find the first decision), `acts` (carry out the action and find the next decision
in this slot) and `observes` (write the observation and the mask). Each of the first two leaves the row's phase DECIDING,
or WAITING if nothing more is to be decided in this slot.
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
    """Register what an environment does when a slot has begun."""
    return _register("begin", rules)


def acts(rules: type) -> Callable[[Function], Function]:
    """Register how an environment carries out the action of the row."""
    return _register("act", rules)


def observes(rules: type) -> Callable[[Function], Function]:
    """Register how an environment writes the observation and the mask of the row."""
    return _register("observe", rules)


def _register(name: str, rules: type) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        functions[name, rules] = function
        return function

    return register


def begin(rules: Any, b: Batch) -> None:
    """A slot has begun: find the first decision."""


def act(rules: Any, b: Batch) -> None:
    """Carry out the action of the row, and find the next decision in this slot."""


def observe(rules: Any, b: Batch) -> None:
    """Write the observation and the mask of the row."""


for stub in (begin, act, observe):
    dispatched(stub, functions)


@apart
def replace_invalid(b: Batch) -> int:
    """Put the nearest valid action, of two the lower one, or the first in place of one that is not valid; 1 if that was so."""
    mask, action = b.mask[b.c.e], b.action[b.c.e]
    if mask[action]:
        return 0
    if b.nearest == FIRST:
        action = 0
        if mask[0]:
            b.action[b.c.e] = 0
            return 1
    for away in range(1, mask.shape[0]):
        for near in (action - away, action + away):
            if 0 <= near < mask.shape[0] and mask[near]:
                b.action[b.c.e] = near
                return 1
    return 0


@compiled
def step(rules: Any, b: Batch) -> int:
    """Rows first .. last - 1: act, go on to the next decision, observe. Returns NONE, or a row that cannot go on.

    That row's pool of tasks must grow, or, if its phase is BEGUN, more tasks wait in it than the guard leaves to the agent.
    """
    for e in range(b.first, b.last):
        look_at(b.c, e)
        turn = b.turn[e]
        # begin an episode, or carry out the action
        if turn.phase == FRESH:
            begin_episode(b)
        elif turn.phase == DECIDING:
            begin_step(b)
            replaced = b.nearest and replace_invalid(b)
            act(rules, b)
            turn.invalid |= replaced
        # pass over slots in which there is nothing to decide
        while turn.phase == WAITING or turn.phase == BEGUN:
            if turn.phase == WAITING and next_slot(b) == GROW:
                return e
            if turn.phase == BEGUN:
                if waiting(b.c) > b.guard_limit:
                    return e
                begin(rules, b)
        # measure, and show the next decision
        end_step(b)
        observe(rules, b)
    return NONE


def step_of(rules: Any) -> Callable[[Any, Batch], int]:
    """`step` for these rules, whose machine code is kept with that of the module of their type.

    That module must register the functions, or import those that do: a change in any other would not be noticed.
    """
    return beside(step, [type(rules).__module__])
