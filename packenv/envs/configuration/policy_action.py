"""Configuration: the configuration that comes nearest to what a policy has planned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from packenv.cluster.queue.by_type import types_of
from packenv.envs.policy_agents.configuring import ConfiguresServers
from packenv.envs.policy_agents.planned import Planned, still_planned

if TYPE_CHECKING:
    from packenv.envs.episodes.core import Core


def policy_action(core: Core, row: int, planned: Planned) -> int:
    """The policy's own active configuration of the server, or the one that shares most tasks with what it starts there."""
    b = core.batch
    server = int(b.turn["server"][row])
    kind = int(b.c.server["kind"][row, server])
    table = b.table[kind, : b.known[kind]]
    wanted = None
    if isinstance(planned.state, ConfiguresServers):
        wanted = planned.state.active_configuration(server, table.shape[1])
    if wanted is None:
        wanted = np.zeros(table.shape[1], np.int64)
        for i, target in still_planned(core, row, planned)[1]:
            if target == server:
                wanted[types_of(b.c, row, kind, b.c.task["size"][row, i])] += 1
    shared = np.minimum(table, wanted).sum(axis=1)
    differing = np.abs(table - wanted).sum(axis=1)
    return int((shared * 1000 - differing).argmax())
