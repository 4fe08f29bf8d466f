"""A policy's run on an episode's jobs.

It serves the reward `advantage`, warm starts, and agents that follow a policy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from packenv.cluster.build import build, grow
from packenv.cluster.copy_tasks import copy_rows, tasks_of, transplant
from packenv.cluster.loop import runner_for
from packenv.cluster.slots import FINISHED, GROW
from packenv.cluster.state import NEVER
from packenv.errors import InputError
from packenv.policy import attached, find_policy, initial_state_of, keeps_books, name_of, needs_of
from packenv.results.job_times import SLOWDOWN_BOUND, bounded_slowdown
from packenv.simulation import check_initial, make_room
from packenv.workloads.in_service import InService, in_service_of
from packenv.workloads.sampling import begin
from packenv.workloads.workload import Workload

if TYPE_CHECKING:
    from packenv.envs.episodes.core import Core

MANY = 2**40
CHUNK = 64  # rows of the jobs' table that are made at a time: few, so that large batches take little memory


def initial_jobs(start: Any, workload: Workload) -> InService:
    """Return initial jobs, checked, or drawn once with seed 0."""
    if isinstance(start, str) or hasattr(start, "policy"):
        start = in_service_of(workload, 0)
    if not isinstance(start, (Sequence, InService)):
        raise InputError(f"start must be empty, warm, a Warm or a list of (size, server, slots that remain), not {start!r}")
    return check_initial(start, workload.servers)


class PolicyRun:
    """One cluster with an episode's jobs, scheduled by a policy.

    Raises InputError if a policy that must see its whole run gets another policy's warm start, or if one that knows all jobs gets
    endless ones.
    """

    def __init__(self, policy: Any, core: Core) -> None:
        self.policy = find_policy(policy) if isinstance(policy, str) else policy
        self.run = runner_for(self.policy)
        self.setting, self.initial = core.setting, core.initial
        self.queue_sum = 0
        self.records = core.layout.facts is not None  # when each job starts, for bounded slowdowns
        self.last = None if core.options.horizon is None else core.options.horizon + (core.warm.slots if core.warm else 0)
        self.from_first_slot = keeps_books(self.policy, self.setting)
        if core.warm and self.from_first_slot:
            warm = find_policy(core.warm.policy) if isinstance(core.warm.policy, str) else core.warm.policy
            if type(warm) is not type(self.policy) or warm != self.policy:
                name = name_of(self.policy)
                raise InputError(f"policy {name} has to see a run from its first slot on: start with Warm({name!r}, …), or empty")
        if self.last is None and core.workload.jobs is None and needs_of(self.policy, self.setting).table:
            raise InputError(f"policy {name_of(self.policy)} needs a table of all jobs, and a stream without a horizon has none")

    def restart(self, workload: Workload, seed: int, rate: float) -> None:
        """Begin with this seed's jobs, `rate` tasks per slot."""
        if workload.jobs is None and self.last is not None and needs_of(self.policy, self.setting).table:
            workload = workload.with_(rate=rate).tabulated(seed, self.last)
        setting = self.setting.playing(workload)
        self.workload = workload
        self.cluster = build(
            workload.source([seed], CHUNK),
            setting.capacity,
            needs_of(self.policy, setting),
            jobs=workload.jobs,
            initial=self.initial,
            record_rows=len(workload.jobs) if workload.jobs is not None and self.records else 0,
            measured=False,
        )
        if workload.jobs is None:
            begin(self.cluster.source.stream[0], seed, rate / workload.arrivals.tasks_per_job())
        self.state = attached(self.policy, self.cluster, initial_state_of(self.policy, setting, seed))
        self.queue_sum = 0

    def warm_up(self, before: PolicyRun) -> None:
        """Continue from the policy's own warm start, or one on the same jobs."""
        if self.from_first_slot:
            self.cluster, self.state, self.queue_sum = before.cluster, before.state, int(before.cluster.head["queue_sum"][0])
            return
        source = before.cluster
        waiting, served = tasks_of(source, 0)
        if len(waiting) + len(served) > self.cluster.task.shape[1]:
            self.cluster = grow(self.cluster, 2 * (len(waiting) + len(served)))
            self.state = attached(self.policy, self.cluster, self.state)
        at = np.zeros(source.task.shape[1], np.int64)
        transplant(source, 0, waiting, served, self.cluster, 0, at, np.zeros_like(at))
        copy_rows(source, 0, self.cluster, 0)

    @property
    def slot(self) -> int:
        return int(self.cluster.head["now"][0])

    @property
    def mean_queue(self) -> float:
        head = self.cluster.head[0]
        return float(head["queue_sum"] / max(head["measured"], 1))

    @property
    def mean_delay(self) -> float:
        """Return started tasks' mean delay in slots, initially 0."""
        head = self.cluster.head[0]
        return float(head["delay_sum"] / max(head["delay_count"], 1))

    def mean_slowdown(self) -> float:
        """Run to the end, and return the mean bounded slowdown."""
        jobs = self.workload.jobs
        assert jobs is not None
        self.advance(NEVER)
        wait, bound = self.cluster.measures.start[0] - jobs.arrival, SLOWDOWN_BOUND / (self.workload.slot_seconds or 1.0)
        return float(bounded_slowdown(wait, jobs.service, bound).mean())

    def advance(self, until: int) -> float:
        """Run to `until` or the end (NEVER), returning new ∫ Q dt."""
        reason = None
        while reason != FINISHED:
            try:
                reason = self.run(self.policy, self.cluster, self.state, until, MANY)
            except (ValueError, RuntimeError) as error:
                raise InputError(f"policy {name_of(self.policy)}: {error}") from error
            if reason == GROW:
                self.cluster = make_room(self.cluster)
                self.state = attached(self.policy, self.cluster, self.state)
            elif reason != FINISHED:
                raise InputError(f"policy {name_of(self.policy)} cannot run next to an environment")
        before, self.queue_sum = self.queue_sum, int(self.cluster.head["queue_sum"][0])
        return float(self.queue_sum - before)
