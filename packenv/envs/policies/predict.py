"""Policies as agents: `predict`, as Stable-Baselines3 has it, for every policy in every environment.

An observation says less than a policy may know, so an agent looks at the environment's own cluster (`mirror`), or at a
run of its own (`follower`). What it would place in this slot is put into the environment's words, one action at a time.
Where an environment has no word for it, the agent says what comes nearest: the same virtual queue on the same server, or
the configuration that shares most tasks; a policy that keeps books of what it started cannot go on from there.
Exactly the simulator's start slots: Placement, window ≥ queue: fifo-ff, bf-j, and all policies that know jobs; Placement,
largest: bf-s; Placement, head of line: vqs; ServerFill, by index: bf-s; Configuration: vqs, vqs-bf.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.copy_tasks import tasks_of
from packenv.cluster.queue.by_type import types_of
from packenv.cluster.state import NEVER, NONE
from packenv.envs.core.episodes import Core
from packenv.envs.core.state import DECIDING
from packenv.envs.policies.follower import Follower
from packenv.envs.policies.mirror import Mirror
from packenv.errors import InputError
from packenv.policy import find_policy, keeps_books

Companion = Mirror | Follower


class PolicyAgent:
    """A policy (an object, or a name such as "vqs:J=5") that drives an environment: single, batched or SB3's VecEnv.

    Raises InputError for an environment of another package, and, on the way, where a policy that keeps books of what it
    started (it knows jobs, or hears of completions or messages) finds that the environment had no word for it.
    """

    def __init__(self, policy: Any, env: Any) -> None:
        self.policy = find_policy(policy) if isinstance(policy, str) else policy
        self.rows = _rows_of(env)
        self.single = not hasattr(env, "num_envs")
        self._mirrors: dict[int, tuple[tuple[int, int], int, Companion]] = {}  # episode, slot planned, mirror
        self._make: type[Companion] = Follower if keeps_books(self.policy, self.rows[0][0].setting) else Mirror
        self._make(self.policy, *self.rows[0])  # says now what it cannot do

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True
    ) -> tuple[NDArray[np.int64], Any]:
        """(num_envs,) actions, or one for a single environment's own observation; the state is passed through.

        The agent knows by itself where an episode starts, and does not toss coins.
        """
        actions = np.array([self._action(n) for n in range(len(self.rows))], np.int64)
        return (actions if not self.single or _is_batch(observation, self.rows[0][0]) else actions[0]), state

    def _action(self, n: int) -> int:
        core, row = self.rows[n]
        if core.batch.turn["phase"][row] != DECIDING:
            return core.rules.actions - 1
        episode = (int(core.seeds[row]), int(core.episodes[row]))
        slot = int(core.batch.c.head["now"][row])
        known, planned, mirror = self._mirrors.get(n, (None, -1, None))
        if known != episode or mirror is None:
            mirror, planned = self._make(self.policy, core, row), -1
        if planned != slot:
            wake = mirror.look(core)
            head = core.batch.c.head
            if wake < NEVER and slot < wake < head["wake"][row]:
                head["wake"][row] = wake
        self._mirrors[n] = (episode, slot, mirror)
        return WORDS[core.kind](core, row, mirror)


def _rows_of(env: Any) -> list[tuple[Core, int]]:
    inner = env.unwrapped
    if hasattr(inner, "core"):
        return [(inner.core, row) for row in range(inner.core.rows)]
    if hasattr(inner, "envs"):  # a DummyVecEnv, or a SyncVectorEnv
        return [pair for each in inner.envs for pair in _rows_of(each)]
    raise InputError(f"{env} is not an environment of packenv in this process")


def _is_batch(observation: Any, core: Core) -> bool:
    """Whether an observation has a leading axis for environments (Stable-Baselines3 always adds one)."""
    if not isinstance(observation, dict):
        return np.ndim(observation) > 1
    name = next(iter(core.rules.seen))
    return name in observation and np.ndim(observation[name]) > len(core.rules.seen[name])


def _remaining(core: Core, row: int, mirror: Companion) -> tuple[NDArray[np.int64], list[tuple[int, int]]]:
    """Places of all waiting tasks, and (place, server) of those that are still to start in this slot."""
    waiting, _ = tasks_of(core.batch.c, row)
    rows = core.batch.c.task["row"][row, waiting].tolist()
    return waiting, [(int(i), mirror.targets[r]) for i, r in zip(waiting, rows, strict=True) if r in mirror.targets]


def _placement(core: Core, row: int, mirror: Companion) -> int:
    waiting, targets = _remaining(core, row, mirror)
    b, width = core.batch, core.rules.width
    words = {i: _position(core, row, waiting, i, server) for i, server in targets}
    for i, server in targets:
        k, exact = words[i]
        if exact and b.mask[row, server * width + k]:
            return server * width + k
    for i, server in targets:
        k, _ = words[i]
        del mirror.targets[int(b.c.task["row"][row, i])]
        if k != NONE and b.mask[row, server * width + k]:
            return server * width + k
    return core.rules.actions - 1


def _server_fill(core: Core, row: int, mirror: Companion) -> int:
    waiting, targets = _remaining(core, row, mirror)
    b = core.batch
    here = [(i, server) for i, server in targets if server == b.turn["server"][row]]
    words = {i: _position(core, row, waiting, i, server) for i, server in here}
    for i, _ in here:
        k, exact = words[i]
        if exact and b.mask[row, k]:
            return k
    for i, _ in here:
        k, _ = words[i]
        del mirror.targets[int(b.c.task["row"][row, i])]
        if k != NONE and b.mask[row, k]:
            return k
    return core.rules.actions - 1


def _position(core: Core, row: int, waiting: NDArray[np.int64], i: int, server: int) -> tuple[int, bool]:
    """Where an action on this server finds task i (its virtual queue, or its place in the window); whether it takes just i."""
    c, form = core.batch.c, core.rules.form
    if core.kind == "Placement" and form == 2:
        k = int(np.flatnonzero(waiting == i)[0])
        return (k, True) if k < core.rules.width else (NONE, False)
    kind = int(c.server["kind"][row, server])
    types = types_of(c, row, kind, c.task["size"][row, waiting])
    j = int(types[waiting == i][0])
    if core.kind == "Placement" and form == 1:
        return j, int(c.types.queue["head"][row, kind, j]) == i
    same = waiting[types == j]
    if c.vectors:
        same = same[(c.demand[row, same] <= c.free[row, server]).all(axis=1)]
    else:
        same = same[c.task["size"][row, same] <= c.server["room"][row, server]]
    if len(same) == 0:
        return j, False
    largest = same[np.lexsort((c.task["row"][row, same], -c.task["size"][row, same]))[0]]
    return j, int(largest) == i


def _configuration(core: Core, row: int, mirror: Companion) -> int:
    b = core.batch
    server = int(b.turn["server"][row])
    kind = int(b.c.server["kind"][row, server])
    table = b.table[kind, : b.known[kind]]
    state = mirror.state
    if hasattr(state, "other") and state.other[server] != NONE:
        wanted = np.zeros(table.shape[1], np.int64)
        wanted[1] = state.one[server]
        wanted[state.other[server]] = state.many[server]
    else:
        wanted = np.zeros(table.shape[1], np.int64)
        for i, where in _remaining(core, row, mirror)[1]:
            if where == server:
                wanted[types_of(b.c, row, kind, b.c.task["size"][row, i])] += 1
    shared = np.minimum(table, wanted).sum(axis=1) * 1000 - np.abs(table - wanted).sum(axis=1)
    return int(shared.argmax())


WORDS = {"Placement": _placement, "ServerFill": _server_fill, "Configuration": _configuration}
