"""The one step of all environments. What differs between them is decided by the type of their `face` when it is compiled.

A face registers three functions of a batch: `begins` (a slot has begun: look for the first decision), `acts` (carry out
the action, look for the next decision) and `observes` (write what is to be seen). Each of the first two leaves the row's
phase DECIDING, or WAITING if there is nothing more to decide in this slot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from packenv.cluster.queue.waiting import waiting
from packenv.cluster.slots import GROW
from packenv.cluster.state import NONE, look_at
from packenv.compiled.decorators import beside, compiled, dispatched
from packenv.envs.core.state import BEGUN, DECIDING, FRESH, WAITING, Batch
from packenv.envs.core.steps import begin_episode, begin_step, end_step, next_slot

Part = Callable[..., Any]
parts: dict[tuple[str, type], Part] = {}
"""The functions of the faces, by (name, type of the face)."""


def begins(face_type: type) -> Callable[[Part], Part]:
    """Register what a face does when a slot has begun."""
    return _register("begin", face_type)


def acts(face_type: type) -> Callable[[Part], Part]:
    """Register how a face carries out the action of the row."""
    return _register("act", face_type)


def observes(face_type: type) -> Callable[[Part], Part]:
    """Register how a face writes the observation and the mask of the row."""
    return _register("observe", face_type)


def _register(name: str, face_type: type) -> Callable[[Part], Part]:
    def register(function: Part) -> Part:
        parts[name, face_type] = function
        return function

    return register


def begin(face: Any, b: Batch) -> None:
    """A slot has begun: look for the first decision."""


def act(face: Any, b: Batch) -> None:
    """Carry out the action of the row, and look for the next decision in this slot."""


def observe(face: Any, b: Batch) -> None:
    """Write the observation and the mask."""


for stub in (begin, act, observe):
    dispatched(stub, parts)


@compiled
def step(face: Any, b: Batch) -> int:
    """Rows first .. last - 1: act, go to the next decision, observe. Returns a row that cannot go on by itself, or NONE.

    That row's pool must grow first or, if its phase is BEGUN, more tasks wait in it than an agent is trusted with.
    """
    for e in range(b.first, b.last):
        look_at(b.c, e)
        turn = b.turn[e]
        if turn.phase == FRESH:
            begin_episode(b)
        elif turn.phase == DECIDING:
            begin_step(b)
            act(face, b)
        while turn.phase == WAITING or turn.phase == BEGUN:
            if turn.phase == WAITING and next_slot(b) == GROW:
                return e
            if turn.phase == BEGUN:
                if waiting(b.c) > b.guard_limit:
                    return e
                begin(face, b)
        end_step(b)
        observe(face, b)
    return NONE


def step_of(face: Any) -> Callable[[Any, Batch], int]:
    """`step` for this face, whose machine code is kept with that of the face's module."""
    return beside(step, [type(face).__module__])
