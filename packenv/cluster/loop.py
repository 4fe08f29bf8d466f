"""The simulation loop of all policies: events, then the policy.

`schedule`, `on_completion`, `on_message` and `take_over` are generic. The type of the policy's parameters selects the function
when the loop is compiled, so nothing is looked up while it runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numba.extending import overload

from packenv.cluster.gangs import gang_in_part
from packenv.cluster.queue.waiting import has_gangs
from packenv.cluster.slots import PAUSED, READY, begin_slot, turn_away
from packenv.cluster.state import DONE, MESSAGE, NEVER, NONE, Cluster
from packenv.compiled.decorators import apart, beside, compiled, dispatched
from packenv.compiled.sources import is_ours
from packenv.errors import InputError
from packenv.policy import hooks, name_of, parameters_of

OVERFULL, IN_PART = 5, 6


def schedule(policy: Any, cluster: Cluster, state: Any) -> None:
    """Place waiting tasks (packenv.policy.schedules)."""


def on_completion(policy: Any, cluster: Cluster, state: Any, task: int) -> None:
    """Report a completion to the policy (packenv.policy.completes)."""


def on_message(policy: Any, cluster: Cluster, state: Any, code: int, payload: int) -> None:
    """Deliver a message that the policy posted (packenv.policy.receives)."""


def take_over(policy: Any, cluster: Cluster, state: Any) -> None:
    """Prepare a policy for another's cluster (packenv.policy.takes_over)."""


dispatched(schedule, hooks, forceinline=True)
dispatched(on_completion, hooks, lambda policy, cluster, state, task: None)
dispatched(on_message, hooks, lambda policy, cluster, state, code, payload: None)
dispatched(take_over, hooks, lambda policy, cluster, state: None)


def deliver(policy: Any, c: Cluster, state: Any) -> None:
    """Deliver the slot's events to the functions the policy registered."""


@overload(deliver, strict=False)
def _deliver(policy: Any, c: Cluster, state: Any) -> Callable[..., None]:
    kind = getattr(policy, "instance_class", None)
    if ("on_completion", kind) in hooks or ("on_message", kind) in hooks:
        return lambda policy, c, state: deliver_all(policy, c, state)
    return lambda policy, c, state: None


@apart
def in_order(c: Cluster) -> None:
    """Sort the slot's events: completions by row, messages as posted."""
    for k in range(1, c.head[c.e].due):
        i = c.due[c.e, k]
        m = k
        while m > 0 and rank(c, c.due[c.e, m - 1]) > rank(c, i):
            c.due[c.e, m] = c.due[c.e, m - 1]
            m -= 1
        c.due[c.e, m] = i


@compiled
def rank(c: Cluster, i: int) -> int:
    """Return an event's sort key, completions first."""
    task = c.task[c.e, i]
    return NEVER + task.since if task.kind == MESSAGE else task.row


@compiled
def deliver_all(policy: Any, c: Cluster, state: Any) -> None:
    in_order(c)
    for n in range(c.head[c.e].due):
        task = c.task[c.e, c.due[c.e, n]]
        if task.kind == DONE:
            on_completion(policy, c, state, c.due[c.e, n])
        elif task.kind == MESSAGE:
            on_message(policy, c, state, task.job, task.row)


@compiled
def run(policy: Any, c: Cluster, state: Any, until: int, slots: int, checked: bool = False) -> int:
    """Simulate to slot `until`, or `slots` slots with events.

    Returns why it stopped. With `checked`, it stops after the first slot in which the policy leaves a server above its capacity
    (OVERFULL) or starts a gang in part (IN_PART).
    """
    for _ in range(slots):
        reason = begin_slot(c, until)
        if reason != READY:
            return reason
        deliver(policy, c, state)
        schedule(policy, c, state)
        if c.head[c.e].rejects:
            turn_away(c)
        if checked:
            if overfull_server(c) != NONE:
                return OVERFULL
            if has_gangs(c) and gang_in_part(c) != NONE:
                return IN_PART
    return PAUSED


@apart
def overfull_server(c: Cluster) -> int:
    for server in range(c.server.shape[1]):
        if c.server[c.e, server].room < 0:
            return server
    for server in range(c.free.shape[1]):
        for r in range(c.free.shape[2]):
            if c.free[c.e, server, r] < 0:
                return server
    return NONE


@compiled
def begin(c: Cluster, until: int) -> int:
    return begin_slot(c, until)


@compiled
def turn_away_from_python(c: Cluster) -> None:
    turn_away(c)


def run_in_python(policy: Any, c: Cluster, state: Any, until: int, slots: int) -> int:
    """Run a plain Python policy, with optional `on_completion` and `on_message`."""
    hears = hasattr(policy, "on_completion") or hasattr(policy, "on_message")
    for _ in range(slots):
        reason = begin(c, until)
        if reason != READY:
            return int(reason)
        if hears:
            in_order(c)
            for i in c.due[c.e, : c.head[c.e]["due"]]:
                task = c.task[c.e, i]
                if task["kind"] == DONE and hasattr(policy, "on_completion"):
                    policy.on_completion(c, state, int(i))
                elif task["kind"] == MESSAGE and hasattr(policy, "on_message"):
                    policy.on_message(c, state, int(task["job"]), int(task["row"]))
        policy.schedule(c, state)
        if c.head[c.e]["rejects"]:
            turn_away_from_python(c)
        if overfull_server(c) != NONE:
            return OVERFULL
        if c.source.gangs.shape[1] and gang_in_part(c) != NONE:
            return IN_PART
    return PAUSED


@dataclass(frozen=True)
class CompiledLoop:
    """The loop for a compiled policy, which can be pickled."""

    run: Callable[..., Any]
    parameters: Any
    checked: bool

    def __call__(self, policy: Any, c: Cluster, state: Any, until: int, slots: int) -> int:
        return int(self.run(self.parameters, c, state, until, slots, self.checked))


def runner_for(policy: Any) -> Callable[[Any, Cluster, Any, int, int], int]:
    """Return the compiled loop, or Python's without registered `schedule`.

    The machine code is cached by the sources of the policy's modules. Reading them takes milliseconds, so keep the loop. For a
    policy from outside this package every slot is checked for servers above their capacity. Raises InputError for a policy
    without `schedule`.
    """
    named = parameters_of(policy)
    if ("schedule", type(named)) not in hooks:
        if not callable(getattr(policy, "schedule", None)):
            raise InputError(f"policy {name_of(policy)} has no schedule(cluster, state), and none is registered for its type")
        return run_in_python
    modules = modules_of(named)
    checked = not all(is_ours(sys.modules[name]) for name in modules)
    return CompiledLoop(beside(run, modules), named, checked)


def modules_of(policy: Any) -> list[str]:
    """Return the modules of a policy and its inner policies."""
    inner = [name for part in policy if hasattr(part, "_fields") for name in modules_of(part)]
    return list(dict.fromkeys([*inner, type(policy).__module__]))
