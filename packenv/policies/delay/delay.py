"""Delay scheduling: fair sharing in which jobs wait for their data.

Sources: PAPERS §5, Zaharia et al., EuroSys 2010, and a report for dynamic intervals.

In every slot each server, in index order, is offered to the jobs until none launches a task on it. An offer goes through the
jobs with a task that fits, those with the fewest tasks in service first.

- A job with data on the server launches such a task.
- Once it has waited longer than the node interval, it may launch a task with data in the rack of the server.
- Once it has waited longer than the node and the rack interval, it may launch any task. Without racks it may after the node
  interval.
- A job that may launch nothing is skipped. Its wait begins when it is first skipped.

A launch ends the wait. By default (Algorithm 3 of Zaharia et al.) the job keeps the level of that launch. After a launch far
from its data it waits again only once it launches a task nearer to them. With `paper` (the report) the level returns to node,
so the job waits again after every launch. Ties go to the earlier job, then to the earlier row.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from packenv.cluster import Cluster, Needs, row_of
from packenv.errors import InputError
from packenv.policies.delay.backlog import add_new, settle
from packenv.policies.delay.server_offers import BY_TIME, OfferRules, Waits, offer_servers, report, waits, wake_later
from packenv.policy import Setting, completes, schedules
from packenv.workloads.network import NODE


class Delay(NamedTuple):
    """Let jobs wait a fixed time for a server with their data.

    interval   seconds that a job waits for a server with its data
    rack       additional seconds that it waits for a server in a rack with its data. Ignored if the workload has no racks
    skips      if >= 0, the number of offers that a job skips, instead of the intervals. There is no rack level then
    paper      True: a job waits again after every launch

    A slot lasts one second if the workload does not say. Raises InputError for a negative or infinite interval, or skips < -1.
    """

    interval: float = 3.0
    rack: float = 3.0
    skips: int = BY_TIME
    paper: bool = False

    @property
    def rule(self) -> OfferRules:
        return OfferRules(self.skips, 0.0, self.paper)

    def needs(self, setting: Setting) -> Needs:
        if self.skips < BY_TIME:
            raise InputError(f"delay: skips must not be negative, not {self.skips}")
        return _needs("delay", setting, self.interval, self.rack)

    def initial_state(self, setting: Setting, seed: int) -> Waits:
        return waits(setting, self.interval, self.rack)


class DelayDynamic(NamedTuple):
    """Let jobs wait for their data as long as remote reads cost.

    Intervals follow the measured overhead of remote tasks, separately for each phase number. When a task that ran away from its
    data completes, its extra slots are a reading: interval ← (1 − weight) · interval + weight · reading. In a cluster with racks,
    a task that ran off its rack updates the rack interval, with its extra slots beyond the node interval (at least 0). Every
    other task updates the node interval.

    interval, rack   seconds at the start of the run
    weight           of a new reading, 0 < weight <= 1
    paper            True: tasks that ran at home report too, a reading of 0, and a job waits again after every launch

    Raises InputError for a weight or an interval out of range.
    """

    interval: float = 3.0
    rack: float = 3.0
    weight: float = 0.5
    paper: bool = False

    @property
    def rule(self) -> OfferRules:
        return OfferRules(BY_TIME, self.weight, self.paper)

    def needs(self, setting: Setting) -> Needs:
        if not 0 < self.weight <= 1:
            raise InputError(f"delay-dynamic: needs 0 < weight <= 1, not {self.weight}")
        return _needs("delay-dynamic", setting, self.interval, self.rack)

    def initial_state(self, setting: Setting, seed: int) -> Waits:
        return waits(setting, self.interval, self.rack)


class Fair(NamedTuple):
    """Share fairly without delay: a job accepts every offer.

    It launches a task with data on the server if it has one.
    """

    @property
    def rule(self) -> OfferRules:
        return OfferRules(0, 0.0, False)

    def needs(self, setting: Setting) -> Needs:
        return _needs("fair", setting, 0.0, 0.0)

    def initial_state(self, setting: Setting, seed: int) -> Waits:
        return waits(setting, 0.0, 0.0)


def _needs(policy: str, setting: Setting, interval: float, rack: float) -> Needs:
    if not (0 <= interval < math.inf and 0 <= rack < math.inf):
        raise InputError(f"{policy}: intervals are seconds >= 0, not {interval} and {rack}")
    return Needs(vectors=setting.capacity.shape[1] > 1, table=True, reads=True)


@schedules(OfferRules)
def schedule_delay(rules: OfferRules, cluster: Cluster, state: Waits) -> None:
    add_new(cluster, state.tasks)
    wake_later(rules, cluster, state, offer_servers(rules, cluster, state))


@completes(OfferRules)
def complete_delay(rules: OfferRules, cluster: Cluster, state: Waits, task: int) -> None:
    row = row_of(cluster, task)
    if row >= 0:
        settle(state.tasks, row)
        if rules.weight > 0 and (rules.paper or state.ran[row] != NODE):
            report(rules, cluster, state, row)
