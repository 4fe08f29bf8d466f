"""Admission: action 0 starts the oldest waiting task on the first server with room for it, action 1 waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.queue.waiting import size_of
from packenv.cluster.servers import first_server
from packenv.cluster.state import NONE
from packenv.compiled.decorators import compiled
from packenv.envs.core.between_decisions import put
from packenv.envs.core.definition import Definition, Layout, Sizes
from packenv.envs.core.state import DECIDING, WAITING, Batch
from packenv.envs.core.step import acts, begins, observes
from packenv.envs.observation.arrays import write_queue, write_servers
from packenv.envs.observation.layout import needs_of_types
from packenv.policy import BY_INDEX, BY_QUEUE, BY_TYPE

if TYPE_CHECKING:
    from packenv.envs.options import Options


class AdmissionRules(NamedTuple):
    """The options that compiled code reads."""

    patient: int  # 1 if the agent may wait while the oldest task fits


@compiled
def server_for_oldest(b: Batch) -> int:
    """The server on which the oldest waiting task starts; NONE if it fits nowhere."""
    oldest = b.c.queue[b.c.e].head
    return NONE if oldest == NONE else first_server(b.c, size_of(b.c, oldest), 0)


@begins(AdmissionRules)
def begin(rules: AdmissionRules, b: Batch) -> None:
    next_decision(b)


@compiled
def next_decision(b: Batch) -> None:
    """Decide about the oldest waiting task if it fits, otherwise wait."""
    b.turn[b.c.e].phase = DECIDING if server_for_oldest(b) != NONE else WAITING


@acts(AdmissionRules)
def act(rules: AdmissionRules, b: Batch) -> None:
    turn = b.turn[b.c.e]
    turn.phase = WAITING
    if b.action[b.c.e] == 0:
        put(b, b.c.queue[b.c.e].head, server_for_oldest(b))
        next_decision(b)
    elif rules.patient == 0:
        turn.invalid = 1


@observes(AdmissionRules)
def observe(rules: AdmissionRules, b: Batch) -> None:
    write_queue(b)
    write_servers(b, NONE)
    b.mask[b.c.e, 0] = server_for_oldest(b) != NONE
    b.mask[b.c.e, 1] = rules.patient or b.mask[b.c.e, 0] == 0


def layout(sizes: Sizes, capacity: NDArray[np.int64], options: Options, *, patient: bool = True) -> Layout:
    return Layout(
        rules=AdmissionRules(int(patient)),
        needs=needs_of_types(sizes, capacity, BY_QUEUE | BY_INDEX | BY_TYPE),
        actions=2,
        observed={"queue": (sizes.window, sizes.resources + 2), "servers": (sizes.servers, sizes.resources)},
    )


DEFINITION = Definition("Admission", layout, description=__doc__)
