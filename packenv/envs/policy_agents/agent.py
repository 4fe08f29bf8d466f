"""Policies as agents, with the `predict` of Stable-Baselines3.

An observation has less than a policy may know. So the agent reads the environment's own cluster (`PlanOnCopy`), or its own run on
the same jobs (`PlanOfOwnRun`). The policy's starts in a slot become one action each. If no action starts exactly that task, the
agent takes the nearest one: the same virtual queue on the same server, or the configuration that shares most tasks. A policy that
must see its run from the first slot cannot continue from there.
The start slots are exactly the simulator's for: Placement, window ≥ queue: fifo-ff, bf-j, and all policies that know jobs;
Placement, largest: bf-s; Placement, head of line: vqs; ServerFill, by index: bf-s; Configuration: vqs, vqs-bf; JobFill, ask
"always", window ≥ groups: all policies that start like tasks in the order of rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.build import build, grow
from packenv.cluster.copy_tasks import tasks_of, transplant
from packenv.cluster.fields import row_arrays
from packenv.cluster.loop import runner_for
from packenv.cluster.state import MESSAGE, NEVER, NONE, Cluster
from packenv.envs.core.state import DECIDING
from packenv.envs.episodes.core import Core
from packenv.envs.episodes.policy_run import PolicyRun
from packenv.envs.policy_agents.planned import ConfiguresServers, Targets
from packenv.errors import InputError
from packenv.jobs import Jobs
from packenv.policy import attached, find_policy, initial_state_of, keeps_books, name_of, needs_of
from packenv.workloads.source import table_source


class PlanOnCopy:
    """A row's plan from a copy of the cluster.

    It lasts for one episode and has the policy's state and orders, for policies that need only the present tasks. The copy shows
    the slot's beginning: tasks that the agent has started in it still wait there. So a policy plans once in a slot, as in the
    simulator.
    """

    def __init__(self, policy: Any, core: Core, row: int) -> None:
        self.policy, self.run, self.row = policy, runner_for(policy), row
        setting = core.setting.playing(core.played[row])
        nothing = Jobs(np.zeros(1, np.int64), np.ones((1, core.sizes.resources), np.int64), np.ones(1, np.int64))
        needs, told = needs_of(policy, setting), core.played[row].source([0])
        if core.workload.has_devices and not needs.devices:
            raise InputError(f"{name_of(policy)} does not look for room on devices, which {core.workload.name} has")
        source = table_source(nothing, devices=told.devices).replace(estimate=told.estimate, service=told.service)
        self.cluster = build(source, setting.capacity, needs, measured=False, places=64)
        self.fresh = [array.copy() for array in row_arrays(self.cluster)]
        self.state = initial_state_of(policy, setting, int(core.seeds[row]))
        self.targets: Targets = {}
        self.held: dict[int, int] = {}  # room that each row took in the last plan: a policy may round sizes up

    def renew(self, core: Core) -> int:
        """Plan the slot, and return the policy's timer or NEVER."""
        batch = core.batch
        self.cluster.server["closed"][0, batch.c.server["jobs"][self.row] == 0] = 0  # empty servers are open
        if core.layout.configurations is not None and isinstance(self.state, ConfiguresServers):
            self.state.reserved[:] = batch.reserved[self.row]  # rooms that VQS reserves are Configuration's
        waiting, served = tasks_of(batch.c, self.row)
        task, now = batch.c.task[self.row], batch.c.head["now"][self.row]
        new = (task["since"][served] == now) & (task["row"][served] >= 0)
        waiting = np.concatenate([waiting, served[new]])
        waiting = waiting[np.lexsort((task["row"][waiting], task["since"][waiting]))]
        self._clear(len(waiting) + len(served) + int(self.cluster.head["reserve"][0]))
        at, held = np.zeros(len(task), np.int64), np.zeros(len(task), np.int64)
        for i in served[~new]:
            held[i] = self.held.get(int(task["row"][i]), 0)
        transplant(batch.c, self.row, waiting, served[~new], self.cluster, 0, at, held)
        head = self.cluster.head
        self.state = attached(self.policy, self.cluster, self.state)
        head["next_row"], head["arriving"] = 1, 1  # the slot is under way, and nothing else arrives in it
        try:
            self.run(self.policy, self.cluster, self.state, NEVER, 1)
        except (ValueError, RuntimeError) as error:
            raise InputError(f"policy {name_of(self.policy)}: {error}") from error
        servers = self.cluster.task["server"][0, at[waiting]]
        self.held = {int(task["row"][i]): int(self.cluster.task["held"][0, at[i]]) for i in [*served[~new], *waiting]}
        self.targets = {int(task["row"][i]): int(s) for i, s in zip(waiting, servers, strict=True) if s != NONE}
        return int(head["wake"][0])

    def _clear(self, places: int) -> None:
        """Empty the copy, without its types and closed servers."""
        c = self.cluster
        record, types = c.server[0], c.types
        closed, least = record["closed"].copy(), record["least"].copy()
        bound, count = types.bound.copy(), types.count.copy()
        if places > c.task.shape[1]:
            for array, fresh in zip(row_arrays(c), self.fresh, strict=True):
                array[:] = fresh
            self.cluster = c = grow(c, 2 * places)
            self.fresh = [array.copy() for array in row_arrays(c)]
        for array, fresh in zip(row_arrays(c), self.fresh, strict=True):
            array[:] = fresh
        c.server["least"][0] = least
        c.types.bound[:], c.types.count[:] = bound, count
        c.server["closed"][0] = closed  # `transplant` brings the orders of servers up to date


DRIVEN = (
    "only environments with an action for each of its decisions, from the first slot on (Placement, rule 'window', or JobFill, "
    "ask 'always', with a window that is long enough)"
)


class PlanOfOwnRun:
    """A row's plan from the policy's own run.

    It lasts for one episode, for policies that must see a run from its first slot: they know jobs, receive completions or
    messages, and remember. Every slot checks that the environment has the same tasks in service.
    """

    def __init__(self, policy: Any, core: Core, row: int) -> None:
        self.policy, self.run, self.row = policy, PolicyRun(policy, core), row
        self.state: Any = ()  # not read: the run has its own
        self.targets: Targets = {}
        self.slot = NEVER  # of the last plan; the run begins with the first one

    def renew(self, core: Core) -> int:
        """Run to the environment's slot (InputError). Return the policy's next."""
        slot = int(core.batch.c.head["now"][self.row])
        if slot < self.slot:  # at first, and after going back in time
            seed = int(core.seeds[self.row])
            self.run.restart(core.played[self.row], seed, core.rate_of(seed))
        self.run.advance(slot + 1)
        self.slot = slot
        planned, self.targets = _in_service(self.run.cluster, 0, slot)
        actual, _ = _in_service(core.batch.c, self.row, slot)
        if planned != actual:
            row, server = min(planned.items() ^ actual.items())
            side = "the policy" if planned.get(row) == server else "the environment"
            name = name_of(self.policy)
            raise InputError(f"policy {name} drives {DRIVEN}: {side} alone started row {row} on server {server}")
        c = self.run.cluster
        sent = c.task[0]["slots"][c.task[0]["kind"] == MESSAGE]
        return min([int(c.head["wake"][0]), *sent[sent > slot].tolist()])


def _in_service(c: Cluster, e: int, slot: int) -> tuple[Targets, Targets]:
    task = c.task[e, tasks_of(c, e)[1]]
    new = (task["since"] == slot) & (task["row"] >= 0)
    old, fresh = (dict(zip(part["row"].tolist(), part["server"].tolist(), strict=True)) for part in (task[~new], task[new]))
    return old, fresh


Plan = PlanOnCopy | PlanOfOwnRun


class PolicyAgent:
    """A policy that plays single, batched or VecEnv environments.

    The policy is an object, or a name such as "vqs:J=5". Raises InputError for an environment that policies cannot play. It also
    raises it during an episode if a policy that must see its whole run (it knows jobs, or receives completions or messages)
    starts a task that no action can start.
    """

    def __init__(self, policy: Any, env: Any) -> None:
        self.policy = find_policy(policy) if isinstance(policy, str) else policy
        self.rows = _rows_of(env)
        self.single = not hasattr(env, "num_envs")
        core, row = self.rows[0]
        if core.definition.policy_action is None:
            raise InputError(f"no policy can play {core.definition.name}: it has no policy_action")
        self._policy_action = core.definition.policy_action
        self._plans: dict[int, tuple[tuple[int, int], int, Plan]] = {}  # episode, slot planned, plan
        self._make: type[Plan] = PlanOfOwnRun if keeps_books(self.policy, core.setting) else PlanOnCopy
        self._make(self.policy, core, row)  # raises here what would be raised later

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True
    ) -> tuple[NDArray[np.int64], Any]:
        """Return actions (num_envs,), or one, and the state.

        `episode_start` and `deterministic` are ignored: the agent sees starts of episodes, and is deterministic.
        """
        actions = np.array([self._action(n) for n in range(len(self.rows))], np.int64)
        return (actions if not self.single or _is_batch(observation, self.rows[0][0]) else actions[0]), state

    def _action(self, n: int) -> int:
        core, row = self.rows[n]
        if core.batch.turn["phase"][row] != DECIDING:
            return core.layout.actions - 1
        episode = (int(core.seeds[row]), int(core.episodes[row]))
        slot = int(core.batch.c.head["now"][row])
        planned_episode, planned, plan = self._plans.get(n, (None, -1, None))
        if planned_episode != episode or plan is None:
            plan, planned = self._make(self.policy, core, row), -1
        if planned != slot:
            wake = plan.renew(core)
            head = core.batch.c.head
            if wake < NEVER and slot < wake < head["wake"][row]:
                head["wake"][row] = wake
        self._plans[n] = (episode, slot, plan)
        return self._policy_action(core, row, plan)


def _rows_of(env: Any) -> list[tuple[Core, int]]:
    inner = env.unwrapped
    if hasattr(inner, "core"):
        return [(inner.core, row) for row in range(inner.core.rows)]
    if hasattr(inner, "envs"):  # a DummyVecEnv, or a SyncVectorEnv
        return [pair for single in inner.envs for pair in _rows_of(single)]
    raise InputError(f"{env} is not an environment of packenv in this process")


def _is_batch(observation: Any, core: Core) -> bool:
    if not isinstance(observation, dict):
        return np.ndim(observation) > 1
    name = next(iter(core.layout.observed))
    return name in observation and np.ndim(observation[name]) > len(core.layout.observed[name])
