"""A policy on the same jobs beside an environment: for the reward `advantage`, and for warm starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from packenv.cluster.build import InService, build, grow
from packenv.cluster.loop import runner_for
from packenv.cluster.slots import FINISHED, GROW
from packenv.cluster.transplant import copy_rows, tasks_of, transplant
from packenv.errors import InputError
from packenv.policy import attached, find_policy, initial_state_of, name_of, needs_of
from packenv.simulation import check_initial, make_room
from packenv.workloads.sampling import begin

if TYPE_CHECKING:
    from packenv.envs.core import Core

MANY = 2**40
CHUNK = 64  # rows of the jobs' table that are made at a time: little, so that large batches stay small


def initial_jobs(start: Any, capacity: NDArray[np.int64]) -> tuple[InService, ...]:
    """The jobs in service of a given start, checked."""
    if isinstance(start, str) or hasattr(start, "policy"):
        return ()
    if not isinstance(start, Sequence):
        raise InputError(f"start must be empty, warm, a Warm or a list of (size, server, slots that remain), not {start!r}")
    return check_initial(start, capacity)


class Twin:
    """One cluster under a policy, on the workload of an environment."""

    def __init__(self, policy: Any, core: Core, recorded: bool = False) -> None:
        self.policy = find_policy(policy) if isinstance(policy, str) else policy
        self.workload, self.setting, self.initial = core.workload, core.setting, core.initial
        self.recorded = recorded
        self.queue_sum = 0
        self.needs = needs_of(self.policy, self.setting)

    def restart(self, seed: int, rate: float, warm: bool = True) -> None:
        """Put the cluster before slot 0 of the jobs with this seed."""
        workload = self.workload
        self.cluster = build(
            workload.source([seed], CHUNK),
            self.setting.capacity,
            self.needs,
            jobs=workload.jobs,
            initial=self.initial,
            record_rows=1024 if self.recorded else 0,
            delays=False,
            bins=2,
        )
        if workload.jobs is None:
            begin(self.cluster.source.stream[0], seed, rate / workload.arrivals.tasks_per_job())
        self.state = attached(self.policy, self.cluster, initial_state_of(self.policy, self.setting, seed))
        self.queue_sum = 0

    def warm_up(self, other: Any) -> None:
        """Begin with the tasks of another cluster of the same workload."""
        waiting, served = tasks_of(other, 0)
        if len(waiting) + len(served) > self.cluster.task.shape[1]:
            self.cluster = grow(self.cluster, 2 * (len(waiting) + len(served)))
            self.state = attached(self.policy, self.cluster, self.state)
        at = np.zeros(other.task.shape[1], np.int64)
        transplant(other, 0, waiting, served, self.cluster, 0, at, np.zeros_like(at))
        copy_rows(other.source, 0, self.cluster.source, 0)

    def advance(self, until: int) -> float:
        """Run up to slot `until`; ∫ Q dt since the last time."""
        run = runner_for(self.policy)
        reason = None
        while reason != FINISHED:
            try:
                reason = run(self.policy, self.cluster, self.state, until, MANY)
            except (ValueError, RuntimeError) as error:
                raise InputError(f"policy {name_of(self.policy)}: {error}") from error
            if reason == GROW:
                self.cluster = make_room(self.cluster)
                self.state = attached(self.policy, self.cluster, self.state)
            elif reason != FINISHED:
                raise InputError(f"policy {name_of(self.policy)} cannot be run beside an environment")
        before, self.queue_sum = self.queue_sum, int(self.cluster.head["queue_sum"][0])
        return float(self.queue_sum - before)
