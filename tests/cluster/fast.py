"""The fast simulator on the reference's instances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from packenv import Workload, policies
from packenv.cluster import InService, build, grow
from packenv.cluster.loop import runner_for
from packenv.cluster.servers import scalar_capacity
from packenv.cluster.slots import FINISHED, GROW, PAUSED
from packenv.cluster.state import NEVER
from packenv.policy import Setting, attached, initial_state_of, needs_of
from tests.reference.instances import Instance, to_jobs, to_network, to_servers
from tests.reference.model import Scale
from tests.reference.orders import PROCESSORS

POLICIES = {
    "bf-j": policies.BestFitJobs,
    "bf-s": policies.BestFitServers,
    "bf-js": policies.BestFit,
    "vqs": policies.VQS,
    "vqs-bf": policies.VQSBestFit,
    "fifo-ff": policies.FifoFirstFit,
    "slot-fifo": policies.SlotFifo,
    "maxweight": policies.MaxWeight,
    "quickswap": policies.Quickswap,
    "price": policies.Price,
    "priority": policies.Priority,
    "capacity": policies.SmallestDemand,
    "fifo": policies.JobFifo,
    "critical-path": policies.CriticalPath,
    "most-work": policies.MostWork,
    "srpt": policies.ShortestRemaining,
    "graphene": policies.Graphene,
    "weighted-fair": policies.WeightedFair,
    "drf": policies.DRF,
    "task-fair": policies.TaskFair,
    "slot-fair": policies.SlotFair,
    "tetris": policies.Tetris,
    "sparrow": policies.Sparrow,
    "hawk": policies.Hawk,
    "eagle": policies.Eagle,
    "lwl": policies.LeastWaitingTime,
    "yaq": policies.Yaq,
    "delay": policies.Delay,
    "delay-dynamic": policies.DelayDynamic,
    "fair": policies.Fair,
    "easy": policies.Easy,
    "conservative": policies.Conservative,
    "reserve": policies.Reserve,
}


class Outcome(NamedTuple):
    """What the reference's outcome is compared with."""

    start: dict[int, int]
    server: dict[int, int]
    source: dict[int, int]  # by row, where reads take resources
    queue_sum: int
    max_queue: int
    used: list[int]  # unit-slots per resource
    waiting_size_sum: int
    slots: int
    state: Any  # of the policy, at the end


def make(name: str, **options: Any) -> Any:
    """The fast policy for the reference's name and options."""
    if "first_check" in options:
        options["check"] = options.pop("first_check")
    return POLICIES[name](**options)


def run(
    instance: Instance,
    policy: Any,
    seed: int = 0,
    *,
    places: int = 8,
    steps: int = 7,
    watch: Callable[[Any], None] | None = None,
) -> Outcome:
    """Small pools and short steps, so that growing and resuming are exercised too. `watch` sees the state after each step."""
    jobs = to_jobs(instance)
    capacity = np.array(instance.capacities, dtype=np.int64)
    scale = Scale(tuple(int(c) for c in capacity.max(axis=0)))
    largest = max(scale.size(task.demand) for task in instance.tasks)
    workload = Workload(jobs=jobs, servers=to_servers(instance), network=to_network(instance), processors=PROCESSORS)
    setting = Setting(capacity, workload, 4, largest)
    assert scalar_capacity(capacity).tolist() == [scale.capacity(c) for c in instance.capacities]
    rows = ((job.demand, job.server, job.remaining) for job in instance.initial)
    initial = InService.of(rows, capacity.shape[1])
    needs = needs_of(policy, setting)
    c = build(workload.source([0]), capacity, needs, places=places, jobs=jobs, initial=initial, record_rows=len(jobs))
    state = attached(policy, c, initial_state_of(policy, setting, seed))
    until = NEVER if instance.slots is None else instance.slots
    step = runner_for(policy)
    reason = PAUSED
    while reason != FINISHED:
        reason = step(policy, c, state, until, steps)
        if reason == GROW:
            c = grow(c, 2 * c.task.shape[1] + 1)
            state = attached(policy, c, state)
        if watch is not None:
            watch(state)
    head, measures = c.head[0], c.measures
    started = np.flatnonzero(measures.start[0] >= 0)
    return Outcome(
        {int(row): int(measures.start[0, row]) for row in started},
        {int(row): int(measures.server[0, row]) for row in started},
        {int(row): int(measures.source[0, row]) for row in started if measures.source.size and measures.source[0, row] >= 0},
        int(head["queue_sum"]),
        int(head["queue_max"]),
        [int(used) for used in measures.used[0]],
        int(head["size_sum"]),
        int(head["now"]),
        state,
    )
